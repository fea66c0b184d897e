import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { endTree, startOf } from '../../../src/programs/pane-host/process-tree.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { freshId, sleep, spec, testHost, until } from './support.ts';

/** Starts one of each kind that outlives a careless kill, and notes their pids. */
function stubbornFamily(folder: string): string {
  const note = (name: string): string => `echo $BASHPID > ${join(folder, name)}`;
  return [
    `( trap '' HUP TERM INT; ${note('ignores')}; while :; do sleep 0.2; done ) &`,
    `setsid bash -c 'trap "" HUP; echo $$ > ${join(folder, 'own-session')}; while :; do sleep 0.2; done' &`,
    `( setsid bash -c 'trap "" HUP TERM; echo $$ > ${join(folder, 'daemon')}; while :; do sleep 0.2; done' < /dev/null > /dev/null 2>&1 & )`,
    `( ${note('stopped')}; kill -STOP $BASHPID; sleep 60 ) &`,
    note('root'),
    'wait',
  ].join('\n');
}

const kinds = ['ignores', 'own-session', 'daemon', 'stopped', 'root'];

async function pidsIn(folder: string): Promise<number[]> {
  await until('all have noted their pid', () =>
    kinds.every((kind) => existsSync(join(folder, kind)) && readFileSync(join(folder, kind), 'utf8').endsWith('\n')),
  );
  return kinds.map((kind) => Number(readFileSync(join(folder, kind), 'utf8')));
}

function lives(pid: number): boolean {
  if (!existsSync(`/proc/${pid}`)) return false;
  return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
}

test('killing a pane ends what ignores signals, has a session of its own, is a daemon, or is stopped', async () => {
  const host = await testHost();
  const folder = scratchFolder();
  const p = freshId();
  await host.connection.request({ op: 'create', spec: spec(p, stubbornFamily(folder)) });
  const pids = await pidsIn(folder);
  expect(pids.filter(lives)).toEqual(pids);
  await host.connection.request({ op: 'kill', pane: p });
  expect(pids.filter(lives)).toEqual([]);
  await host.connection.request({ op: 'kill', pane: p });
});

test('what a program left behind when it ended by itself is ended when its pane is killed afterwards', async () => {
  const host = await testHost();
  const folder = scratchFolder();
  const p = freshId();
  const script = `( setsid bash -c 'trap "" HUP; echo $$ > ${join(folder, 'left')}; sleep 60' < /dev/null > /dev/null 2>&1 & ); sleep 0.3; exit 0`;
  await host.connection.request({ op: 'observe', seen: {} });
  await host.connection.request({ op: 'create', spec: spec(p, script) });
  await until('the pane closed', () => host.events.some(({ event }) => event.ev === 'exit'));
  const pid = Number(readFileSync(join(folder, 'left'), 'utf8'));
  expect(lives(pid)).toBe(true);
  await host.connection.request({ op: 'kill', pane: p });
  expect(lives(pid)).toBe(false);
});

test('a process that only has the number of one that ended is left alone', async () => {
  const other = spawn('sleep', ['60'], { stdio: 'ignore' });
  onTestFinished(() => void other.kill('SIGKILL'));
  const pid = other.pid ?? 0;
  await until('it runs', () => startOf(pid));
  expect(await endTree({ pid, started: 'another time' }, '/no/such/pane')).toBe(0);
  // A signal would have ended it by now.
  await sleep(50);
  expect(lives(pid)).toBe(true);
});

test('two panes are apart: killing one leaves the other and its children', async () => {
  const host = await testHost();
  const [one, two] = [freshId(), freshId()];
  for (const id of [one, two]) await host.connection.request({ op: 'create', spec: spec(id, 'sleep 60 & sleep 61') });
  const { ok } = await host.connection.request({ op: 'observe', seen: {} });
  const pid = ok.panes.find((info) => info.id === two)?.pid ?? 0;
  await host.connection.request({ op: 'kill', pane: one });
  expect(lives(pid)).toBe(true);
});
