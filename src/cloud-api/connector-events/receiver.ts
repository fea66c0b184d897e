/**
 * The callback that servers post events to. It checks the signature over the raw bytes, the time, the size, and that
 * the id is the signed one; then it stores the receipt and the row for the computer in one durable commit. The computer
 * checks name, times and data, because only it knows what was subscribed to.
 */
import type { IncomingMessage } from 'node:http';
import { AppError } from '../../contracts/common/errors.ts';
import { largestEvent, type RelayedEvent } from '../../contracts/connectors/relay.ts';
import { type Clock, iso } from '../../kit/clock/clock.ts';
import { jsonIn, maxDepth, readRaw } from '../../kit/http/body.ts';
import { notSigned, tooManyWait } from '../../kit/receipts/refusals.ts';
import { isDeeper } from '../../kit/schemas/limits.ts';
import { isSignedWebhook } from '../../kit/signing/webhook.ts';
import type { Posted } from './receipts.ts';
import type { Registration, Registrations } from './registrations.ts';
import type { Relay } from './relay.ts';

/** The response to the server. */
type Received =
  | { readonly status: 202; readonly body: { readonly status: 'accepted' | 'duplicate' } }
  | { readonly status: 200; readonly body: { readonly challenge: string } };

/**
 * Answers once the event is durable. Throws 410 for an unknown key, 401 for a missing or bad signature, 413, 400 for a body that is no event, 409,
 * 429.
 */
type Receive = (key: string, request: IncomingMessage) => Promise<Received>;

const maxIdLength = 500;

/** Reads a body once its signature is verified. */
type Said = { readonly kind: 'verification'; readonly challenge: string } | ({ readonly kind: 'content' } & Posted);

export function createReceiver({
  clock,
  registrations,
  relay,
  log,
}: {
  readonly clock: Clock;
  readonly registrations: Pick<Registrations, 'find'>;
  readonly relay: Pick<Relay, 'take' | 'isFull'>;
  readonly log: { warn(message: string, facts?: Record<string, unknown>): void };
}): Receive {
  async function signedBy(key: string, request: IncomingMessage): Promise<{ to: Registration; body: Buffer }> {
    const known = await registrations.find(key);
    if (known === null) throw gone();
    const body = await readRaw(request, largestEvent);
    const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature } = request.headers;
    const webhook = { id: one(id), timestamp: one(timestamp), signature: one(signature), body };
    const now = clock.now();
    if (isSignedWebhook(known.keysAt(now), webhook, now)) return { to: known, body };
    // Another replica may have stored a newer secret.
    const fresh = await registrations.find(key, true);
    if (fresh === null) throw gone();
    if (isSignedWebhook(fresh.keysAt(now), webhook, now)) return { to: fresh, body };
    throw notSigned('Sign it with the secret and the current time.');
  }

  return async (key, request) => {
    const { to, body } = await signedBy(key, request);
    const said = read(body, one(request.headers['webhook-id']), iso(clock.now()));
    if (said.kind === 'verification') return { status: 200, body: { challenge: said.challenge } };
    if (relay.isFull(to)) throw tooManyWait('Too many events are waiting for this subscription.');
    const seen = await relay.take(to, said);
    if (seen === 'absent') {
      await registrations.find(key, true);
      throw gone();
    }
    if (seen === 'other') {
      const { computerId, subscriptionId } = to;
      log.warn('A server sent another event under an id that it had used.', { computerId, subscriptionId });
      throw new AppError('refused', 'A different event already had this id.', 'Give each event an id of its own.', {
        status: 409,
        wireCode: 'event_id_reused',
      });
    }
    return { status: 202, body: { status: seen === 'first' ? 'accepted' : 'duplicate' } };
  };
}

const one = (header: string | string[] | undefined): string => (typeof header === 'string' ? header : '');

function gone(): AppError {
  return new AppError('refused', 'Nothing is subscribed here.', 'Stop sending to this address.', {
    status: 410,
    wireCode: 'subscription_gone',
  });
}

/** `webhookId`: the signed one. */
function read(bytes: Buffer, webhookId: string, receivedAt: string): Said {
  if (webhookId.length > maxIdLength) throw invalid(`webhook-id has more than ${maxIdLength} characters`);
  const body = parse(bytes);
  if ('type' in body) return readControl(body, webhookId);
  const { eventId, name, timestamp, data, cursor } = body;
  if (eventId !== webhookId) throw invalid('eventId is not the webhook-id that was signed');
  if (typeof name !== 'string' || typeof timestamp !== 'string') throw invalid('name and timestamp must be texts');
  const event: RelayedEvent = { eventId, name, timestamp, data: data ?? null };
  const content = { kind: 'event', event: { ...event, ...cursorOf(cursor) }, receivedAt } as const;
  return { kind: 'content', id: webhookId, name, content };
}

function readControl(body: Readonly<Record<string, unknown>>, id: string): Said {
  if (body.type === 'verification') {
    if (typeof body.challenge !== 'string' || body.challenge === '') throw invalid('challenge must be a text');
    return { kind: 'verification', challenge: body.challenge };
  }
  if (body.type === 'gap') {
    return { kind: 'content', id, name: null, content: { kind: 'gap', cursor: cursorOf(body.cursor).cursor ?? null } };
  }
  if (body.type === 'terminated') {
    return { kind: 'content', id, name: null, content: { kind: 'terminated', error: body.error ?? null } };
  }
  throw invalid('its type is not verification, gap or terminated');
}

function cursorOf(cursor: unknown): { readonly cursor?: string | null } {
  if (cursor === undefined || cursor === null) return {};
  if (typeof cursor !== 'string') throw invalid('cursor must be a text');
  return { cursor };
}

function parse(bytes: Buffer): Readonly<Record<string, unknown>> {
  const value = jsonIn(bytes);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalid('it is not a JSON object in UTF-8');
  }
  // No computer reads it, and serializing it again would overflow the stack.
  if (isDeeper(value, maxDepth)) throw invalid(`it nests deeper than ${maxDepth} levels`);
  return value as Record<string, unknown>;
}

function invalid(what: string): AppError {
  return new AppError('usage', `This is not an event: ${what}.`, 'Send it as agreed in events/subscribe.', {
    wireCode: 'bad_request',
  });
}
