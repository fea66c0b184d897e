/** The driver `docker` against what a real engine answered (test/conformance/hosted-computers/docker.test.ts records it), and against engines that fail. */

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createDockerDriver } from '../../../src/cloud-api/hosted-computers/docker.ts';
import { containerOf } from '../../../src/cloud-api/hosted-computers/docker-spec.ts';
import type { ComputerSpec } from '../../../src/cloud-api/hosted-computers/driver.ts';
import { readComputerBounds, readComputersEngine } from '../../../src/host/computers-engine.ts';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { systemTimers } from '../../../src/kit/clock/timers.ts';
import { readyWord, takeOffer } from '../../../src/kit/link/offer.ts';
import { lifeOf, playLife } from '../../support/computers/engine-life.ts';
import { type Exchange, replayEngine } from '../../support/computers/engine-wire.ts';

const { installation, exchanges } = JSON.parse(
  readFileSync(new URL('../../data/docker/life.json', import.meta.url), 'utf8'),
) as { readonly installation: string; readonly exchanges: readonly Exchange[] };
const one = lifeOf.computer;
const textOf = ({ body }: Exchange) => Buffer.from(body, 'base64').toString('utf8');
const inspections = exchanges.filter(
  ({ method, path, status }) => method === 'GET' && path.includes(`-${one}/json`) && status === 200,
);
/** A lifetime that began then is over by now. */
const recordedAt = Date.parse((JSON.parse(textOf(inspections[0]!)) as { readonly Created: string }).Created);
const json = (value: unknown, status = 200): Partial<Exchange> => ({
  status,
  type: 'application/json',
  body: Buffer.from(JSON.stringify(value)).toString('base64'),
});

const settingsAt = (socket: string, env: Readonly<Record<string, string>> = {}) =>
  readComputersEngine({ GANTRY_COMPUTERS_ENGINE: socket, ...env })!;

/** `hurried`: a minute is over within a second. */
async function open({
  instead,
  hurried = false,
  runtime = null,
  env = {},
}: {
  readonly instead?: (key: string) => Partial<Exchange> | null | undefined;
  readonly hurried?: boolean;
  readonly runtime?: string | null;
  /** Of the operator. */
  readonly env?: Readonly<Record<string, string>>;
} = {}) {
  const place = mkdtempSync(join(tmpdir(), 'gantry-docker-'));
  const folder = join(place, 'computers');
  mkdirSync(folder, { mode: 0o700 });
  writeFileSync(join(folder, 'installation'), installation);
  const socket = join(place, 'd.sock');
  let channel: Server | null = null;
  const engine = await replayEngine(exchanges, socket, {
    ...(instead === undefined ? {} : { instead }),
    // What runs in a container says at the socket in its folder that it is ready.
    async before(key) {
      if (!key.endsWith('/start')) return;
      channel?.close();
      channel = createServer((connection) => {
        const { token } = JSON.parse(readFileSync(join(folder, one, 'boot.json'), 'utf8')) as {
          readonly token: string;
        };
        void takeOffer(connection, token).then((dial) => dial === null && connection.end(readyWord));
      });
      const path = join(folder, one, 'engine.sock');
      mkdirSync(join(folder, one), { recursive: true });
      rmSync(path, { force: true });
      await new Promise<void>((resolve) => channel!.listen(path, () => resolve()));
    },
  });
  onTestFinished(() => {
    engine.close();
    channel?.close();
    rmSync(place, { recursive: true, force: true });
  });
  const monotonic = () => performance.now() * (hurried ? 60 : 1);
  const clock = { now: () => recordedAt, monotonic };
  const settings = { ...settingsAt(socket, env), runtime };
  return {
    engine,
    folder,
    driver: createDockerDriver({ settings, folder, cloudHost: null, clock, timers: systemTimers, log: { warn() {} } }),
  };
}

const faultOf = (work: Promise<unknown>) =>
  work.then(
    () => null,
    (fault: { code?: string; message: string }) => `${fault.code}: ${fault.message}`,
  );

test('a computer lives as it did at a real engine, and a watch hears each state once', async () => {
  const { driver, engine } = await open();
  const limits = { memory: 2048, processes: 1024 };
  expect(await driver.hosts()).toMatchObject([{ name: null, refused: null, limits, provenAt: null, most: null }]);
  const lived = await playLife(driver, (changes) => expect.poll(() => changes.at(-1)?.state).toBe('gone'));
  expect(lived.states.map(({ state }) => state)).toEqual(['stopped', 'running', 'sleeping', 'running', 'stopped']);
  expect(lived.states.at(-1)).toMatchObject({ why: null });
  expect(lived.left).toBe(null);
  expect(lived.changes.map(({ state }) => state)).toEqual([
    ...['starting', 'running', 'sleeping', 'running', 'stopped', 'gone'],
  ]);
  expect(lived.missed).toEqual([]);
  // Its start proved its network.
  expect(await driver.hosts()).toMatchObject([{ provenAt: recordedAt }]);
  expect(engine.asked.filter((key) => key.startsWith('DELETE'))).toHaveLength(2);
});

test('an engine that says yes and does nothing is found out', async () => {
  const running = inspections.find((inspection) => textOf(inspection).includes('"Running":true'))!;
  const instead = (key: string) => (key.includes(`-${one}/json`) ? running : undefined);
  const { driver, folder } = await open({ hurried: true, instead });
  mkdirSync(join(folder, one));
  writeFileSync(join(folder, one, 'ready'), '');
  writeFileSync(join(folder, one, 'boot.json'), '{"token":"abc"}');
  const said = (what: string) => `failed: The container engine said that ${one} ${what}, but that is not so.`;
  expect(await faultOf(driver.sleep(one))).toBe(said('went to sleep'));
  expect(await faultOf(driver.stop(one))).toBe(said('ended'));
  expect(await faultOf(driver.delete(one))).toBe(said('is gone'));
});

test('an engine that cannot hold computers is refused with what it lacks', async () => {
  const info = JSON.parse(textOf(exchanges.find(({ path }) => path === '/info')!)) as Record<string, unknown>;
  const refusal = async (change: Record<string, unknown>, more: Parameters<typeof open>[0] = {}) => {
    const instead = (key: string) => (key === 'GET /info' ? json({ ...info, ...change }) : undefined);
    const { driver } = await open({ instead, ...more });
    const { refused } = await driver.capabilities();
    expect(await faultOf(driver.create(lifeOf))).toBe(`unsupported: ${refused}`);
    return refused?.replace(/ at \S+d\.sock/, '');
  };
  expect(await refusal({ SecurityOptions: [] })).toBe('The container engine filters no system calls (seccomp).');
  expect(await refusal({ SecurityOptions: ['name=seccomp,profile=default', 'name=rootless'] })).toMatch(/other users/);
  expect(await refusal({}, { runtime: 'runsc' })).toBe('The container engine has no runtime runsc.');
  const missing = {
    instead: (key: string) => (key.startsWith('GET /images/') ? json({ message: 'No such' }, 404) : undefined),
  };
  expect(await refusal({}, missing)).toBe('The container engine has no image gantry-computer: build it, or pull it.');
});

test('limits that the machine does not hold, or that are too high, are refused', async () => {
  const { driver } = await open();
  const limits = { memory: 4096, processes: null };
  expect(await faultOf(driver.create({ ...lifeOf, limits }))).toBe(
    'unsupported: A computer can have 2048 MiB of memory here, not 4096.',
  );
  const info = JSON.parse(textOf(exchanges.find(({ path }) => path === '/info')!)) as Record<string, unknown>;
  const without = { ...info, PidsLimit: false };
  const lacking = await open({ instead: (key) => (key === 'GET /info' ? json(without) : undefined) });
  expect((await lacking.driver.capabilities()).limits).toEqual({ memory: true, processes: false });
  expect(await faultOf(lacking.driver.create(lifeOf))).toMatch(
    /^unsupported: .* 200 processes: its machine lacks that/,
  );
});

test('a computer of an image that is not there, not ours, too large or without a shell is refused, and says which', async () => {
  const image = 'acme/computer:2';
  const found = (more: object) =>
    json({ Size: 900 * 1024 * 1024, Config: { Labels: { 'gantry.computer-image': '1' } }, ...more });
  const refused = async (answer: Partial<Exchange>, more: Parameters<typeof open>[0] = {}) => {
    const instead = (key: string) => (key.startsWith('GET /images/acme') ? answer : undefined);
    const { driver } = await open({ instead, ...more });
    return (await faultOf(driver.create({ ...lifeOf, image })))?.replace(/ at \S+d\.sock/, '') ?? null;
  };
  expect(await refused(json({ message: 'No such image' }, 404))).toBe(
    'unsupported: The container engine has no image acme/computer:2: build it, or pull it.',
  );
  expect(await refused(found({ Config: { Labels: null } }))).toMatch(
    /^unsupported: .* not made on top of gantry-computer/,
  );
  const env = { GANTRY_COMPUTERS_MAX_IMAGE: '800' };
  expect(await refused(found({}), { env })).toBe(
    'unsupported: The image acme/computer:2 has 900 MiB; computers are made from images of at most 800 MiB here.',
  );
  expect(await refused(found({}))).toBe(null);
  const noShell = 'OCI runtime create failed: exec: "/bin/bash": no such file or directory';
  let starts = 0;
  const instead = (key: string) => {
    if (!key.endsWith('/start')) return undefined;
    starts += 1;
    // The first one looks for the machine's addresses.
    return starts > 1 ? json({ message: noShell }, 400) : undefined;
  };
  const { driver } = await open({ instead });
  await driver.create(lifeOf);
  expect(await faultOf(driver.start(one))).toBe(
    `unsupported: The image gantry-computer cannot start a computer. The container engine answered: ${noShell}.`,
  );
});

test('an operator sets what each computer has at most', async () => {
  const { driver } = await open({ env: { GANTRY_COMPUTERS_MEMORY: '400', GANTRY_COMPUTERS_PROCESSES: '100' } });
  expect(await faultOf(driver.create(lifeOf))).toBe(
    'unsupported: A computer can have 400 MiB of memory here, not 512.',
  );
  const limits = { memory: 400, processes: 101 };
  expect(await faultOf(driver.create({ ...lifeOf, limits }))).toBe(
    'unsupported: A computer can have 100 processes here, not 101.',
  );
});

test('without an engine the driver says so and makes nothing; a computer that is not there is not found', async () => {
  const settings = settingsAt('/nowhere/d.sock');
  const folder = mkdtempSync(join(tmpdir(), 'gantry-docker-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const away = createDockerDriver({
    settings,
    folder,
    cloudHost: null,
    clock: systemClock,
    timers: systemTimers,
    log: { warn() {} },
  });
  const words = 'No container engine runs here (/nowhere/d.sock).';
  expect([await away.away(), (await away.capabilities()).refused]).toEqual([words, words]);
  await expect(away.list()).rejects.toThrow(words);
  const { driver } = await open();
  for (const step of ['start', 'sleep', 'wake', 'stop'] as const) {
    expect(await faultOf(driver[step]('cmp_000000000077'))).toMatch(/^(?:not_found|failed): /);
  }
});

test('a container may use so many cores as its cloud says, and as many as there are where it says nothing', () => {
  const spec: ComputerSpec = {
    ...{ computer: 'cmp_000000000001', key: 'k', image: null, limits: { memory: null, processes: null } },
    ...{ toolset: 'shell', egress: 'public', lifetime: null },
  };
  const most = { memory: 2048, processes: 1024 };
  const place = { name: 'n', installation: 'i', image: 'gantry-computer', folder: '/f', runtime: null, most };
  const coresOf = (processor: number | null) => containerOf(spec, { ...place, processor }).HostConfig?.NanoCpus;
  expect([coresOf(1.5), coresOf(null)]).toEqual([1_500_000_000, undefined]);
});

test('the engine of computers is chosen by its socket, and nothing else is taken for one', () => {
  expect(readComputersEngine({})).toBe(null);
  expect(readComputersEngine({ GANTRY_COMPUTERS_ENGINE: '/run/d.sock', GANTRY_COMPUTERS_RUNTIME: 'runsc' })).toEqual({
    ...{ socket: '/run/d.sock', image: 'gantry-computer', runtime: 'runsc' },
    ...{ most: { memory: 2048, processes: 1024 }, processor: null, maxImage: null, warm: { desktop: 0, shell: 0 } },
  });
  expect(() => readComputersEngine({ GANTRY_COMPUTERS_ENGINE: 'tcp://a:2375' })).toThrow('"tcp://a:2375"');
  const socket = { GANTRY_COMPUTERS_ENGINE: '/run/d.sock' };
  expect(readComputersEngine({ ...socket, GANTRY_COMPUTERS_PROCESSOR: ' 1.5 ' })?.processor).toBe(1.5);
  for (const given of ['0', '-1', '1.555', 'two', '2000']) {
    expect(() => readComputersEngine({ ...socket, GANTRY_COMPUTERS_PROCESSOR: given })).toThrow(
      expect.objectContaining({ code: 'usage', fact: `GANTRY_COMPUTERS_PROCESSOR is "${given}".` }),
    );
  }
});

test('what computers may ask for is read from the environment, and a value that cannot be meant stops the start', () => {
  expect(readComputerBounds({})).toEqual({ images: null, lifetime: null });
  expect(readComputerBounds({ GANTRY_COMPUTERS_IMAGES: 'acme/', GANTRY_COMPUTERS_LIFETIME: '3600' })).toEqual({
    images: [{ userId: null, beginning: 'acme/' }],
    lifetime: 3_600_000,
  });
  for (const lifetime of ['1h', '5', '-60', '2592001']) {
    expect(() => readComputerBounds({ GANTRY_COMPUTERS_LIFETIME: lifetime })).toThrow(
      expect.objectContaining({
        fact: `GANTRY_COMPUTERS_LIFETIME is "${lifetime}".`,
        action: 'Give a number of seconds from 10 to 2592000.',
      }),
    );
  }
  expect(() => settingsAt('/d.sock', { GANTRY_COMPUTERS_MEMORY: '2g' })).toThrow('GANTRY_COMPUTERS_MEMORY is "2g".');
});
