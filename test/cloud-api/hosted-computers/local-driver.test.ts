/** The adapter to the helper of this machine, over a real socket, with a helper that says what a test writes down. */
import { createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { DriverFault } from '../../../src/cloud-api/hosted-computers/driver.ts';
import { createLocalDriver } from '../../../src/cloud-api/hosted-computers/local.ts';
import { systemTimers } from '../../../src/kit/clock/timers.ts';
import { HostRequest, socketIn } from '../../../src/programs/computer-host/protocol.ts';
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
const capabilities = {
  refused: null,
  egress: 'enforced',
  freeze: 'cgroup2',
  limits: { memory: true, processes: true },
  ipv6: true,
  screen: { width: 1280, height: 800 },
  most: 20,
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
  const driver = createLocalDriver({ folder, timers });
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
  expect(await driver.capabilities()).toEqual({ refused: null, egress: 'enforced' });
  const answers = await Promise.all([driver.start(id), driver.thaw(id), driver.inspect(id), driver.list()]);
  expect(answers).toEqual([state(), state(), state(), [state()]]);
  for (const op of ['create', 'freeze', 'stop', 'delete'] as const) expect(await driver[op](id)).toBeUndefined();
  expect(host.asked.map((request) => request.op)).toEqual(
    expect.arrayContaining(['capabilities', 'start', 'thaw', 'inspect', 'list', 'create', 'freeze', 'stop', 'delete']),
  );
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

test('without a helper it refuses and says so; once there is one it is used, and again after it was cut', async () => {
  const host = helper((request) =>
    request.op === 'list' ? { ok: true, value: [] } : { ok: true, value: capabilities },
  );
  const driver = driverOf(host.folder);
  expect(await driver.capabilities()).toEqual({
    refused: `No computer-host runs here (${socketIn(host.folder)}).`,
    egress: 'none',
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

test('whoever listens hears of a computer that ended by itself', async () => {
  const host = helper(() => ({ ok: true, value: [] }));
  await host.listen();
  const driver = driverOf(host.folder);
  const ended: string[] = [];
  const stop = driver.onEnded((computer, why) => ended.push(`${computer} ${why}`));
  await driver.list();
  host.say(`${JSON.stringify({ event: 'ended', computer: id, why: 'out of memory' })}\n`);
  await expect.poll(() => ended).toEqual([`${id} out of memory`]);
  stop();
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
