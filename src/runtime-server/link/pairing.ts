/**
 * The pairing of this computer with a cloud: asking for a code, taking what was granted, rereading the pairing file every half
 * minute, replacing the keys every thirty days, and unpairing. Owns changes of the home cloud; must not know links, screens or
 * what goes home.
 */

import { AppError } from '../../contracts/common/errors.ts';
import { describeDevice, rotateDevice, unpairDevice } from '../../contracts/link/device.ts';
import { type Capability, capabilities, readKnows } from '../../contracts/link/knows.ts';
import type { LocalPairing } from '../../contracts/link/local-pairing.ts';
import type { PairingGrant } from '../../contracts/link/pairings.ts';
import { iso } from '../../kit/clock/clock.ts';
import { signingKey } from '../../kit/signing/signature.ts';
import type { SignedAnswer } from '../../kit/signing/signed-call.ts';
import type { Base } from '../base/base.ts';
import type { AskCloud } from './ask-cloud.ts';
import { parseCloudUrl } from './cloud-url.ts';
import type { SwitchableHome } from './home.ts';
import type { HomeSecret, HomeSecrets } from './home-secrets.ts';
import { type PairingFile, readPairing, removePairing, writePairing } from './pairing-file.ts';

export interface PairingDeps extends Pick<Base, 'clock' | 'timers' | 'ids'> {
  readonly home: SwitchableHome;
  readonly secrets: HomeSecrets;
  readonly cloud: AskCloud;
  /** Path of `pairing.json`. */
  readonly file: string;
  readonly computer: { readonly id: string; readonly name: string };
  readonly version: string;
  /** Approvals that wait for an answer at the current home. */
  readonly waiting: () => Promise<readonly { readonly id: string; readonly title: string }[]>;
  /** Whether the link to the home is up, and why not; null without one. */
  readonly link: () => { readonly linked: boolean; readonly since: number; readonly problem: string | null } | null;
  readonly log: {
    info(message: string, facts?: Record<string, unknown>): void;
    warn(message: string, facts?: Record<string, unknown>): void;
  };
}

export interface Pairing {
  /** Reads the file, and again every half minute. */
  start(): Promise<void>;
  readFile(): Promise<void>;
  status(): LocalPairing;
  /** Asks the cloud for a code and waits for the person in the background. */
  begin(cloudUrl: string): Promise<LocalPairing>;
  /** The refusals of `begin`, without asking. Returns the address as it would be used. */
  check(cloudUrl: string): Promise<string>;
  /** Ends the pairing or the wait for it. */
  end(): Promise<LocalPairing>;
  /** The home cloud's capabilities; requested if not known since the link connected. */
  knows(): Promise<ReadonlySet<Capability>>;
  /** The link to it came up: it may run another version now, and its clock is read again. */
  linked(): void;
  /** New keys now, as happens every thirty days anyway. */
  rotate(): Promise<void>;
  /** The problem, in words; null when all is well. */
  problem(): string | null;
  close(): void;
}

const checkMs = 30_000;
/** This computer reports itself to the cloud, and reads its clock, at least this often; at once when the clock was set. */
const describeMs = 10 * 60_000;
const jumpMs = 5_000;
const rotateMs = 30 * 24 * 60 * 60_000;
/** How long the cloud still accepts the key that a new one replaced. Milliseconds. */
const previousRetentionMs = 60 * 60_000;
const callMs = 15_000;
const maxNamed = 5;

interface Waiting {
  readonly cloudUrl: string;
  readonly userCode: string;
  readonly verificationUri: string;
  readonly verificationUriComplete: string;
  readonly expiresAt: string;
  readonly deviceCode: string;
  readonly intervalMs: number;
  /** Of the cloud's clock; null: unknown. */
  readonly aheadMs: number | null;
}

export function createPairing(deps: PairingDeps): Pairing {
  const { home, secrets, cloud, file, computer, clock, timers, ids, log } = deps;
  let waiting: Waiting | null = null;
  /** Why the last attempt came to nothing. */
  let failed: string | null = null;
  /** Why the file is not used. */
  let unusable: string | null = null;
  /** When the home cloud last heard what runs here: the wall clock, and one that never jumps. */
  let described: { readonly wall: number; readonly steady: number } | null = null;
  let known: ReadonlySet<Capability> | null = null;
  let closed = false;
  let cancelPoll = () => {};
  let cancelCheck = () => {};
  /** Readings of the file come one after another. */
  let reading: Promise<void> = Promise.resolve();

  function check(): Promise<void> {
    reading = reading.then(look).catch((fault: unknown) => {
      log.warn('The pairing file could not be checked.', { fault: String(fault) });
    });
    return reading;
  }

  async function look(): Promise<void> {
    const found = readPairing(file);
    if (found.is !== 'pairing') {
      leave(found.is === 'none' ? null : found.problem);
      return;
    }
    const secret = await secrets.get(found.pairing.deviceTokenRef);
    const problem = mismatch(found.pairing, secret);
    if (closed) return;
    if (secret === null || problem !== null) leave(problem);
    else use(found.pairing, secret);
  }

  /** A file that was written by somebody else must not move this computer or its token to another cloud. */
  function mismatch(pairing: PairingFile, secret: HomeSecret | null): string | null {
    if (pairing.computerId !== computer.id) return `${file} is for another computer (${pairing.computerId}).`;
    if (secret === null) return `${file} names a token that is not in the database of this computer.`;
    if (secret.cloudUrl !== pairing.cloudUrl || secret.user.id !== pairing.user || secret.computerId !== computer.id) {
      return `${file} was changed: it does not match the token of this pairing.`;
    }
    return null;
  }

  function leave(problem: string | null): void {
    if (problem !== null && problem !== unusable) log.warn('The pairing file is not used.', { problem });
    unusable = problem;
    described = null;
    known = null;
    if (home.current().kind === 'embedded') return;
    log.info('This computer is no longer paired.');
    home.become(null);
  }

  function use(pairing: PairingFile, secret: HomeSecret): void {
    unusable = null;
    const key = signingKey(secret.deviceToken);
    const fresh = clock.now() < secret.tokenAt + previousRetentionMs && secret.previousToken !== null;
    const before = home.current();
    if (before.kind === 'embedded') log.info('This computer is paired.', { cloud: pairing.cloudUrl });
    home.become({
      kind: 'paired',
      cloudUrl: pairing.cloudUrl,
      computerId: computer.id,
      user: secret.user,
      key,
      keys: fresh ? [key, signingKey(secret.previousToken ?? '')] : [key],
      credential: secret.homeCredential,
      ticketKeys: pairing.ticketKeys,
    });
  }

  /** As this computer. Tried twice: the first refusal may teach how far the clock is off. */
  async function call(route: { readonly method: string; readonly path: string }, body: unknown): Promise<SignedAnswer> {
    const { method, path } = route;
    const once = () => home.call({ method, path, body, signal: AbortSignal.timeout(callMs) });
    const answer = await once();
    return answer.status === 401 ? once() : answer;
  }

  /** Periodic duties: the version once, new keys every thirty days. An unreachable cloud is no fault. */
  async function tend(): Promise<void> {
    if (home.current().kind === 'embedded') return;
    if (isDue() && !(await describe())) return;
    const ref = refOf();
    const secret = ref === null ? null : await secrets.get(ref);
    if (secret !== null && clock.now() >= secret.tokenAt + rotateMs) await rotate();
  }

  function isDue(): boolean {
    if (described === null) return true;
    const passed = clock.monotonic() - described.steady;
    return passed >= describeMs || Math.abs(clock.now() - described.wall - passed) > jumpMs;
  }

  async function describe(): Promise<boolean> {
    const { status, knows } = await call(describeDevice, { version: deps.version });
    if (status !== 204) return false;
    known = readKnows(knows);
    described = { wall: clock.now(), steady: clock.monotonic() };
    return true;
  }

  function refOf(): string | null {
    const found = readPairing(file);
    return found.is === 'pairing' ? found.pairing.deviceTokenRef : null;
  }

  async function rotate(): Promise<void> {
    const ref = refOf();
    if (ref === null) throw notPaired();
    const { status, body } = await call(rotateDevice, {});
    const token = (body as { deviceToken?: unknown } | null)?.deviceToken;
    if (status !== 200 || typeof token !== 'string') throw new Error(`The cloud gave no new keys (${status}).`);
    await secrets.replaceToken(ref, token, clock.now());
    await check();
    // The new ones count from their first use.
    await describe();
    log.info('This computer has new keys.');
  }

  function again(): void {
    if (closed) return;
    cancelCheck = timers.after(checkMs, () => {
      check()
        .then(tend)
        .catch((fault: unknown) => log.warn('The home cloud could not be notified.', { fault: String(fault) }))
        .finally(again);
    });
  }

  function poll(asked: Waiting): void {
    cancelPoll = timers.after(asked.intervalMs, () => {
      cloud
        .poll(asked.cloudUrl, asked.deviceCode)
        .then(async (polled) => {
          if (waiting !== asked || closed) return;
          if (polled.is === 'granted') await take(asked, polled.grant);
          else if (polled.is === 'over') giveUp(polled.why);
          else if (Date.parse(asked.expiresAt) <= clock.now()) giveUp('Nobody approved the code in time.');
          else poll(asked);
        })
        .catch((fault: unknown) => giveUp(`The pairing could not be saved: ${String(fault)}`));
    });
  }

  function giveUp(why: string): void {
    waiting = null;
    failed = why;
    log.warn('This computer was not paired.', { why });
  }

  async function take({ cloudUrl }: Waiting, grant: PairingGrant): Promise<void> {
    if (grant.computerId !== computer.id) throw new Error('the cloud named another computer');
    const ref = ids.next('home');
    const { deviceToken, homeCredential, user, ticketKeys } = grant;
    const about = { ref, cloudUrl, computerId: computer.id, user, deviceToken, homeCredential, tokenAt: clock.now() };
    await secrets.put(about);
    writePairing(file, { v: 1, computerId: computer.id, user: user.id, cloudUrl, ticketKeys, deviceTokenRef: ref });
    waiting = null;
    failed = null;
    await check();
    tend().catch((fault: unknown) => log.warn('The home cloud could not be notified.', { fault: String(fault) }));
  }

  async function refusals(cloudUrl: string): Promise<string> {
    const parsed = parseCloudUrl(cloudUrl);
    const now = home.current();
    if (now.kind === 'paired') {
      throw new AppError(
        'refused',
        `This computer is already paired with ${now.cloudUrl} as ${now.user.name}.`,
        'End that pairing first: gantry pair --end',
        { status: 409, wireCode: 'already_paired' },
      );
    }
    const open = await deps.waiting();
    if (open.length > 0) {
      const named = open.slice(0, maxNamed).map(({ id, title }) => `${title} (${id})`);
      const more = open.length > maxNamed ? ` and ${open.length - maxNamed} more` : '';
      throw new AppError(
        'refused',
        `${open.length === 1 ? 'An approval waits' : `${open.length} approvals wait`} here: ${named.join(', ')}${more}.`,
        'Answer first: pairing would move your approvals to the cloud.',
        { status: 409, wireCode: 'approvals_pending' },
      );
    }
    return parsed;
  }

  function status(): LocalPairing {
    const now = home.current();
    const problem = unusable ?? failed;
    const told = problem === null ? {} : { problem };
    if (now.kind === 'paired') {
      const link = deps.link();
      return {
        state: 'paired',
        cloudUrl: now.cloudUrl,
        user: now.user,
        computerId: now.computerId,
        ...behind(home.aheadMs()),
        ...(link === null ? {} : { link: { linked: link.linked, since: iso(link.since) } }),
        ...(link === null || link.linked || link.problem === null ? {} : { problem: link.problem }),
      };
    }
    if (waiting === null) return { state: 'unpaired', computerId: computer.id, ...told };
    const { cloudUrl, userCode, verificationUri, verificationUriComplete, expiresAt, aheadMs } = waiting;
    const asked = { cloudUrl, userCode, verificationUri, verificationUriComplete, expiresAt };
    return { state: 'waiting', ...asked, ...behind(aheadMs) };
  }

  return {
    status,
    rotate,
    check: refusals,
    readFile: check,
    problem: () => unusable,
    async knows() {
      // The embedded cloud is this program.
      if (home.current().kind === 'embedded') return new Set(capabilities);
      if (known === null) await describe();
      return known ?? new Set();
    },
    linked() {
      described = null;
      known = null;
      tend().catch((fault: unknown) => log.warn('The home cloud could not be notified.', { fault: String(fault) }));
    },
    async start() {
      await check();
      again();
    },
    async begin(given) {
      const cloudUrl = await refusals(given);
      const { id, name } = computer;
      const begun = await cloud.begin(cloudUrl, { computerId: id, name, version: deps.version });
      cancelPoll();
      failed = null;
      const expiresAt = iso(clock.now() + begun.remainingMs);
      waiting = { ...begun, expiresAt, cloudUrl, intervalMs: Math.max(1, begun.interval) * 1000 };
      poll(waiting);
      return status();
    },
    async end() {
      cancelPoll();
      waiting = null;
      failed = null;
      if (home.current().kind === 'paired') {
        // First here: whatever the cloud answers, this computer no longer belongs to it.
        const told = await call(unpairDevice, undefined).then(
          (answer) => answer.status === 204 || answer.status === 401,
          () => false,
        );
        if (!told) failed = 'The cloud could not be notified. Remove this computer there too.';
      }
      removePairing(file);
      await secrets.clear();
      await check();
      return status();
    },
    close() {
      closed = true;
      cancelPoll();
      cancelCheck();
    },
  };
}

/** How far this computer's clock is behind the cloud's, once known. */
const behind = (aheadMs: number | null) => (aheadMs === null ? {} : { clockBehindMs: Math.round(aheadMs) });

function notPaired(): AppError {
  return new AppError('refused', 'This computer is not paired.', 'Pair it: gantry pair <address>', { status: 409 });
}
