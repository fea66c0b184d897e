/**
 * Posts events to the requested addresses: stored until sent, signed when they leave, one after another, three attempts at most. Owns the possible
 * failures on the way. Must not know what an event is about.
 */
import type { Clock } from '../../src/kit/clock/clock.ts';
import { iso } from '../../src/kit/clock/clock.ts';
import type { Timers } from '../../src/kit/clock/timers.ts';
import type { Json } from './exchange.ts';
import { takeFault } from './faults.ts';
import { createSigner, newPrivateKey, type Signer } from './signature.ts';
import type { Posting, State } from './state.ts';

/** Like the carrier's, ms: an address that has not answered by then counts as failed. */
const answerWithinMs = 2_000;
const maxAttempts = 3;
/** Between attempts, ms; none at the instant speed. */
const pauseMs = 3_000;
/** Limit of sent ones that are kept for inspection and for sending again. */
const maxPostings = 300;
const oldBy = 600;

export interface Postings {
  add(event: { id: string; eventId: string; type: string; url: string; payload: Json; bare: boolean }): void;
  /** Starts sending queued posts. */
  kick(): void;
  /** Sends an earlier one again unchanged, with a new signature. */
  again(id: string): boolean;
  readonly busy: boolean;
  /** Invalid posts for tests: signed with an unknown key. */
  readonly stranger: Signer;
  stop(): Promise<void>;
}

export function createPostings(deps: {
  readonly state: State;
  readonly signer: Signer;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly fetch: typeof fetch;
  /** Stores the state. */
  save(): void;
  settled(): void;
}): Postings {
  const { state, clock, timers } = deps;
  const stranger = createSigner(newPrivateKey());
  const ending = new AbortController();
  const waits = new Set<() => void>();
  let running: Promise<void> | null = null;
  let later = 0;

  function wait(ms: number, effect: () => void): void {
    later += 1;
    const cancel = timers.after(ms, () => {
      waits.delete(cancel);
      later -= 1;
      effect();
    });
    waits.add(cancel);
  }

  function next(): Posting | undefined {
    return state.postings.find((posting) => posting.state === 'waiting');
  }

  async function run(): Promise<void> {
    for (let posting = next(); posting !== undefined && !ending.signal.aborted; posting = next()) {
      await deliver(posting);
      if (state.postings.length > 2 * maxPostings) forgetOld();
    }
    // After a kill they are posted again, as carriers do.
    forgetOld();
    deps.save();
  }

  async function deliver(posting: Posting): Promise<void> {
    posting.attempt += 1;
    const answer = await post(posting);
    if (ending.signal.aborted) return;
    posting.answer = answer;
    if (/^2\d\d$/.test(answer)) posting.state = 'delivered';
    else if (posting.attempt >= maxAttempts) posting.state = 'given-up';
    else if (state.speed !== 'instant') {
      posting.state = 'held';
      wait(pauseMs * posting.attempt, () => release(posting));
    }
  }

  async function post(posting: Posting): Promise<string> {
    const seconds = Math.floor(clock.now() / 1000) - (posting.as === 'old' ? oldBy : 0);
    const body = withMeta(posting);
    const signature = (posting.as === 'forged' ? stranger : deps.signer).sign(seconds, body);
    const sent = posting.as === 'changed' ? body.replace(/"occurred_at":"\d/, '"occurred_at":"3') : body;
    try {
      const response = await deps.fetch(posting.url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'telnyx-timestamp': String(seconds),
          'telnyx-signature-ed25519': signature,
        },
        body: sent,
        redirect: 'manual',
        signal: AbortSignal.any([ending.signal, AbortSignal.timeout(answerWithinMs)]),
      });
      await response.body?.cancel();
      return String(response.status);
    } catch (error) {
      return (error as Error).name === 'TimeoutError' ? 'no answer in time' : `no answer: ${(error as Error).message}`;
    }
  }

  function release(posting: Posting): void {
    if (posting.state !== 'held') return;
    posting.state = 'waiting';
    kick();
  }

  function kick(): void {
    if (running !== null || ending.signal.aborted) return;
    if (next() === undefined) return;
    running = run().finally(() => {
      running = null;
      if (next() !== undefined) kick();
      deps.settled();
    });
  }

  function forgetOld(): void {
    const done = state.postings.filter(({ state: now }) => now === 'delivered' || now === 'given-up');
    const surplus = new Set(done.slice(0, Math.max(0, done.length - maxPostings)).map(({ id }) => id));
    if (surplus.size > 0) state.postings = state.postings.filter(({ id }) => !surplus.has(id));
  }

  // Posts that waited for a retry, or for another post to overtake them, when the program ended, are sent now.
  for (const posting of state.postings) if (posting.state === 'held') posting.state = 'waiting';

  return {
    add({ id, eventId, type, url, payload, bare }) {
      const at = iso(clock.now());
      const strikes = (name: string) => takeFault(state, name, type);
      if (strikes('missing') !== null) return;
      const body = JSON.stringify(
        bare || strikes('bare') !== null
          ? payload
          : { data: { record_type: 'event', event_type: type, id: eventId, occurred_at: at, payload }, meta: {} },
      );
      const as =
        strikes('forged') !== null
          ? 'forged'
          : strikes('old') !== null
            ? 'old'
            : strikes('changed') !== null
              ? 'changed'
              : 'good';
      const delay = strikes('delay');
      const reorder = strikes('reorder') !== null;
      const posting: Posting = {
        id,
        eventId,
        type,
        url,
        body,
        attempt: 0,
        state: delay !== null || reorder ? 'held' : 'waiting',
        as,
        answer: null,
        at,
      };
      // The overtaking post has been sent.
      const passed = state.postings.find((other) => other.state === 'held' && other.answer === 'passed');
      state.postings.push(posting);
      if (strikes('twice') !== null) state.postings.push({ ...posting, id: `${id}-twice` });
      if (passed !== undefined) {
        state.postings = [...state.postings.filter((other) => other !== passed), passed];
        passed.state = 'waiting';
      }
      if (reorder) posting.answer = 'passed';
      if (delay !== null) wait(Number(delay.given.ms ?? 1000), () => release(posting));
    },
    kick,
    again(id) {
      const found = state.postings.find((posting) => posting.id === id);
      if (found === undefined) return false;
      state.sequence += 1;
      state.postings.push({ ...found, id: `${id}-${state.sequence}`, attempt: 0, state: 'waiting', as: 'good' });
      kick();
      return true;
    },
    get busy() {
      return running !== null || later > 0 || next() !== undefined;
    },
    stranger,
    async stop() {
      ending.abort();
      for (const cancel of waits) cancel();
      waits.clear();
      await running?.catch(() => {});
    },
  };
}

/** The attempt is sent beside the event, like the carrier's. */
function withMeta({ body, attempt, url }: Posting): string {
  const end = '"meta":{}}';
  return body.endsWith(end)
    ? `${body.slice(0, -end.length)}"meta":${JSON.stringify({ attempt, delivered_to: url })}}`
    : body;
}
