// Runs apart: two hundred programs go from one host to another while they print.
import { existsSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { programCommand } from '../../../src/kit/process/programs.ts';
import { hostFiles } from '../../../src/programs/pane-host/protocol.ts';
import { isOlder } from '../../../src/runtime-server/panes/host-reach.ts';
import type { PaneEngine, PaneOsc } from '../../../src/runtime-server/panes/pane-engine.ts';
import { freshId, until } from '../../programs/pane-host/support.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { bash, testEngine } from './support.ts';

const hostPid = (home: string): number => JSON.parse(readFileSync(hostFiles(home).lock, 'utf8')).pid;
const noHandOver = (home: string): boolean =>
  readdirSync(hostFiles(home).panes).every((name) => !name.startsWith('hand-over-'));

/** All bytes from `from`; throws at a gap or a repeat, or when a drawing came in their place. */
function follow(engine: PaneEngine, pane: string, from: number): { text(): string; at(): number } {
  const pieces: Uint8Array[] = [];
  const wrong: string[] = [];
  let at = from;
  engine.attach(pane, from, {
    onBytes(offset, bytes) {
      if (offset !== at) wrong.push(`${at}, then ${offset}`);
      pieces.push(Uint8Array.from(bytes));
      at = offset + bytes.length;
    },
    onSnapshot: (offset) => void wrong.push(`a drawing at ${offset}`),
    onEnd: () => {},
  });
  return {
    at: () => at,
    text() {
      expect(wrong).toEqual([]);
      return Buffer.concat(pieces).toString();
    },
  };
}

const counter = (stop: string): string =>
  `stty -onlcr; i=0; until [ -e ${stop} ]; do i=$((i+1)); echo "line $i"; [ $((i % 10)) = 0 ] && sleep 0.01; done; echo the end`;

test('panes of an older host go on in one of the runtime’s version: no byte lost or doubled, same programs, same screens', async () => {
  const home = scratchFolder();
  const stop = join(scratchFolder(), 'stop');
  const older = await testEngine(home, { build: '0.1.0' });
  const [counts, stands, sleeps] = [freshId(), freshId(), freshId()];
  await older.create(bash(counts, counter(stop)));
  const tui = String.raw`printf '\033]0;a title\007\033]9;note\007\033[?1049h\033[?2004h\033[?25l\033[5;7Hon the other screen \033[31mred'; read -r x; printf ' more %s' "$x"; sleep 60`;
  await older.create(bash(stands, tui, { labels: { bot: 'b' }, cols: 50, rows: 12 }));
  await older.create(bash(sleeps, 'echo asleep; exec cat'));
  await until('both have printed', () => older.get(stands)?.facts.altScreen && older.get(sleeps)?.facts.bottom[0]);
  const before = { screen: await older.screen(stands), info: older.get(stands), counts: older.get(counts) };
  const first = hostPid(home);
  const start = follow(older, counts, 0);
  await until('it counts', () => start.text().includes('line 30\n'));
  await older.close();
  const oscs: PaneOsc[] = [];
  const newer = await testEngine(home, { build: '0.2.0', listener: { onOsc: (_id, osc) => void oscs.push(osc) } });
  expect(newer.host()).toMatchObject({ build: '0.2.0' });
  const second = hostPid(home);
  expect(second).not.toBe(first);
  await until('the older one is gone', () => !existsSync(`/proc/${first}`));
  expect(noHandOver(home)).toBe(true);
  expect(await newer.screen(stands)).toEqual(before.screen);
  expect(newer.get(stands)).toEqual(before.info);
  expect(newer.get(counts)).toMatchObject({
    pid: before.counts?.pid,
    alive: true,
    startedAt: before.counts?.startedAt,
  });
  expect(oscs.map(({ code, text }) => `${code}:${text}`)).toEqual(['9:note']);
  await newer.write(stands, 'typed\n');
  await newer.resize(stands, { cols: 44, rows: 10 });
  await until('it goes on', () => newer.get(stands)?.facts.bottom.join('').includes('more typed'));
  await newer.write(sleeps, 'x\n');
  await until('cat answers', () => newer.get(sleeps)?.facts.bottom.at(-1) === 'x');
  const whole = follow(newer, counts, 0);
  await until('it counts on', () => whole.at() > (before.counts?.offset ?? 0) + 2000);
  writeFileSync(stop, '');
  await until('it ended', () => newer.get(counts)?.alive === false);
  await until('all is read', () => whole.text().includes('the end'));
  const lines = whole.text().split('\n');
  expect(lines.slice(0, -2)).toEqual(lines.slice(0, -2).map((_, index) => `line ${index + 1}`));
  // Nobody told the heir how it ended, and it says so.
  expect(newer.get(counts)).toMatchObject({ exitCode: null, exitSignal: null, endReason: null });
  await newer.kill(stands);
  expect(newer.get(stands)).toMatchObject({ alive: false, endReason: 'killed' });
});

test('programs that the heir starts hold no terminal of another pane', async () => {
  const home = scratchFolder();
  const older = await testEngine(home, { build: '1' });
  await Promise.all(Array.from({ length: 5 }, () => older.create(bash(freshId(), 'exec sleep 60'))));
  await older.close();
  const newer = await testEngine(home, { build: '2' });
  const { pid } = await newer.create(bash(freshId(), 'exec sleep 60'));
  await until('it is sleep', () => readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === 'sleep');
  const open = readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`));
  expect(open.filter((path) => path === '/dev/ptmx' || path.endsWith('/ptmx'))).toEqual([]);
});

test('two hundred panes go over at once', async () => {
  const home = scratchFolder();
  const older = await testEngine(home, { build: '1' });
  const ids = Array.from({ length: 200 }, freshId);
  for (const id of ids) await older.create({ ...bash(id, ''), command: ['sh', '-c', `echo ${id}; exec cat`] });
  await until('all printed', () => ids.every((id) => older.get(id)?.facts.bottom[0] === id));
  await older.close();
  const newer = await testEngine(home, { build: '2' });
  expect(newer.host()?.build).toBe('2');
  expect(newer.list().filter(({ alive, facts }) => alive && ids.includes(facts.bottom[0] ?? ''))).toHaveLength(200);
  await newer.write(ids[199] ?? '', 'x\n');
  await until('the last one answers', () => newer.get(ids[199] ?? '')?.facts.bottom.at(-1) === 'x');
}, 60_000);

const realHost = `await import(${JSON.stringify(`file://${programCommand('pane-host')[1]}`)});`;
/** The real host, with another way to tell the one before it. */
const telling = (how: string): string =>
  `const send = process.send?.bind(process); process.send = ${how};\n${realHost}`;
const diesOnceItSaid = (word: string): string =>
  telling(
    `(said, told) => send(said, () => (said.heir === '${word}' ? process.kill(process.pid, 'SIGKILL') : told?.()))`,
  );
/** It stands still before it says it. */
const silentInPlaceOf = (word: string): string =>
  telling(`(said, told) => (said.heir === '${word}' ? process.kill(process.pid, 'SIGSTOP') : send(said, told))`);

/** A host that goes wrong at a point of the hand-over. */
function brokenHost(how: string): [string, ...string[]] {
  const file = join(scratchFolder(), 'host.mjs');
  writeFileSync(file, how);
  return [process.execPath, file];
}

test.each([
  ['cannot be started', null],
  ['ends at once', 'process.exit(3)'],
  ['takes up too few panes', "process.send({ heir: 'ready', panes: 0 }); setInterval(() => {}, 1000)"],
  [
    'dies when it shall serve',
    "process.send({ heir: 'ready', panes: 2 }); process.on('message', () => process.kill(process.pid, 'SIGKILL'))",
  ],
  ['dies as soon as it serves', diesOnceItSaid('serves')],
  ['does not begin', silentInPlaceOf('begins')],
])('when the heir %s the old host serves on, and nothing is lost', async (_, program) => {
  const command: [string, ...string[]] = program === null ? ['/nowhere/node', 'host'] : brokenHost(program);
  const home = scratchFolder();
  const stop = join(scratchFolder(), 'stop');
  const older = await testEngine(home, { build: '1' });
  const [counts, other] = [freshId(), freshId()];
  await older.create(bash(counts, counter(stop)));
  await older.create(bash(other, 'exec cat'));
  const pid = hostPid(home);
  await older.close();
  const notices: string[] = [];
  const newer = await testEngine(home, { build: '2', command, onNotice: (notice) => void notices.push(notice) });
  expect(notices).toEqual([expect.stringContaining('keeps running')]);
  expect(newer.host()).toMatchObject({ pid, build: '1' });
  expect(hostPid(home)).toBe(pid);
  expect(noHandOver(home)).toBe(true);
  const whole = follow(newer, counts, 0);
  await until('it counts on', () => whole.text().includes('line 60\n'));
  await newer.write(other, 'x\n');
  await until('input arrives', () => newer.get(other)?.facts.bottom.at(-1) === 'x');
  // Others find it at the same place, and one of its own version asks for nothing.
  const third = await testEngine(home, { build: '1' });
  expect(third.host()).toMatchObject({ pid });
  writeFileSync(stop, '');
  await until('it ended', () => newer.get(counts)?.alive === false);
  await until('all is read', () => whole.text().includes('the end'));
  const lines = whole.text().split('\n');
  expect(lines.slice(0, -2)).toEqual(lines.slice(0, -2).map((_line, index) => `line ${index + 1}`));
  expect(newer.get(counts)).toMatchObject({ exitCode: 0 });
});

test('while another program uses the host nothing is handed over', async () => {
  const home = scratchFolder();
  const older = await testEngine(home, { build: '1' });
  await older.create(bash(freshId(), 'exec cat'));
  const notices: string[] = [];
  const newer = await testEngine(home, { build: '2', onNotice: (notice) => void notices.push(notice) });
  expect(notices.join()).toContain('another program uses this host');
  expect(newer.host()?.build).toBe('1');
});

test('the screen of a pane that was handed over damaged is drawn from its text', async () => {
  // What the heir reads is damaged between the two hosts: by a command in place of the host that runs it afterwards.
  const home = scratchFolder();
  const older = await testEngine(home, { build: '1' });
  const id = freshId();
  await older.create(bash(id, "printf 'some text\\n'; exec cat"));
  await until('it printed', () => older.get(id)?.facts.bottom[0]);
  await older.close();
  const [node] = programCommand('pane-host');
  const damage = `
    import { createHash } from 'node:crypto';
    import { readFileSync, writeFileSync } from 'node:fs';
    const folder = process.argv[process.argv.indexOf('--adopt') + 1];
    const pane = JSON.parse(readFileSync(folder + '/0.json', 'utf8'));
    pane.screen.frozen = pane.screen.frozen.slice(0, 40);
    pane.screen.drawing = null;
    const text = JSON.stringify(pane);
    writeFileSync(folder + '/0.json', text);
    const sha256 = createHash('sha256').update(text).digest('hex');
    writeFileSync(folder + '/manifest.json', JSON.stringify({ version: 1, panes: [{ file: '0.json', sha256 }] }));
    ${realHost}`;
  const newer = await testEngine(home, { build: '2', command: [node, brokenHost(damage)[1] ?? ''] });
  expect(newer.host()?.build).toBe('2');
  expect((await newer.capture(id, 10)).text).toBe('some text');
  expect(readFileSync(hostFiles(home).log, 'utf8')).toContain('its screen was drawn from its text');
});

test('a host is older when its protocol or its version is', () => {
  const host = (build: string, minor = 1) => ({ build, minor });
  expect(isOlder(host('0.1.0'), '0.2.0')).toBe(true);
  expect(isOlder(host('0.9.0'), '0.10.0')).toBe(true);
  expect(isOlder(host('0.2.0'), '0.2.0')).toBe(false);
  expect(isOlder(host('0.3.0'), '0.2.0')).toBe(false);
  // It does not know how.
  expect(isOlder(host('', 0), '0.2.0')).toBe(false);
});
