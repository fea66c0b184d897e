/**
 * The pairing of this computer with a cloud: asking for a code, taking what was granted, rereading the pairing file every half
 * minute, replacing the keys every thirty days, and unpairing. Owns changes of the home cloud; must not know links, screens or
 * what goes home.
 */
import { AppError } from '../../contracts/common/errors.ts';
import { unpairDevice } from '../../contracts/link/device.ts';
import type { Capability } from '../../contracts/link/knows.ts';
import type { LocalPairing } from '../../contracts/link/local-pairing.ts';
import type { PairingGrant } from '../../contracts/link/pairings.ts';
import { iso } from '../../kit/clock/clock.ts';
import { signingKey } from '../../kit/signing/signature.ts';
import type { Base } from '../base/base.ts';
import type { AskCloud } from './ask-cloud.ts';
import { parseCloudUrl } from './cloud-url.ts';
import { createCodeWait, type Waiting } from './code-wait.ts';
import type { SwitchableHome } from './home.ts';
import type { HomeSecret, HomeSecrets } from './home-secrets.ts';
import { type PairingFile, readPairing, removePairing, writePairing } from './pairing-file.ts';
import { createUpkeep } from './upkeep.ts';

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
/** How long the cloud still accepts the key that a new one replaced. Milliseconds. */
const previousRetentionMs = 60 * 60_000;
const maxNamed = 5;

export function createPairing(deps: PairingDeps): Pairing {
  const { home, secrets, cloud, file, computer, clock, timers, ids, log } = deps;
  /** Why the file is not used. */
  let unusable: string | null = null;
  let closed = false;
  let cancelCheck = () => {};
  /** Readings of the file come one after another. */
  let reading: Promise<void> = Promise.resolve();
  const upkeep = createUpkeep({ ...deps, recheck: check });
  const code = createCodeWait({ ...deps, granted: take });

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
    upkeep.forget();
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

  function again(): void {
    if (closed) return;
    cancelCheck = timers.after(checkMs, () => {
      check().then(upkeep.tend).finally(again);
    });
  }

  async function take({ cloudUrl }: Waiting, grant: PairingGrant): Promise<void> {
    if (grant.computerId !== computer.id) throw new Error('the cloud named another computer');
    const ref = ids.next('home');
    const { deviceToken, homeCredential, user, ticketKeys } = grant;
    const about = { ref, cloudUrl, computerId: computer.id, user, deviceToken, homeCredential, tokenAt: clock.now() };
    await secrets.put(about);
    writePairing(file, { v: 1, computerId: computer.id, user: user.id, cloudUrl, ticketKeys, deviceTokenRef: ref });
    code.settle(null);
    await check();
    void upkeep.tend();
  }

  function status(): LocalPairing {
    const now = home.current();
    const problem = unusable ?? code.failed();
    const waiting = code.now();
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
    rotate: upkeep.rotate,
    check: (cloudUrl) => mayPair(deps, cloudUrl),
    readFile: check,
    problem: () => unusable,
    knows: upkeep.knows,
    linked() {
      upkeep.forget();
      void upkeep.tend();
    },
    async start() {
      await check();
      again();
    },
    async begin(given) {
      const cloudUrl = await mayPair(deps, given);
      const { id, name } = computer;
      const begun = await cloud.begin(cloudUrl, { computerId: id, name, version: deps.version });
      const expiresAt = iso(clock.now() + begun.remainingMs);
      code.begin({ ...begun, expiresAt, cloudUrl, intervalMs: Math.max(1, begun.interval) * 1000 });
      return status();
    },
    async end() {
      code.settle(null);
      if (home.current().kind === 'paired') {
        // First here: whatever the cloud answers, this computer no longer belongs to it.
        const told = await upkeep.call(unpairDevice, undefined).then(
          (answer) => answer.status === 204 || answer.status === 401,
          () => false,
        );
        if (!told) code.fail('The cloud could not be notified. Remove this computer there too.');
      }
      removePairing(file);
      await secrets.clear();
      await check();
      return status();
    },
    close() {
      closed = true;
      code.close();
      cancelCheck();
    },
  };
}

/** How far this computer's clock is behind the cloud's, once known. */
const behind = (aheadMs: number | null) => (aheadMs === null ? {} : { clockBehindMs: Math.round(aheadMs) });

/** Throws why this computer may not be paired now. Returns the address as it would be used. */
async function mayPair({ home, waiting }: Pick<PairingDeps, 'home' | 'waiting'>, cloudUrl: string): Promise<string> {
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
  const open = await waiting();
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
