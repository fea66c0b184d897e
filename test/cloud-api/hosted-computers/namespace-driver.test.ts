/** The adapter to the helper of this machine, over a real socket, with a helper that says what a test writes down. */
import { createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { type ComputerSpec, DriverFault, type HostedDriver } from '../../../src/cloud-api/hosted-computers/driver.ts';
import { createNamespaceDriver } from '../../../src/cloud-api/hosted-computers/namespace.ts';
import { systemTimers } from '../../../src/kit/clock/timers.ts';
import { type HostChange, HostRequest, socketIn } from '../../../src/programs/computer-host/protocol.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { createTestClock } from '../../support/test-clock.ts';

const id = 'cmp_0123456789';
const state = (more = {}) => ({
  computer: id,
  state: 'running',
  why: null,
  since: 1,
  channel: { socket: '/run/engine.sock', token: 'token' },
  ...more,
});
const spec: ComputerSpec = {
  computer: id,
  key: `${id}.1`,
  image: null,
  limits: { memory: null, processes: 64 },
  toolset: 'shell',
  egress: 'none',
  lifetime: 60_000,
};
/** What the driver says of {@link state}. */
const told = { computer: id, state: 'running', why: null, since: 1 };
/** What the driver says of {@link capabilities}. */
const able = {
  refused: null,
  egress: 'enforced',
  wall: 'namespace',
  sleep: 'memory',
  limits: { memory: true, processes: true },
  images: false,
  warm: { desktop: 1, shell: 0 },
};
const capabilities = {
  refused: null,
  egress: 'enforced',
  freeze: 'cgroup2',
  limits: { memory: true, processes: true },
  ipv6: true,
  screen: { width: 1280, height: 800 },
  most: 20,
  warm: { desktop: 1, shell: 0 },
};

function helper(answer: (request: HostRequest) => { ok: true; value: unknown } | { ok: false; fault: unknown } | null) {
  const folder = scratchFolder();
  const sockets = new Set<Socket>();
  const asked: HostRequest[] = [];
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => {});
    createInterface({ input: socket }).on('line', (line) => {
      const { id: number, ...rest } = JSON.parse(line) as { id: number };
      const request = HostRequest.parse(rest);
      asked.push(request);
      const said = answer(request);
      if (said !== null) socket.write(`${JSON.stringify({ id: number, ...said })}\n`);
    });
  });
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  onTestFinished(() => {
    cut();
    server.close();
  });
  return {
    folder,
    asked,
    cut,
    sockets,
    listen: () => new Promise<void>((resolve) => server.listen(socketIn(folder), resolve)),
    say: (line: string) => {
      for (const socket of sockets) socket.write(line);
    },
  };
}

function driverOf(folder: string, timers = systemTimers) {
  const driver = createNamespaceDriver({ folder, timers });
  onTestFinished(() => driver.close());
  return driver;
}

test('each operation asks what the wire has for it and answers what the port promises', async () => {
  const host = helper((request) => {
    if (request.op === 'capabilities') return { ok: true, value: capabilities };
    if (request.op === 'list') return { ok: true, value: [state()] };
    if (request.op === 'delete') return { ok: true, value: null };
    return { ok: true, value: state(request.op === 'freeze' ? { state: 'frozen' } : {}) };
  });
  await host.listen();
  const driver = driverOf(host.folder);
  expect(await driver.capabilities()).toEqual(able);
  const answers = await Promise.all([driver.start(id), driver.wake(id), driver.inspect(id), driver.list()]);
  expect(answers).toEqual([told, told, told, [told]]);
  expect(await driver.create(spec)).toEqual(told);
  for (const op of ['sleep', 'stop', 'delete'] as const) expect(await driver[op](id)).toBeUndefined();
  expect(host.asked.map((request) => request.op).sort()).toEqual([
    'capabilities',
    'create',
    'delete',
    'freeze',
    'inspect',
    'list',
    'start',
    'stop',
    'thaw',
  ]);
  const { key, toolset, egress, lifetime } = spec;
  expect(host.asked).toContainEqual({
    op: 'create',
    computer: id,
    spec: { key, toolset, egress, lifetime, memory: null, processes: 64 },
  });
  expect(host.sockets.size).toBe(1);
});

test('what the helper refuses has its code and words; a computer that it does not have is none', async () => {
  const host = helper(() => ({ ok: false, fault: { code: 'not_found', message: 'There is none.' } }));
  await host.listen();
  const driver = driverOf(host.folder);
  expect(await driver.inspect(id)).toBeNull();
  const fault = await driver.start(id).catch((thrown: unknown) => thrown);
  expect(fault).toBeInstanceOf(DriverFault);
  expect(fault).toMatchObject({ code: 'not_found', message: 'There is none.' });
});

test('what its machine has room for is told, and as far as it is known of a helper of an older Gantry or of none', async () => {
  const figures = { memory: 2048, processes: 1024, provenAt: 5, computers: 3 };
  const state = { older: false };
  const host = helper(({ op }) => {
    if (op !== 'figures') return { ok: true, value: { ...capabilities, limits: { memory: true, processes: false } } };
    return state.older ? { ok: false, fault: { code: 'bad_request', message: 'op' } } : { ok: true, value: figures };
  });
  const driver = driverOf(host.folder);
  const none = { name: null, limits: { memory: null, processes: null }, provenAt: null, computers: null, most: null };
  expect(await driver.hosts()).toEqual([{ ...none, refused: expect.stringContaining('No computer-host runs here') }]);
  await host.listen();
  const limits = { memory: 2048, processes: null };
  const all = { name: null, refused: null, limits, provenAt: 5, computers: 3, most: 20 };
  expect(await driver.hosts()).toEqual([all]);
  state.older = true;
  expect(await driver.hosts()).toEqual([{ ...none, refused: null, most: 20 }]);
});

test('without a helper it refuses and says so; once there is one it is used, and again after it was cut', async () => {
  const host = helper((request) =>
    request.op === 'list' ? { ok: true, value: [] } : { ok: true, value: capabilities },
  );
  const driver = driverOf(host.folder);
  expect(await driver.capabilities()).toEqual({
    ...able,
    refused: `No computer-host runs here (${socketIn(host.folder)}).`,
    egress: 'none',
    limits: { memory: false, processes: false },
    warm: null,
  });
  await expect(driver.list()).rejects.toThrow('ENOENT');
  await host.listen();
  expect(await driver.list()).toEqual([]);
  host.cut();
  await expect.poll(() => driver.list().catch(() => null)).toEqual([]);
});

test('a helper that is cut off, speaks nonsense or says nothing fails what was asked', async () => {
  const host = helper(() => null);
  await host.listen();
  const clock = createTestClock();
  const driver = driverOf(host.folder, clock);
  const ask = async () => {
    const before = host.asked.length;
    const asking = driver.list().then(
      () => 'answered',
      (fault: Error) => fault.message,
    );
    await expect.poll(() => host.asked.length).toBe(before + 1);
    return { asking };
  };
  const cut = await ask();
  host.cut();
  expect(await cut.asking).toContain('closed the connection');
  const nonsense = await ask();
  host.say('{"what": 1}\n');
  expect(await nonsense.asking).toContain('invalid answer');
  const silent = await ask();
  await clock.advance(61_000);
  expect(await silent.asking).toContain('did not answer list within 60 s');
});

const change = (number: number, more: Partial<HostChange> = {}): HostChange => ({
  number,
  computer: id,
  state: 'stopped',
  why: `end ${number}`,
  at: 1,
  ...more,
});

/** A helper that keeps its changes; each connection that asked is told of new ones. */
function tellingHelper() {
  let run = 'a';
  let changes: HostChange[] = [];
  const host = helper((request) => {
    if (request.op !== 'watch') return { ok: true, value: [] };
    const { since } = request;
    const missed = since !== null && since.run !== run;
    const told = since === null || missed ? [] : changes.filter(({ number }) => number > since.number);
    return { ok: true, value: { run, number: changes.length, missed, changes: told } };
  });
  return {
    ...host,
    happens(one: HostChange, ...tell: 'silently'[]) {
      changes.push(one);
      if (tell.length === 0) host.say(`${JSON.stringify({ event: 'changed', change: one })}\n`);
    },
    restarts() {
      run = 'b';
      changes = [];
      host.cut();
    },
    watches: () => host.asked.filter(({ op }) => op === 'watch').length,
  };
}

function watched(driver: HostedDriver, since: string | null) {
  const heard: string[] = [];
  const cursors: string[] = [];
  const stop = driver.watch(since, {
    changed({ computer, state: to, why, cursor }) {
      heard.push(`${computer} ${to} ${why}`);
      cursors.push(cursor);
    },
    missed: () => void heard.push('missed'),
  });
  return { heard, cursors, stop };
}

test('a watch hears each change once, also those of the time in which it was cut off', async () => {
  const host = tellingHelper();
  await host.listen();
  const driver = driverOf(host.folder);
  host.happens(change(1), 'silently');
  const first = watched(driver, null);
  await expect.poll(host.watches).toBe(1);
  host.happens(change(2));
  await expect.poll(() => first.heard).toEqual([`${id} stopped end 2`]);
  host.cut();
  host.happens(change(3, { state: 'frozen', why: null }), 'silently');
  host.happens(change(4, { state: 'gone', why: null }), 'silently');
  // Nobody asks it anything meanwhile.
  await expect.poll(() => first.heard.slice(1)).toEqual([`${id} sleeping null`, `${id} gone null`]);
  // Another process goes on where this one was.
  const second = watched(driver, first.cursors[0]!);
  await expect.poll(() => second.heard).toEqual(first.heard.slice(1));
  second.stop();
  host.happens(change(5));
  await expect.poll(() => first.heard).toHaveLength(4);
  expect(second.heard).toHaveLength(2);
});

test('a watch says that it missed something when the helper no longer has it, and hears what comes then', async () => {
  const host = tellingHelper();
  await host.listen();
  const driver = driverOf(host.folder);
  const one = watched(driver, null);
  const strange = watched(driver, 'of no driver');
  await expect.poll(() => strange.heard).toEqual(['missed']);
  await expect.poll(host.watches).toBe(2);
  host.happens(change(1));
  await expect.poll(() => one.heard).toEqual([`${id} stopped end 1`]);
  host.restarts();
  await expect.poll(() => one.heard.slice(1)).toEqual(['missed']);
  host.happens(change(1));
  await expect.poll(() => one.heard.slice(2)).toEqual([`${id} stopped end 1`]);
});

test('a helper of an older Gantry goes on with its computers; a new one is refused and says what to do', async () => {
  const host = helper((request) => {
    if (request.op === 'create' || request.op === 'watch') {
      return { ok: false, fault: { code: 'bad_request', message: 'Unrecognized key: "spec"' } };
    }
    return { ok: true, value: request.op === 'capabilities' ? capabilities : state() };
  });
  await host.listen();
  const driver = driverOf(host.folder);
  const { heard } = watched(driver, null);
  expect(await driver.start(id)).toEqual(told);
  host.say(`${JSON.stringify({ event: 'ended', computer: id, why: 'It crashed.' })}\n`);
  await expect(driver.create(spec)).rejects.toMatchObject({
    code: 'unsupported',
    message: `The computer-host at ${socketIn(host.folder)} is of an older Gantry: restart it with this one.`,
  });
  expect(heard).toEqual([]);
  // It ended the connection of nobody.
  expect(host.sockets.size).toBe(1);
});

test('an image is refused before the helper is asked: the machine’s own programs are all that it has', async () => {
  const host = helper(() => null);
  await host.listen();
  const refused = driverOf(host.folder).create({ ...spec, image: 'debian:12' });
  await expect(refused).rejects.toMatchObject({ code: 'unsupported', message: expect.stringContaining('debian:12') });
  expect(host.asked).toEqual([]);
});

test('says whether the helper can be reached at all, and from when on', async () => {
  const { folder, listen, asked } = helper(() => null);
  const driver = driverOf(folder);
  expect(await driver.away()).toContain('No computer-host runs here');
  await listen();
  expect(await driver.away()).toBe(null);
  expect(asked).toEqual([]);
  driver.close();
  expect(await driver.away()).not.toBe(null);
});
