/** The reason of a server's refusal or failure, as a subscription shows it. Pure. */
import type { SubscriptionReason } from '../../contracts/connectors/subscription.ts';
import { draftEventCodes, eventCodes } from '../../contracts/tool-server/mcp-events.ts';
import type { Failure } from './attached.ts';
import { EventFault } from './ports.ts';

const invalidParams = -32602;
const unknownMethod = -32601;

const ofCode = new Map<number, SubscriptionReason>([
  [eventCodes.notFound, 'event_not_found'],
  [draftEventCodes.notFound, 'event_not_found'],
  [eventCodes.resourceExhausted, 'too_many_subscriptions'],
  [draftEventCodes.resourceExhausted, 'too_many_subscriptions'],
  [eventCodes.unsupported, 'unsupported'],
  [draftEventCodes.unsupported, 'unsupported'],
  [unknownMethod, 'unsupported'],
  [invalidParams, 'invalid_arguments'],
]);

/** A server's errors about its attempt to reach the cloud; any other needs a person. */
const ofCallback: Readonly<Record<string, SubscriptionReason>> = {
  connection_refused: 'connection_refused',
  timeout: 'timeout',
  http_5xx: 'http_5xx',
};

const signInAgain = 'The server rejected Gantry’s sign-in. Sign in again, or set another key.';

export function eventFaultOf({ kind, message, said }: Failure, cause: unknown): EventFault {
  const fault = (reason: SubscriptionReason, code: number | null, words = said?.message || message) =>
    new EventFault(reason, code, words, cause);
  if (kind === 'unauthorized') return fault('needs_reauth', said?.status ?? null, signInAgain);
  if (kind === 'timeout') return fault('connector_timeout', null, message);
  if (kind !== 'answer') return fault('connector_unreachable', null, message);
  if (said === null) return fault('connector_error', null, message);
  const { code, status, data } = said;
  if (code !== null) {
    if (code === eventCodes.callbackEndpoint || code === draftEventCodes.callbackEndpoint) {
      const reason = (data as { reason?: unknown } | null | undefined)?.reason;
      return fault(ofCallback[String(reason)] ?? 'challenge_failed', code);
    }
    return fault(ofCode.get(code) ?? 'connector_error', code);
  }
  if (status === 429) return fault('connector_unreachable', status, 'The server is limiting requests.');
  if (status !== null && status >= 500) return fault('http_5xx', status);
  return fault('connector_error', status);
}
