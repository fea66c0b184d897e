/**
 * The text-send route. Refuses in this order: 400 `bad_request`, 413 `too_long`, 404 `number_not_found`, 403 `sms_not_active`, 403
 * `recipient_opted_out`, 403 `no_consent`, 429 `daily_limit`, and for the carrier's refusal 502 `carrier_refused`. Must not know how a text leaves.
 */
import { AppError } from '../../../contracts/common/errors.ts';
import { sendText } from '../../../contracts/phone/texts.ts';
import type { Clock } from '../../../kit/clock/clock.ts';
import { type BoundRoute, bind, type Principal } from '../../../kit/http/types.ts';
import type { Op, SharedReader, SharedStore } from '../../../kit/store/shared-store.ts';
import { refusedDestination } from '../e164.ts';
import type { HeldNumber, Numbers } from '../ports.ts';
import type { TextRow } from './model.ts';
import type { OptOutLog } from './opt-outs.ts';
import { type Outbound, type OutboundDeps, textsTopic } from './outbound.ts';
import { tooLong } from './parts.ts';
import { countSince, findText, nthSince } from './store.ts';

const dayMs = 24 * 60 * 60_000;
/** Shorter than the time-outs of clients. */
const defaultPatienceMs = 8_000;
const lookMs = 1_000;

export function sendRoute(deps: {
  readonly store: SharedStore;
  readonly clock: Clock;
  readonly numbers: Pick<Numbers, 'read'>;
  readonly optOuts: Pick<OptOutLog, 'isOptedOut' | 'hasTexted'>;
  readonly limits: OutboundDeps['limits'];
  readonly outbound: Pick<Outbound, 'queue'>;
  readonly countries: readonly string[];
  /** How long to wait for the carrier's answer; a slower text stays queued. */
  readonly patienceMs?: number;
}): BoundRoute {
  const { store, clock } = deps;
  return bind(sendText, async ({ principal, body: { numberId, to, text }, signal }) => {
    if (text.trim() === '') throw refusal('usage', 'The text is empty.', 'Give a text to send.', 'bad_request');
    const wrong = refusedDestination(to, deps.countries);
    if (wrong !== null) throw refusal('usage', wrong, 'Write to a number such as +12025550123.', 'bad_request');
    const long = tooLong(text);
    if (long !== null) throw refusal('usage', long, 'Send it as several texts.', 'too_long');
    const id = await store.write(function* (tx): Op<string> {
      const number = yield* deps.numbers.read(tx, numberId);
      if (number === null || !isTheirs(number, principal)) throw noNumber(numberId);
      yield* check(tx, number, to);
      const by = principal.kind === 'device' ? 'bot' : 'person';
      return yield* deps.outbound.queue(tx, number, { to, text, by, computerId: principal.computerId ?? null });
    });
    return { body: answerOf(await outcome(id, signal)) };
  });

  function* check(tx: SharedReader, number: HeldNumber, to: string): Op<void> {
    if (number.smsState !== 'active') {
      const action = 'See its registration: it can text once the carrier approves it.';
      throw refusal('refused', `${number.e164} cannot text now: it is ${number.smsState}.`, action, 'sms_not_active');
    }
    if (yield* deps.optOuts.isOptedOut(tx, number.id, to)) throw optedOut(number.e164, to);
    if (!(yield* deps.optOuts.hasTexted(tx, number.id, to))) {
      const action = 'They have to text first. Consent to calls does not allow texts.';
      throw refusal('refused', `${to} has never texted ${number.e164}.`, action, 'no_consent');
    }
    const { perDay } = yield* deps.limits(tx, number);
    const now = clock.now();
    if ((yield* countSince(tx, number.id, now - dayMs)) < perDay) return;
    const free = (yield* nthSince(tx, number.id, now - dayMs, perDay)) ?? now;
    throw new AppError('refused', `${number.e164} has sent ${perDay} texts in 24 hours.`, 'Send it later.', {
      status: 429,
      wireCode: 'daily_limit',
      retryAfter: Math.max(1, Math.ceil((free + dayMs - now) / 1000)),
    });
  }

  /** Resolves once the carrier has accepted or refused it; with its current state if that takes long, or it is sent slowly. */
  async function outcome(id: string, signal: AbortSignal): Promise<TextRow> {
    const until = clock.monotonic() + (deps.patienceMs ?? defaultPatienceMs);
    while (true) {
      const row = await store.read((tx) => findText(tx, id));
      if (row === null) throw new Error(`The text ${id} is gone.`);
      const waits = row.status === 'sending' || (row.status === 'queued' && row.reason === null);
      const left = until - clock.monotonic();
      if (!waits || left <= 0 || signal.aborted) return row;
      await store.wake.wait(textsTopic, Math.min(left, lookMs), signal);
    }
  }
}

function isTheirs(number: HeldNumber, { kind, userId, computerId }: Principal): boolean {
  return number.userId === userId && (kind !== 'device' || number.runtimeId === computerId);
}

function answerOf(row: TextRow): { ok: true; messageId: string; parts: number } {
  if (row.status === 'cancelled') throw optedOut(row.ours, row.peer);
  if (row.status === 'failed') {
    const extra = { code: row.code ?? '', messageId: row.id };
    throw new AppError('transport', `The text was not sent: ${row.reason ?? 'the carrier refused it.'}`, '', {
      wireCode: 'carrier_refused',
      extra,
    });
  }
  return { ok: true, messageId: row.id, parts: row.parts };
}

const optedOut = (ours: string, to: string) =>
  refusal('refused', `${to} said STOP to ${ours}.`, 'They have to send START first.', 'recipient_opted_out');

function noNumber(numberId: string): AppError {
  const action = 'List your numbers to find it.';
  return refusal('not_found', `You have no number ${JSON.stringify(numberId)}.`, action, 'number_not_found');
}

function refusal(code: 'usage' | 'refused' | 'not_found', fact: string, action: string, wireCode: string): AppError {
  return new AppError(code, fact, action, { wireCode });
}
