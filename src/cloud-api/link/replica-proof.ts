/**
 * How replicas of one cloud recognise each other: both prove that they have the internal service token, and neither sends it. A program that listens
 * at the address of a replica that is gone learns nothing useful. Must not know what follows.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** The protocol that a connection between replicas is upgraded to. */
export const pipeProtocol = 'gantry-pipe';
/** Followed by the replica that is asked, the computer and the endpoint. */
export const pipeMount = '/internal/link/';

export const pipeHeaders = {
  /** Seconds since the epoch, by the store's clock. */
  at: 'x-gantry-replica-at',
  /** New for each request. */
  nonce: 'x-gantry-replica-nonce',
  /** The asking replica's proof; in the answer, the asked replica's. */
  proof: 'x-gantry-replica-proof',
} as const;

export interface Question {
  readonly path: string;
  readonly at: string;
  readonly nonce: string;
}

/** Long enough for a slow network, too short for anything else. */
const windowS = 60;
const nonceShape = /^[A-Za-z0-9_-]{22,64}$/;

export function prove(token: string, who: 'asks' | 'is asked', { path, at, nonce }: Question): string {
  return createHmac('sha256', token).update(`replica\n${who}\n${at}\n${nonce}\n${path}`).digest('hex');
}

export function isProven(token: string, who: 'asks' | 'is asked', question: Question, given: unknown): boolean {
  if (typeof given !== 'string') return false;
  const [expected, got] = [Buffer.from(prove(token, who, question)), Buffer.from(given)];
  return got.length === expected.length && timingSafeEqual(got, expected);
}

/** Milliseconds since the epoch: from then on, a request of `at` (seconds) is refused. */
export const untilTooOld = (at: number): number => (at + windowS) * 1000 + 1;

/** Null: not a number, or not close to the present. `nowMs` by the store's clock. */
export function questionIn(path: string, headers: IncomingHttpHeaders, nowMs: number): Question | null {
  const [at, nonce] = [headers[pipeHeaders.at], headers[pipeHeaders.nonce]];
  if (typeof at !== 'string' || typeof nonce !== 'string' || !/^\d{1,12}$/.test(at) || !nonceShape.test(nonce))
    return null;
  return Math.abs(nowMs / 1000 - Number(at)) > windowS ? null : { path, at, nonce };
}
