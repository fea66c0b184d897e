import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { Agent, Engine as Shown } from '../../../src/contracts/factory/agent.ts';
import type { Delivery } from '../../../src/contracts/factory/delivery.ts';
import { hostFiles } from '../../../src/programs/pane-host/protocol.ts';
import { type Engine, startEngine, waitFor } from '../engine.ts';
import { startShells } from '../shells.ts';
import { openStream } from '../sse.ts';

const hostPid = (engine: Engine): number => JSON.parse(readFileSync(hostFiles(engine.home).lock, 'utf8')).pid;
const list = async (engine: Engine) => (await engine.call<{ agents: Agent[]; engine: Shown }>('GET', '/agents')).body;

test('while the pane host cannot be read the registry is shown unchanged and stale, and nobody is dead', async () => {
  const engine = await startEngine();
  const team = await startShells(engine, 'web');
  const before = (await list(engine)).agents;
  const stream = await openStream(engine, `/agents/web@${team}/stream`);
  const pid = hostPid(engine);
  process.kill(pid, 'SIGSTOP');
  try {
    const away = await waitFor(
      () => list(engine),
      (shown) => !shown.engine.running,
    );
    expect(away.engine.error).toMatch(/\w+ \w+/);
    expect(away.agents).toEqual(before.map((agent) => ({ ...agent, stale: true })));
    expect((await engine.call('GET', '/health')).body).toMatchObject({ ok: true, panes: false });
    expect(await stream.next(({ event }) => event === 'gone')).toMatchObject({ data: { reason: expect.any(String) } });
    for (const path of ['input', 'size']) {
      const body = path === 'input' ? { text: 'x' } : { cols: 80, rows: 24 };
      expect(await engine.call('POST', `/agents/web@${team}/${path}`, body)).toMatchObject({
        status: 502,
        body: { error: { code: 'transport' } },
      });
    }
    for (const path of ['screen', 'capture', 'transcript', 'stream']) {
      expect(await engine.call('GET', `/agents/web@${team}/${path}`)).toMatchObject({ status: 502 });
    }
    expect(await engine.call('POST', `/teams/${team}/down`)).toMatchObject({ status: 502 });
    expect(await engine.call('POST', '/send', { to: `web@${team}`, text: 'x', queue: false })).toMatchObject({
      status: 502,
    });
    const queued = await engine.call<Delivery>('POST', '/send', { to: `web@${team}`, text: 'echo later' });
    expect(queued.body).toMatchObject({ state: 'queued', detail: expect.stringContaining('cannot be read') });
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  await waitFor(
    () => list(engine),
    ({ engine: shown, agents }) => shown.running && agents.every(({ stale }) => !stale),
  );
  await waitFor(
    async () => (await engine.call<{ deliveries: Delivery[] }>('GET', '/deliveries')).body.deliveries,
    ([delivery]) => delivery?.state === 'verified',
  );
});

test('when the pane host is gone and a person switched restarts off, its bots are offline with the reason and start anew', async () => {
  const engine = await startEngine({ restartBots: false });
  const team = await startShells(engine, 'web');
  process.kill(hostPid(engine), 'SIGKILL');
  const agent = await engine.until(`web@${team}`, 'offline');
  expect(agent).toMatchObject({ pane: null, stale: false, stateReason: expect.stringContaining('pane host') });
  expect((await engine.call('POST', `/teams/${team}/up`, {})).body).toMatchObject({ plan: [{ action: 'spawn' }] });
  await engine.until(`web@${team}`, 'idle');
});

test('a runtime that starts while the pane host cannot be read shows what was last known', async () => {
  const engine = await startEngine();
  const team = await startShells(engine, 'web');
  const before = (await list(engine)).agents;
  const pid = hostPid(engine);
  process.kill(pid, 'SIGSTOP');
  try {
    await engine.restart();
    expect(await list(engine)).toEqual({
      agents: before.map((agent) => ({ ...agent, stale: true })),
      engine: { running: false, error: expect.any(String) },
    });
    expect(await engine.call('POST', `/agents/web@${team}/input`, { text: 'x' })).toMatchObject({ status: 502 });
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  await waitFor(
    () => list(engine),
    ({ agents }) => agents.every(({ stale, state }) => !stale && state === 'idle'),
  );
  expect((await list(engine)).agents[0]).toMatchObject({ id: before[0]?.id, pane: before[0]?.pane });
});
