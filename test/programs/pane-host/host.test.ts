import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import {
  createFrameReader,
  frameHead,
  hostFiles,
  maxSocketPathLength,
} from '../../../src/programs/pane-host/protocol.ts';
import { connectHost } from '../../../src/runtime-server/panes/host-connection.ts';
import { hostToken } from '../../../src/runtime-server/panes/host-starter.ts';
import { testEngine } from '../../runtime-server/panes/support.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { freshId, sleep, spec, testHost, until } from './support.ts';

const noEvents = { event() {}, lost() {} };
const mode = (path: string): number => statSync(path).mode & 0o777;

test('only who has the token of this data folder gets past the hello, and files are closed to others', async () => {
  const { home } = await testHost();
  const files = hostFiles(home);
  await expect(connectHost(files, 'x'.repeat(64), noEvents)).rejects.toMatchObject({ code: 'refused' });
  await expect(connectHost(files, '', noEvents)).rejects.toMatchObject({ code: 'refused' });
  expect([mode(files.folder), mode(files.socket), mode(files.token), mode(files.panes)]).toEqual([
    0o700, 0o600, 0o600, 0o700,
  ]);
  const connection = await connectHost(files, hostToken(files), noEvents);
  const p = freshId();
  await connection.request({
    op: 'create',
    spec: spec(p, 'echo secret; sleep 60', { env: { PATH: '/usr/bin:/bin', SECRET: 'hush' } }),
  });
  await until('the journal is on disk', () => readdirSync(files.panes).some((name) => name.endsWith('.journal')));
  for (const name of readdirSync(files.panes)) expect(mode(join(files.panes, name))).toBe(0o600);
  connection.close();
});

test('a client of another protocol is told which one the host speaks', async () => {
  const { home } = await testHost();
  const files = hostFiles(home);
  const answer = await new Promise((resolve, reject) => {
    const socket = connect(files.socket);
    const read = createFrameReader((header) => resolve(header));
    socket.on('data', read);
    socket.on('error', reject);
    socket.write(frameHead({ id: 1, op: 'hello', major: 99, token: hostToken(files), who: 'test' }));
  });
  expect(answer).toMatchObject({ re: 1, error: { code: 'refused', fact: 'This host speaks protocol 1, not 99.' } });
});

test('what is no frame, and a request before the hello, end that connection and harm no other', async () => {
  const { home, connection } = await testHost();
  const closedAfter = (bytes: Buffer): Promise<void> =>
    new Promise((resolve) => {
      const socket = connect(hostFiles(home).socket, () => void socket.write(bytes));
      socket.on('error', () => {});
      socket.on('close', () => resolve());
      socket.resume();
    });
  await closedAfter(Buffer.alloc(4096, 0xff));
  await closedAfter(Buffer.from('GET / HTTP/1.1\r\nhost: x\r\n\r\n'));
  await closedAfter(frameHead({ id: 1, op: 'observe', seen: {} }));
  expect((await connection.request({ op: 'observe', seen: {} })).ok.panes).toEqual([]);
});

test('a data folder too deep for a socket path works, through a folder that is closed to others', async () => {
  const home = join(scratchFolder(), 'deep'.repeat(30));
  mkdirSync(home);
  const files = hostFiles(home);
  expect(Buffer.byteLength(files.socket)).toBeLessThanOrEqual(maxSocketPathLength);
  const folder = files.socketFolder ?? '';
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const engine = await testEngine(home);
  expect(engine.engine()).toEqual({ running: true, error: null });
  expect(mode(folder)).toBe(0o700);
});

test('a host that nobody uses ends by itself; one with a live pane stays', async () => {
  const home = scratchFolder();
  const engine = await testEngine(home, { args: ['--idle-exit', '300'] });
  const p = freshId();
  await engine.create({ ...spec(p, 'read -r line'), command: ['bash', '-c', 'read -r line'] });
  await engine.close();
  // Three times as long as a host without use lives.
  await sleep(900);
  const again = await testEngine(home, { args: ['--idle-exit', '300'] });
  expect(again.get(p)).toMatchObject({ alive: true });
  await again.write(p, '\n');
  await until('it ended', () => again.get(p)?.alive === false);
  // It stays while it is used, with no pane that lives: again three times as long.
  await sleep(900);
  expect(again.engine().running).toBe(true);
  await again.close();
  await until('the host is gone', () => !existsSync(hostFiles(home).lock));
});

test('many panes that come and go leave no file descriptor behind', async () => {
  const { connection, events } = await testHost();
  await connection.request({ op: 'observe', seen: {} });
  const open = (): number => readdirSync(`/proc/${connection.hostPid}/fd`).length;
  const round = async (count: number): Promise<void> => {
    const ids = Array.from({ length: count }, freshId);
    for (const id of ids) await connection.request({ op: 'create', spec: spec(id, 'echo hi') });
    const ended = (id: string): boolean => events.some(({ event }) => event.ev === 'exit' && event.pane === id);
    await until('all have ended', () => ids.every(ended));
    for (const id of ids) await connection.request({ op: 'forget', pane: id });
  };
  await round(10);
  const before = open();
  for (let times = 0; times < 10; times++) await round(20);
  expect(open()).toBeLessThanOrEqual(before);
  expect(connection.hostPid).toBeGreaterThan(0);
}, 60_000);

test('screens come at most every 33 ms while somebody watches, facts only to those who observe, and nothing otherwise', async () => {
  const { connection, events } = await testHost();
  const p = freshId();
  const count = (ev: string): number => events.filter(({ event }) => event.ev === ev).length;
  await connection.request({ op: 'create', spec: spec(p, 'while :; do echo $RANDOM; done') });
  // Time for events that nobody asked for.
  await sleep(200);
  expect(events).toEqual([]);
  const start = performance.now();
  await connection.request({ op: 'watch', pane: p });
  // Half a second of output; how long it really was is measured.
  await sleep(500);
  await connection.request({ op: 'unwatch', pane: p });
  const max = (performance.now() - start) / 33 + 2;
  const screens = count('screen');
  expect(screens).toBeGreaterThan(1);
  expect(screens).toBeLessThanOrEqual(max);
  expect(count('facts')).toBe(0);
  // Time for a screen that comes although nobody watches.
  await sleep(200);
  expect(count('screen')).toBe(screens);
});
