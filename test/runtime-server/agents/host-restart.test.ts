import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Agent } from '../../../src/contracts/factory/agent.ts';
import type { Delivery } from '../../../src/contracts/factory/delivery.ts';
import { processLives, startOf } from '../../../src/programs/pane-host/process-tree.ts';
import { hostFiles } from '../../../src/programs/pane-host/protocol.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { installStandInClaude } from '../../support/stand-in-claude/install.ts';
import { type Engine, type EngineOptions, startEngine, waitFor } from '../engine.ts';
import { startShells } from '../shells.ts';

const hostPid = (engine: Engine): number => JSON.parse(readFileSync(hostFiles(engine.home).lock, 'utf8')).pid;
const text = async (engine: Engine, agent: Agent): Promise<string> =>
  (await engine.call<{ text: string }>('GET', `/agents/${agent.id}/capture?lines=300`)).body.text;
const send = async (engine: Engine, to: string, message: string): Promise<Delivery> =>
  (await engine.call<Delivery>('POST', '/send', { to, text: message })).body;
const delivery = async (engine: Engine, id: string): Promise<Delivery | undefined> =>
  (await engine.call<{ deliveries: Delivery[] }>('GET', '/deliveries')).body.deliveries.find((one) => one.id === id);

/** What a host that is killed now leaves of the pane: it gathers bytes for a moment before it writes them. */
function onDisk(engine: Engine, { pane }: Agent): string {
  const folder = hostFiles(engine.home).panes;
  const names = readdirSync(folder).filter((name) => name.startsWith(`${pane?.id}.`) && name.endsWith('.journal'));
  return names.map((name) => readFileSync(join(folder, name), 'utf8')).join('');
}

/** Kills the host; resolves when another one serves and its panes are known. */
async function killHost(engine: Engine): Promise<void> {
  const pid = hostPid(engine);
  process.kill(pid, 'SIGKILL');
  await waitFor(
    () => engine.panes.host(),
    (host) => host !== null && host.pid !== pid && engine.panes.engine().running,
  );
}

/** Until it was started again and can take a message. */
const back = (engine: Engine, address: string): Promise<Agent> =>
  waitFor(
    () => engine.agent(address),
    ({ state, stateReason }) => state === 'idle' && stateReason?.endsWith('because the pane host ended') === true,
  );

test('when the pane host dies a shell comes back in its pane, below its text, and says how', async () => {
  const engine = await startEngine();
  const team = await startShells(engine, 'web');
  const to = `web@${team}`;
  const before = await engine.agent(to);
  expect(await send(engine, to, 'echo "before the end"')).toMatchObject({ state: 'verified' });
  await waitFor(
    () => onDisk(engine, before),
    (written) => written.includes('before the end\r\n'),
  );
  const { body } = await engine.call<{ offset: number }>('GET', `/agents/${before.id}/screen`);
  expect(body).toBeTruthy();
  const offset = engine.panes.get(before.pane?.id ?? '')?.offset ?? 0;
  await killHost(engine);
  const after = await back(engine, to);
  expect(after).toMatchObject({
    id: before.id,
    pane: before.pane,
    stateReason: 'restarted, because the pane host ended',
  });
  expect(engine.panes.get(after.pane?.id ?? '')?.offset).toBeGreaterThan(offset);
  const shown = await text(engine, after);
  expect(shown).toContain('\nbefore the end');
  expect(shown).toMatch(/── the pane host ended at [0-9:]{8} UTC; restarted ──/);
  expect(await send(engine, to, 'echo "and after"; pwd')).toMatchObject({ state: 'verified' });
  const whole = await waitFor(
    () => text(engine, after),
    (now) => now.includes('\nand after'),
  );
  expect(whole.indexOf('before the end')).toBeLessThan(whole.indexOf('and after'));
  expect(whole).toContain(`\n${engine.workspace}`);
  // A person stops it as ever, and what they start anew is a new pane.
  await engine.call('POST', `/teams/${team}/down`);
  expect(await engine.agent(to)).toMatchObject({ state: 'offline', stateReason: 'stopped', pane: null });
});

async function standIns(env = '', options: EngineOptions = {}): Promise<{ engine: Engine; starts(): string[][] }> {
  const folder = scratchFolder();
  const noted = join(folder, 'starts');
  writeFileSync(noted, '');
  const bin = installStandInClaude(join(folder, 'bin'));
  const engine = await startEngine({ ...options, env: { PATH: `${bin}:${process.env.PATH}` } });
  engine.team('ai', `name: ai\nbots:\n  - { bot: dev, harness: claude, env: { STARTS: "${noted}"${env} } }\n`);
  mkdirSync(join(engine.workspace), { recursive: true });
  expect(await engine.call('POST', '/teams/ai/up', {})).toMatchObject({ status: 200 });
  await engine.until('dev@ai', 'idle');
  const starts = () =>
    readFileSync(noted, 'utf8')
      .trim()
      .split('\n')
      .map((line) => line.split(' '));
  return { engine, starts };
}

test('an agent goes on with its conversation, says that it was resumed, and gets what waited for it once', async () => {
  const { engine, starts } = await standIns();
  const told = await send(engine, 'dev@ai', 'Remember the word pelican');
  expect(told).toMatchObject({ state: 'verified' });
  const agent = await engine.agent('dev@ai');
  expect(await engine.until('dev@ai', 'working')).toBeTruthy();
  const waiting = send(engine, 'dev@ai', 'What was the word?');
  await killHost(engine);
  const after = await waitFor(
    () => engine.agent('dev@ai'),
    ({ stateReason }) => stateReason === 'resumed, because the pane host ended',
  );
  expect(after.pane).toEqual(agent.pane);
  const { id } = await waiting;
  await waitFor(
    () => delivery(engine, id),
    (now) => now?.state === 'verified',
  );
  const [first, second] = starts();
  expect(starts()).toHaveLength(2);
  expect(second).toEqual([expect.any(String), 'resumed', first?.[2]]);
  const shown = await text(engine, after);
  expect(shown).toContain('the conversation continues');
  const transcript = readFileSync(
    join(
      engine.workspace,
      '..',
      'user',
      '.claude',
      'projects',
      engine.workspace.replace(/[^A-Za-z0-9]/g, '-'),
      `${first?.[2]}.jsonl`,
    ),
    'utf8',
  );
  expect(transcript.match(/pelican/g)).toHaveLength(1);
  expect(transcript.match(/What was the word/g)).toHaveLength(1);
});

test('an agent that outlives its terminal is ended before its conversation goes on', async () => {
  const { engine, starts } = await standIns(', STAYS: "1"');
  await send(engine, 'dev@ai', 'hello');
  const first = Number(starts()[0]?.[0]);
  await killHost(engine);
  await waitFor(starts, (noted) => noted.length === 2);
  expect(processLives(first, startOf(first))).toBe(false);
  expect(starts()[1]?.[1]).toBe('resumed');
});

test('an agent that was told nothing yet begins a new conversation', async () => {
  const { engine, starts } = await standIns();
  await killHost(engine);
  expect(await back(engine, 'dev@ai')).toMatchObject({ stateReason: 'restarted, because the pane host ended' });
  expect(starts().map(([, how]) => how)).toEqual(['new', 'new']);
});

test('a message that was being typed when the host died is unconfirmed, and never typed again', async () => {
  const { engine } = await standIns(', STAND_IN: deaf');
  const sending = send(engine, 'dev@ai', 'do it once');
  await waitFor(
    async () => text(engine, await engine.agent('dev@ai')),
    (shown) => shown.includes('do it once'),
  );
  await killHost(engine);
  const settled = await waitFor(
    async () => delivery(engine, (await sending).id),
    (now) => now?.state === 'unconfirmed',
  );
  expect(settled?.detail).toBeTruthy();
  const agent = await back(engine, 'dev@ai');
  // Above the line is what was typed before; nothing of it stands below.
  const below = (await text(engine, agent)).split('──  ').at(-1)?.split('restarted ──').at(-1);
  expect(below).not.toContain('do it once');
});

test('a runtime that was away when the host died starts its bots again when it is back', async () => {
  const engine = await startEngine();
  const team = await startShells(engine, 'web');
  const before = await engine.agent(`web@${team}`);
  const pid = hostPid(engine);
  await engine.stop();
  process.kill(pid, 'SIGKILL');
  await engine.restart();
  expect(await back(engine, `web@${team}`)).toMatchObject({ id: before.id, pane: before.pane });
});

test('a bot that is stopped while it is being restarted stays stopped', async () => {
  const engine = await startEngine();
  const team = await startShells(engine, 'web');
  await killHost(engine);
  expect((await engine.call('POST', `/teams/${team}/down`)).status).toBe(200);
  await waitFor(
    () => engine.panes.list(),
    (panes) => panes.every(({ alive }) => !alive),
  );
  expect(await engine.agent(`web@${team}`)).toMatchObject({ state: 'offline', pane: null });
});

test('when no pane host is started any more its bots are gone, and everybody says so', async () => {
  const engine = await startEngine({ panes: { hostRestarts: 1 } });
  const team = await startShells(engine, 'web', 'api');
  await killHost(engine);
  await back(engine, `web@${team}`);
  process.kill(hostPid(engine), 'SIGKILL');
  for (const slug of ['web', 'api']) {
    const agent = await waitFor(
      () => engine.agent(`${slug}@${team}`),
      ({ state }) => state === 'offline',
    );
    // What `gantry stop` counts, and what `teams up` looks at.
    expect(agent.pane).toBeNull();
    expect(agent.stateReason).not.toContain('is being restarted');
  }
  const plan = await engine.call<{ plan: { reason: string }[] }>('POST', `/teams/${team}/up`, { dryRun: true });
  expect(JSON.stringify(plan.body)).not.toContain('it is already running');
  const up = await engine.call<{ error: { fact: string } }>('POST', `/teams/${team}/up`, {});
  expect(up.status).toBeGreaterThanOrEqual(400);
}, 60_000);
