/** The pairing of a computer with a store and a file of its own; its clock stands still, and its cloud is the real area over HTTP. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createIds } from '../../../src/kit/ids/ids.ts';
import { createSealer } from '../../../src/kit/secrets/sealer.ts';
import { newToken } from '../../../src/kit/secrets/token-file.ts';
import { openStore } from '../../../src/kit/store/open-store.ts';
import { type AskCloud, createAskCloud } from '../../../src/runtime-server/link/ask-cloud.ts';
import { deviceMigrations } from '../../../src/runtime-server/link/device.ts';
import { createHome } from '../../../src/runtime-server/link/home.ts';
import { createHomeSecrets } from '../../../src/runtime-server/link/home-secrets.ts';
import { createPairing } from '../../../src/runtime-server/link/pairing.ts';
import { idOf, startLinkArea } from '../../cloud-api/link/support.ts';
import { onEnd } from '../../kit/http/support.ts';
import type { TestClock } from '../../support/test-clock.ts';

export interface ComputerOptions {
  readonly clock: TestClock;
  readonly letter?: string;
  /** The data of a computer that was closed. */
  readonly folder?: string;
  readonly masterKey?: string;
  readonly wrapCloud?: (cloud: AskCloud) => AskCloud;
  readonly waiting?: () => Promise<{ id: string; title: string }[]>;
}

export async function startComputer(options: ComputerOptions) {
  const { clock, letter = 'A', masterKey = newToken(), wrapCloud = (cloud) => cloud } = options;
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'gantry-'));
  if (options.folder === undefined) onEnd(async () => rmSync(folder, { recursive: true, force: true }));
  const store = await openStore({ file: join(folder, 'runtime.db'), migrations: deviceMigrations, clock });
  const lines: string[] = [];
  const push = (message: string, facts?: Record<string, unknown>) =>
    void lines.push(`${message} ${JSON.stringify(facts ?? {})}`);
  const faults: unknown[] = [];
  const home = createHome({
    clock,
    computerId: idOf(letter),
    user: { id: 'user_local', name: 'Me' },
    token: newToken(),
    embedded: () => ({ host: '127.0.0.1', port: 9 }),
    onFault: (fault) => faults.push(fault),
  });
  const secrets = createHomeSecrets({ store, sealer: createSealer({ masterKey, purpose: 'device' }) });
  const file = join(folder, 'pairing.json');
  const pairing = createPairing({
    home,
    secrets,
    cloud: wrapCloud(createAskCloud({ fetch: (url, init) => fetch(url, init), now: () => clock.now() })),
    file,
    computer: { id: idOf(letter), name: 'study' },
    version: '1.0.0',
    waiting: options.waiting ?? (async () => []),
    link: () => ({ linked: true, since: clock.now(), problem: null }),
    clock,
    timers: clock,
    ids: createIds(clock),
    log: { info: push, warn: push },
  });
  let closed = false;
  const close = async () => {
    if (closed) return;
    closed = true;
    pairing.close();
    await store.close();
  };
  onEnd(close);
  await pairing.start();
  return { pairing, home, secrets, store, file, folder, masterKey, lines, faults, close };
}

export type LinkArea = Awaited<ReturnType<typeof startLinkArea>>;
export type TestComputer = Awaited<ReturnType<typeof startComputer>>;

export async function startBoth(options: Partial<ComputerOptions> = {}) {
  const area = await startLinkArea();
  const computer = await startComputer({ clock: area.clock, ...options });
  return { area, computer, cloudUrl: `http://127.0.0.1:${area.port}` };
}

/** HTTP takes real time while the clock stands still: moves it until something is so. */
export async function advanceUntil(
  clock: TestClock,
  stepMs: number,
  isSo: () => boolean | Promise<boolean>,
): Promise<void> {
  for (let step = 0; step < 400; step += 1) {
    if (await isSo()) return;
    await clock.advance(stepMs);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error('It did not come to pass.');
}

/** Begins, lets Ada approve, and waits until it holds. */
export async function pairBoth({ area, computer, cloudUrl }: Awaited<ReturnType<typeof startBoth>>): Promise<void> {
  const { userCode } = await computer.pairing.begin(cloudUrl);
  await area.ada('POST', `/api/v1/pairings/${userCode}/approve`);
  await advanceUntil(area.clock, 100, () => computer.pairing.status().state === 'paired');
}
