import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { hostFiles } from '../../../src/programs/pane-host/protocol.ts';
import type { PaneInfo, PaneOsc } from '../../../src/runtime-server/panes/pane-engine.ts';
import { freshId, sleep, until } from '../../programs/pane-host/support.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { bash, testEngine } from './support.ts';

interface Remote {
  readonly process: ChildProcess;
  readonly lines: string[];
}

function remoteRuntime(home: string, pane = '', from = 0): Remote {
  const file = fileURLToPath(new URL('./remote-runtime.ts', import.meta.url));
  const child = spawn(process.execPath, [file, home, pane, String(from)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => void lines.push(line));
  onTestFinished(() => void child.kill('SIGKILL'));
  return { process: child, lines };
}

/** The bytes a remote runtime got from `from` on; throws at a gap or a repeat. */
function received(remote: Remote, from: number): Buffer {
  let at = from;
  const pieces: Buffer[] = [];
  for (const line of remote.lines) {
    const [word, offset, hex = ''] = line.split(' ');
    if (word === 'snapshot') throw new Error('bytes were dropped');
    if (word !== 'bytes') continue;
    if (Number(offset) !== at) throw new Error(`gap or repeat: ${at}, then ${offset}`);
    const piece = Buffer.from(hex, 'hex');
    pieces.push(piece);
    at += piece.length;
  }
  return Buffer.concat(pieces);
}

const hostPid = (home: string): number => JSON.parse(readFileSync(hostFiles(home).lock, 'utf8')).pid;

test('runtimes killed one after the other leave programs running and their streams whole', async () => {
  const home = scratchFolder();
  const engine = await testEngine(home);
  const p = freshId();
  const stop = join(scratchFolder(), 'stop');
  const script = `stty -onlcr; i=0; until [ -e ${stop} ]; do i=$((i+1)); echo "line $i"; [ $((i % 10)) = 0 ] && sleep 0.004; done; echo the end`;
  const { pid } = await engine.create(bash(p, script));
  const parts: Buffer[] = [];
  let at = 0;
  for (let killed = 0; killed < 5; killed++) {
    const remote = remoteRuntime(home, p, at);
    await until('it got bytes', () => received(remote, at).length > 0);
    remote.process.kill('SIGKILL');
    await new Promise((resolve) => remote.process.once('close', resolve));
    const got = received(remote, at);
    parts.push(got);
    at += got.length;
  }
  expect(engine.get(p)).toMatchObject({ pid, alive: true });
  const last = remoteRuntime(home, p, at);
  await until('it got bytes', () => received(last, at).length > 0);
  writeFileSync(stop, '');
  await until('it ended', () => last.lines.some((line) => line.startsWith('end')));
  parts.push(received(last, at));
  const lines = Buffer.concat(parts).toString().split('\n');
  expect(lines.slice(-2)).toEqual(['the end', '']);
  expect(lines.slice(0, -2)).toEqual(lines.slice(0, -2).map((_, index) => `line ${index + 1}`));
});

test('starters that race end up with one host, whose panes all of them see', async () => {
  const home = scratchFolder();
  const starting = testEngine(home);
  const remotes = [remoteRuntime(home), remoteRuntime(home), remoteRuntime(home)];
  const engine = await starting;
  for (const remote of remotes) await until('it is ready', () => remote.lines.includes('ready true'));
  const log = (): string => readFileSync(hostFiles(home).log, 'utf8');
  await until('the others have given way', () => {
    const started = log().match(/ started, process /g)?.length ?? 0;
    return started === 1;
  });
  expect(existsSync(`/proc/${hostPid(home)}`)).toBe(true);
  const p = freshId();
  await engine.create(bash(p, 'sleep 60'));
  const second = await testEngine(home);
  expect(second.list().map((info) => info.id)).toEqual([p]);
});

test('a pane that ends and a sequence that is printed while no runtime looks are told to the next one', async () => {
  const home = scratchFolder();
  const first = await testEngine(home);
  const [ends, goesOn] = [freshId(), freshId()];
  await first.create(bash(ends, 'read -r line; exit 5'));
  await first.create(bash(goesOn, "printf '\\033]9;first\\007'; read -r line; printf '\\033]9;second\\007'; sleep 60"));
  await first.write(ends, '\n');
  await first.write(goesOn, '\n');
  await first.close();
  // Time for both to happen while nobody looks.
  await sleep(300);
  const oscs: PaneOsc[] = [];
  const second = await testEngine(home, { listener: { onOsc: (_id, osc) => void oscs.push(osc) } });
  expect(second.get(ends)).toMatchObject({ alive: false, exitCode: 5 });
  await until('both are told', () => oscs.length === 2);
  expect(oscs.map(({ code, text }) => `${code}:${text}`)).toEqual(['9:first', '9:second']);
});

test('while the host does not answer the panes are shown unchanged, and nobody is reported dead', async () => {
  const home = scratchFolder();
  const engine = await testEngine(home, { heartbeatMs: 150 });
  const p = freshId();
  const oscs: string[] = [];
  const exits: string[] = [];
  await engine.create(bash(p, "printf '\\033]9;once\\007'; read -r line; echo went on; sleep 60"));
  engine.listen({ onOsc: (_id, osc) => void oscs.push(osc.text), onExit: (id) => void exits.push(id) });
  const screens: string[] = [];
  engine.watch(p, { onScreen: (screen) => void screens.push(screen.ansi), onGone: (why) => void exits.push(why) });
  await until('it was told', () => screens.length > 0);
  const before = engine.list();
  const pid = hostPid(home);
  process.kill(pid, 'SIGSTOP');
  await until('the engine notices', () => !engine.engine().running);
  expect(engine.engine()).toEqual({ running: false, error: expect.stringMatching(/^The pane host .+\.$/) });
  expect(engine.list()).toEqual(before);
  await expect(engine.write(p, 'x')).rejects.toMatchObject({ code: 'transport' });
  // More than two heartbeats in which nothing answers.
  await sleep(400);
  process.kill(pid, 'SIGCONT');
  await until('it is back', () => engine.engine().running);
  expect(engine.engine()).toEqual({ running: true, error: null });
  await engine.write(p, '\n');
  await until('screens go on', () => screens.some((ansi) => ansi.includes('went on')));
  expect(hostPid(home)).toBe(pid);
  expect(exits).toEqual([]);
  expect(oscs.filter((text) => text === 'once').length).toBeLessThanOrEqual(1);
});

test('a host that is killed takes its panes with it: closed with the reason, text kept, nothing left running, work goes on', async () => {
  const home = scratchFolder();
  const engine = await testEngine(home);
  const p = freshId();
  const folder = scratchFolder();
  const left = `setsid bash -c 'trap "" HUP; echo $$ > ${folder}/left; sleep 60' &`;
  await engine.create(
    bash(p, `${left} printf '\\033[31mred\\033[0m text\\n'; echo more; sleep 60`, { labels: { bot: 'b' } }),
  );
  await until('it printed', () => engine.get(p)?.facts.bottom.includes('more'));
  await until(
    'it noted its pid',
    () => existsSync(`${folder}/left`) && readFileSync(`${folder}/left`, 'utf8').endsWith('\n'),
  );
  await until('its journal has it', () => {
    const files = readdirSync(hostFiles(home).panes).filter((file) => file.startsWith(`${p}.`));
    return files.some((file) => readFileSync(join(hostFiles(home).panes, file)).includes('more'));
  });
  const exits: PaneInfo[] = [];
  engine.listen({ onExit: (_id, info) => void exits.push(info) });
  const gone: string[] = [];
  engine.watch(p, { onScreen() {}, onGone: (reason) => void gone.push(reason) });
  const pid = hostPid(home);
  process.kill(pid, 'SIGKILL');
  await until('it is told', () => exits.length > 0);
  expect(exits).toEqual([
    expect.objectContaining({
      id: p,
      alive: false,
      exitCode: null,
      endReason: 'the pane host ended',
      labels: { bot: 'b' },
    }),
  ]);
  expect(engine.engine()).toEqual({ running: true, error: null });
  expect(hostPid(home)).not.toBe(pid);
  expect((await engine.capture(p, 80)).text).toBe('red text\nmore');
  expect(Buffer.from((await engine.read(p, 0, 1000)).bytes).toString()).toContain('\x1b[31mred');
  const orphan = Number(readFileSync(`${folder}/left`, 'utf8'));
  await until('what it left is ended', () => !existsSync(`/proc/${orphan}`));
  await until('its viewers are told', () => gone.length > 0);
  const next = freshId();
  expect(await engine.create(bash(next, 'sleep 60'))).toMatchObject({ alive: true });
});
