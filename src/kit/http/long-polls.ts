/**
 * Calls that are held until a thing has a state. All that wait for one thing share its reads: one after each change, however many they are. Nothing
 * polls: a wait costs its place in a set and one deadline. First user: bots, steps and runs; second: approvals and tasks. Must not know what a thing
 * is.
 */
import { AppError } from '../../contracts/common/errors.ts';
import type { Waited, WaitOutcome } from '../../contracts/common/waiting.ts';
import type { Timers } from '../clock/timers.ts';
import { clientOf } from './principals.ts';
import type { Principal } from './types.ts';

/** A call that waits for a thing of an area, as a route receives it. */
export interface WaitWish {
  readonly principal: Principal;
  readonly id: string;
  /** As given: see {@link statesOf}. */
  readonly states: string | undefined;
  readonly seconds: number | undefined;
  readonly signal: AbortSignal;
}

interface Poll<T> {
  readonly principal: Principal;
  /** Of the thing; with its user's id where a store has many users. */
  readonly key: string;
  readonly ms: number;
  /** Aborted when the caller leaves or the server closes. */
  readonly signal: AbortSignal;
  readonly read: () => Promise<T>;
  readonly done: (value: T) => boolean;
}

interface LongPolls {
  /** The first value that is `done`, or the value after `ms`. Rejects with the error of a read, and with 429 if the caller has too many waits. */
  poll<T>(poll: Poll<T>): Promise<T>;
  /** The thing may have changed: call it after the commit. */
  changed(key: string): void;
}

interface Waiter {
  offer(value: unknown): void;
  fail(error: unknown): void;
}

interface Subject {
  readonly read: () => Promise<unknown>;
  readonly waiters: Set<Waiter>;
  reading: boolean;
  again: boolean;
}

/** Of one client of a person. */
const maxWaits = 1_000;
const retryAfterSeconds = 5;

export function createLongPolls({
  timers,
  max = maxWaits,
}: {
  readonly timers: Timers;
  readonly max?: number;
}): LongPolls {
  const subjects = new Map<string, Subject>();
  const taken = new Map<string, number>();

  /** Answers a function that gives the place back. */
  function takePlace(principal: Principal): () => void {
    const who = `${principal.userId} ${clientOf(principal)}`;
    const count = taken.get(who) ?? 0;
    if (count >= max) {
      throw new AppError('refused', `${count} calls of this client are already waiting.`, 'End some of them first.', {
        status: 429,
        wireCode: 'rate_limited',
        retryAfter: retryAfterSeconds,
      });
    }
    taken.set(who, count + 1);
    return () => {
      const left = (taken.get(who) ?? 1) - 1;
      if (left === 0) taken.delete(who);
      else taken.set(who, left);
    };
  }

  async function look(subject: Subject): Promise<void> {
    subject.again = true;
    if (subject.reading) return;
    subject.reading = true;
    while (subject.again && subject.waiters.size > 0) {
      subject.again = false;
      // Who joins during the read gets one of their own: this one may have begun before the change they must see.
      const asked = [...subject.waiters];
      try {
        const value = await subject.read();
        for (const waiter of asked) waiter.offer(value);
      } catch (error) {
        for (const waiter of asked) waiter.fail(error);
      }
    }
    subject.reading = false;
  }

  return {
    async poll<T>({ principal, key, ms, signal, read, done }: Poll<T>): Promise<T> {
      if (ms <= 0) return read();
      const giveBack = takePlace(principal);
      const subject: Subject = subjects.get(key) ?? { read, waiters: new Set(), reading: false, again: false };
      subjects.set(key, subject);
      let late = false;
      let end = () => {};
      try {
        return await new Promise<T>((resolve, reject) => {
          const waiter: Waiter = {
            offer: (value) => {
              if (late || done(value as T)) resolve(value as T);
            },
            fail: reject,
          };
          // The last read also finds what no wake told of, such as a question that has expired.
          const cancel = timers.after(ms, () => {
            late = true;
            void look(subject);
          });
          const left = () => reject(new AppError('transport', 'The wait was interrupted.', 'Ask again.'));
          signal.addEventListener('abort', left, { once: true });
          end = () => {
            cancel();
            signal.removeEventListener('abort', left);
            subject.waiters.delete(waiter);
            if (subject.waiters.size === 0 && subjects.get(key) === subject) subjects.delete(key);
          };
          subject.waiters.add(waiter);
          if (signal.aborted) left();
          void look(subject);
        });
      } finally {
        end();
        giveBack();
      }
    },
    changed(key) {
      const subject = subjects.get(key);
      if (subject !== undefined) void look(subject);
    },
  };
}

/** The states that a call waits for. `usage` for one that a thing of this kind never has. */
export function statesOf(
  given: string | undefined,
  kind: string,
  known: readonly string[],
  usual: readonly string[],
): readonly string[] {
  if (given === undefined) return usual;
  const states = given.split(',').map((state) => state.trim());
  const wrong = states.find((state) => !known.includes(state));
  if (wrong === undefined) return states;
  throw new AppError('usage', `${JSON.stringify(wrong)} is not a state of a ${kind}.`, `Use ${known.join(', ')}.`);
}

/** A thing as far as calls wait for it. */
export type Facts = Omit<Waited, 'outcome'> & { readonly ended: boolean };

/** Holds a call until the thing has one of the `wanted` states, needs its person or has ended, or until its time is over. */
export async function waitForState(
  polls: Pick<LongPolls, 'poll'>,
  wanted: readonly string[],
  poll: Omit<Poll<Facts>, 'done'>,
): Promise<Waited> {
  const outcome = ({ state, ended }: Facts) => outcomeOf(state, wanted, ended);
  const last = await polls.poll({ ...poll, done: (facts) => outcome(facts) !== 'waiting' });
  const { ended: _, ...facts } = last;
  return { ...facts, outcome: outcome(last) };
}

export function outcomeOf(state: string, wanted: readonly string[], ended: boolean): WaitOutcome {
  if (wanted.includes(state)) return 'met';
  if (state === 'needs_you') return 'needs_you';
  return ended ? 'ended' : 'waiting';
}
