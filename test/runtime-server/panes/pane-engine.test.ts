import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Screen } from '../../../src/contracts/factory/agent.ts';
import { programCommand } from '../../../src/kit/process/programs.ts';
import type { PaneFacts, PaneInfo } from '../../../src/runtime-server/panes/pane-engine.ts';
import { freshId, sleep, until } from '../../programs/pane-host/support.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { bash, testEngine } from './support.ts';

test('a pane is listed with its labels, takes input, changes size and reports its end', async () => {
  const engine = await testEngine();
  const p = freshId();
  const facts: PaneFacts[] = [];
  const exits: PaneInfo[] = [];
  engine.listen({ onFacts: (_id, fact) => void facts.push(fact), onExit: (_id, info) => void exits.push(info) });
  const info = await engine.create(
    bash(p, 'echo hello; read -r line; stty size; read -r line; exit 4', { labels: { agent: 'a' } }),
  );
  expect(info).toMatchObject({
    id: p,
    alive: true,
    labels: { agent: 'a' },
    cols: 80,
    rows: 24,
    exitCode: null,
    endReason: null,
  });
  await until('it printed', () => engine.get(p)?.facts.bottom.includes('hello'));
  await engine.resize(p, { cols: 100, rows: 30 });
  await engine.write(p, '\n');
  await until('it saw the size', () => engine.get(p)?.facts.bottom.includes('30 100'));
  expect(await engine.screen(p)).toMatchObject({ cols: 100, rows: 30, ansi: expect.stringContaining('30 100') });
  await engine.write(p, new Uint8Array([10]));
  await until('it ended', () => exits.length > 0);
  expect(exits).toEqual([
    expect.objectContaining({ id: p, alive: false, exitCode: 4, exitSignal: null, endReason: null }),
  ]);
  expect(engine.get(p)).toEqual(exits[0]);
  for (let index = 1; index < facts.length; index++) {
    expect(facts[index]!.revision).toBeGreaterThanOrEqual(facts[index - 1]!.revision);
  }
});

test('what cannot be started is refused with the reason, and nothing is left of it', async () => {
  const engine = await testEngine();
  const start = (more: object) => engine.create({ ...bash(freshId(), ''), ...more });
  await expect(start({ command: ['no-such-program'] })).rejects.toMatchObject({
    code: 'usage',
    fact: 'The program no-such-program was not found.',
  });
  await expect(start({ command: ['/etc/passwd'] })).rejects.toMatchObject({ code: 'usage' });
  await expect(start({ cwd: '/no/such/folder' })).rejects.toMatchObject({
    code: 'usage',
    fact: '/no/such/folder is not a folder.',
  });
  await expect(start({ id: '../evil' })).rejects.toMatchObject({ code: 'usage' });
  await expect(engine.write('pane_unknown', 'x')).rejects.toMatchObject({ code: 'not_found' });
  await expect(engine.capture('pane_unknown', 5)).rejects.toMatchObject({ code: 'not_found' });
  expect(engine.list()).toEqual([]);
  const p = freshId();
  await engine.create(bash(p, 'sleep 60'));
  await expect(engine.create(bash(p, 'sleep 60'))).rejects.toMatchObject({ code: 'usage' });
  await expect(engine.forget(p)).rejects.toMatchObject({ code: 'refused' });
});

test('a program has only the environment it was given', async () => {
  const engine = await testEngine();
  const p = freshId();
  await engine.create({ ...bash(p, ''), command: ['/usr/bin/env'], env: { ONLY: 'this' } });
  await until('it ended', () => engine.get(p)?.alive === false);
  const names = (await engine.capture(p, 50)).text.split('\n').map((line) => line.split('=')[0]);
  expect(names).toEqual(['ONLY', 'GANTRY_PANE_RECORD']);
});

test('a closed pane answers from its journal: text, screen, scrollback and bytes, also after the host was started again', async () => {
  const home = scratchFolder();
  const engine = await testEngine(home);
  const p = freshId();
  const script = 'for i in $(seq 1 300); do echo "line $i"; done; read -r l; stty size; printf "%0100d\\n" 7; exit 0';
  await engine.create(bash(p, script));
  await until('it printed', () => engine.get(p)?.facts.bottom.includes('line 300'));
  await engine.resize(p, { cols: 120, rows: 10 });
  await engine.write(p, '\n');
  await until('it ended', () => engine.get(p)?.alive === false);
  const look = async (from: typeof engine) => ({
    info: from.get(p),
    capture: await from.capture(p, 4),
    screen: await from.screen(p),
    above: await from.scrollback(p, undefined, 3),
    read: await from.read(p, 10, 20),
  });
  const before = await look(engine);
  expect(before.capture.text.split('\n')).toEqual(['line 300', '', '10 120', `${'0'.repeat(99)}7`]);
  expect(before.capture.at).toBe(before.info?.endedAt);
  expect(before.read).toMatchObject({ start: 10, live: false, end: before.info?.offset });
  expect(before.screen.cols).toBe(120);
  expect(before.above.lines).toBe(3);
  expect(await engine.stopHost({ force: false })).toEqual({ stopped: true, live: 0 });
  await engine.close();
  const again = await testEngine(home);
  expect(await look(again)).toEqual(before);
  const end: (string | null)[] = [];
  let bytes = 0;
  again.attach(p, 0, {
    onBytes(_at, piece) {
      bytes += piece.length;
    },
    onSnapshot() {},
    onEnd: (why) => void end.push(why),
  });
  await until('it was given whole', () => end.length > 0);
  expect([end, bytes]).toEqual([[null], before.info?.offset]);
  await again.forget(p);
  expect(again.get(p)).toBeNull();
  await expect(again.read(p, 0, 10)).rejects.toMatchObject({ code: 'not_found' });
});

test('viewers share one stream of screens; a slow one gets the newest when it is ready, and a late one the last at once', async () => {
  const engine = await testEngine();
  const p = freshId();
  await engine.create(bash(p, 'read -r l; for i in $(seq 1 60); do echo "tick $i"; sleep 0.01; done; read -r l'));
  const fast: Screen[] = [];
  const slow: Screen[] = [];
  const gone: string[] = [];
  let free: () => void = () => {};
  engine.watch(p, { onScreen: (screen) => void fast.push(screen), onGone: (why) => void gone.push(why) });
  engine.watch(p, {
    onScreen: (screen) => {
      slow.push(screen);
      return new Promise((resolve) => {
        free = resolve;
      });
    },
    onGone: (why) => void gone.push(why),
  });
  await until('both have a screen', () => fast.length > 0 && slow.length > 0);
  await engine.write(p, '\n');
  await until('the fast one has seen the end', () => fast.at(-1)?.ansi.includes('tick 60'));
  expect(slow).toHaveLength(1);
  free();
  await until('the slow one has the newest', () => slow.at(-1)?.ansi.includes('tick 60'));
  expect(slow).toHaveLength(2);
  const revisions = fast.map((screen) => screen.revision);
  expect(revisions).toEqual([...new Set(revisions)].sort((a, b) => a - b));
  const late: Screen[] = [];
  const stop = engine.watch(p, { onScreen: (screen) => void late.push(screen), onGone: (why) => void gone.push(why) });
  await until('the late one has a screen', () => late.length > 0);
  expect(late[0]?.ansi).toBe(fast.at(-1)?.ansi);
  stop();
  await engine.write(p, '\n');
  await until('the viewers are told', () => gone.length > 0);
  // Time in which one that has left would be told, too.
  await sleep(50);
  expect(gone).toEqual(Array(2).fill('its program ended with exit code 0'));
});

test('watching a pane that is not live ends at once with the reason', async () => {
  const engine = await testEngine();
  const gone: string[] = [];
  engine.watch('pane_unknown', { onScreen() {}, onGone: (why) => void gone.push(why) });
  await until('it is told', () => gone.length > 0);
  expect(gone).toEqual(['Pane pane_unknown is not live.']);
});

test('the host is stopped with live panes only by force, and then nothing of them is left', async () => {
  const home = scratchFolder();
  const engine = await testEngine(home);
  const p = freshId();
  const { pid } = await engine.create(bash(p, 'sleep 60'));
  expect(await engine.stopHost({ force: false })).toEqual({ stopped: false, live: 1 });
  expect(engine.engine().running).toBe(true);
  expect(await engine.stopHost({ force: true })).toEqual({ stopped: true, live: 1 });
  await until('the program is gone', () => {
    try {
      process.kill(pid, 0);
      return false;
    } catch {
      return true;
    }
  });
  const next = await testEngine(home);
  await until('it is shown closed', () => next.get(p)?.alive === false);
  expect(next.get(p)).toMatchObject({ endReason: 'it was asked to stop' });
});

test('a host that takes longer than a second to start is waited for, and no other is started beside it', async () => {
  const home = scratchFolder();
  const [starts, slow] = [join(home, 'starts'), join(home, 'slow-host')];
  const [program, file] = programCommand('pane-host');
  writeFileSync(slow, `#!/bin/sh\necho one >> '${starts}'\nsleep 1.3\nexec '${program}' "$@"\n`, { mode: 0o700 });
  const engine = await testEngine(home, { command: [slow, file ?? ''] });
  expect(engine.host()?.pid).toBeGreaterThan(0);
  expect(readFileSync(starts, 'utf8')).toBe('one\n');
});

test('the end of a host that was asked to stop is no failure, whatever else is asked meanwhile', async () => {
  const engine = await testEngine();
  const pid = engine.host()?.pid ?? 0;
  const stopped = engine.stopHost({ force: false });
  for (let turn = 0; turn < 10; turn += 1) await null;
  // The request has left; on a busy computer the host is gone before this program gets to its answer.
  while (runs(pid)) standStill(5);
  standStill(50);
  const [asked, unwatch] = [engine.write('pane_unknown', 'x').catch(String), engine.watch('pane_unknown', watcher)];
  unwatch();
  expect(await stopped).toEqual({ stopped: true, live: 0 });
  expect(await asked).toContain('pane host');
});

const watcher = { onScreen() {}, onGone() {} };

function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** One that has ended counts as ended, also before it was waited for. */
function runs(pid: number): boolean {
  try {
    return !/^State:\tZ/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
