/**
 * What a paired computer owes its cloud: its version, so that both know what the other can, and new keys every thirty days. Must not know how it was
 * paired.
 */
import { AppError } from '../../contracts/common/errors.ts';
import { describeDevice, rotateDevice } from '../../contracts/link/device.ts';
import { type Capability, capabilities, readKnows } from '../../contracts/link/knows.ts';
import type { SignedAnswer } from '../../kit/signing/signed-call.ts';
import type { Base } from '../base/base.ts';
import type { SwitchableHome } from './home.ts';
import type { HomeSecrets } from './home-secrets.ts';
import { readPairing } from './pairing-file.ts';

/** This computer reports itself to the cloud, and reads its clock, at least this often; at once when the clock was set. */
const describeMs = 10 * 60_000;
const jumpMs = 5_000;
const rotateMs = 30 * 24 * 60 * 60_000;
const callMs = 15_000;

export function createUpkeep(
  deps: Pick<Base, 'clock'> & {
    readonly home: SwitchableHome;
    readonly secrets: HomeSecrets;
    /** Path of `pairing.json`. */
    readonly file: string;
    readonly version: string;
    /** The keys have changed. */
    readonly recheck: () => Promise<void>;
    readonly log: { info(message: string): void; warn(message: string, facts?: Record<string, unknown>): void };
  },
) {
  const { home, secrets, file, clock, log } = deps;
  /** When the home cloud last heard what runs here: the wall clock, and one that never jumps. */
  let described: { readonly wall: number; readonly steady: number } | null = null;
  let known: ReadonlySet<Capability> | null = null;

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
    await deps.recheck();
    // The new ones count from their first use.
    await describe();
    log.info('This computer has new keys.');
  }

  /** The home is another one, or may run another version now. */
  function forget(): void {
    described = null;
    known = null;
  }

  return {
    call,
    rotate,
    forget,
    tend: () =>
      tend().catch((fault: unknown) => log.warn('The home cloud could not be notified.', { fault: String(fault) })),
    async knows(): Promise<ReadonlySet<Capability>> {
      // The embedded cloud is this program.
      if (home.current().kind === 'embedded') return new Set(capabilities);
      if (known === null) await describe();
      return known ?? new Set();
    },
  };
}

function notPaired(): AppError {
  return new AppError('refused', 'This computer is not paired.', 'Pair it: gantry pair <address>', { status: 409 });
}
