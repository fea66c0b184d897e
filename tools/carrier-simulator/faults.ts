/**
 * The faults that can be injected, by name, and how often each strikes. `POST /sim/faults` plants one; the affected code asks for it. Must not know
 * routes.
 */
import type { Json } from './exchange.ts';
import { Refusal, refused } from './refusal.ts';
import type { SimFault, State } from './state.ts';

export interface Fault {
  readonly name: string;
  readonly given: Json;
}

/** Name → effect. `on` narrows it: an operation (`texts.send`), an event's type, or its subject. */
export const faultNames = {
  refuse: 'an operation (on) is refused before anything is done: status, code, title, detail, retryAfter',
  fail_before: 'an operation (on) answers 500 and has done nothing',
  fail_after: 'an operation (on) is done, and answers 500',
  cut_before: 'the connection is cut before an operation (on) is done',
  cut_after: 'an operation (on) is done, and the connection is cut without an answer',
  hang_after: 'an operation (on) is done, and never answered',
  broken_after: 'an operation (on) is done, and answered with half of a JSON text',
  slow: 'an operation (on) is answered after ms',
  too_many: 'an operation (on) answers 429 with Retry-After: retryAfter seconds',
  no_funds: 'there is no money for the next fee (on: brand, campaign, number, text): 20100, and 402 for a campaign',
  level_1: 'the account is not verified enough for an operation (on): 20016',
  level_2: 'the account is not verified enough for an operation (on): 20017',
  number_taken: 'the next number ordered was sold to somebody else: 85001',
  order_fails: 'the next order of a number fails after it was accepted',
  port_out: 'a number (on) is taken away by another carrier',
  brand_mismatch: 'the next brand is refused over its EIN, with feedback: fields, text',
  brand_unverified: 'the next brand is accepted, but its identity is not verified',
  brand_slow: 'the next brand stays pending',
  brand_vetted_again: 'the next change of a verified brand has it vetted again',
  campaign_refused: 'the next campaign is refused before any review: reason',
  campaign_telnyx_failed: 'the next campaign fails the carrier’s review: reason',
  campaign_mno_rejected: 'the next campaign is rejected by the networks: reason',
  campaign_dormant: 'the next campaign is provisioned, and falls dormant',
  campaign_suspended: 'the next campaign is provisioned, and suspended',
  campaign_reviewed_again: 'the next change of a campaign in use is reviewed before it holds',
  assignment_fails: 'the next assignment of a number to a campaign fails: reason',
  toll_free_waiting: 'the next toll-free verification waits for the customer: reason',
  toll_free_rejected: 'the next toll-free verification is rejected: reason',
  code_expired: 'the code of the next check has expired',
  code_undelivered: 'the next code does not reach its phone',
  delivery: 'the next text fails with code, after it was accepted',
  delivery_unconfirmed: 'nobody confirms the delivery of the next text',
  blocked: 'the next text is refused by a block of the carrier that nobody else knows of: 40300',
  port_pin: 'the next port is refused for its PIN',
  port_exception: 'the next port is refused: code, text',
  port_split: 'the next port is split in one order a number',
  port_messaging: 'the next port brings calls, and texts stay behind: exception',
  twice: 'the next event (on) is posted twice',
  reorder: 'the next event (on) is posted after the one that follows it',
  delay: 'the next event (on) is posted ms later',
  missing: 'the next event (on) is not posted',
  bare: 'the next event (on) comes without its envelope',
  forged: 'the next event (on) is signed with a key of somebody else',
  old: 'the next event (on) carries a timestamp of ten minutes ago, rightly signed',
  changed: 'the next event (on) has other words than were signed',
} as const;
export type FaultName = keyof typeof faultNames;

export function isFaultName(name: string): name is FaultName {
  return Object.hasOwn(faultNames, name);
}

/** Uses up one strike of the first fault planted with that name for that place. */
export function takeFault(state: State, name: string, about?: string): Fault | null {
  const found = state.faults.find(
    (fault) => fault.name === name && (fault.on === null || (about ?? '').startsWith(fault.on)),
  );
  if (found === undefined) return null;
  found.times -= 1;
  if (found.times <= 0) state.faults = state.faults.filter((fault) => fault.id !== found.id);
  return { name: found.name, given: found.given };
}

/** Faults of a request before it is handled. Throws the error response, or 'cut' for no response. */
export function beforeHandling(state: State, op: string): 'go' | 'cut' {
  const refuse = takeFault(state, 'refuse', op);
  if (refuse !== null) throw refusalOf(refuse.given);
  const many = takeFault(state, 'too_many', op);
  if (many !== null)
    throw refused(429, '10011', 'Too many requests', 'You have exceeded the maximum number of allowed requests.', {
      retryAfter: Number(many.given.retryAfter ?? 5),
    });
  if (takeFault(state, 'level_1', op) !== null)
    throw refused(403, '20016', 'Account not level 1 verified', 'Your account must be at least level 1 verified.');
  if (takeFault(state, 'level_2', op) !== null)
    throw refused(403, '20017', 'Account not level 2 verified', 'Your account must be at least level 2 verified.');
  if (takeFault(state, 'fail_before', op) !== null) throw brokenInside();
  return takeFault(state, 'cut_before', op) === null ? 'go' : 'cut';
}

export function brokenInside(): Refusal {
  return refused(500, '10007', 'Unexpected error', 'An unexpected error occurred.');
}

function refusalOf(given: Json): Refusal {
  const text = (name: string, other: string) => (typeof given[name] === 'string' ? (given[name] as string) : other);
  const status = typeof given.status === 'number' ? given.status : 400;
  if (given.body !== undefined) return new Refusal(status, given.body, 'refused');
  const title = text('title', 'Refused');
  return refused(
    status,
    text('code', '10015'),
    title,
    text('detail', title),
    typeof given.retryAfter === 'number' ? { retryAfter: given.retryAfter } : {},
  );
}

/** Changes to a response that is ready. */
export interface Ending {
  readonly how: 'answer' | 'fail' | 'cut' | 'hang' | 'broken';
  /** Milliseconds until it is sent. */
  readonly after: number;
}

export function afterHandling(state: State, op: string): Ending {
  for (const [name, how] of [
    ['fail_after', 'fail'],
    ['cut_after', 'cut'],
    ['hang_after', 'hang'],
    ['broken_after', 'broken'],
  ] as const)
    if (takeFault(state, name, op) !== null) return { how, after: 0 };
  const slow = takeFault(state, 'slow', op);
  return { how: 'answer', after: slow === null ? 0 : Number(slow.given.ms ?? 2500) };
}

export function plant(state: State, id: string, name: FaultName, on: string | null, times: number, given: Json): void {
  state.faults.push({ id, name, on, times, given } satisfies SimFault);
}
