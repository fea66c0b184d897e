/** Waiting for the state of a bot, a run or a step over HTTP. */
import { expect, test } from 'vitest';
import type { Waited } from '../../../src/contracts/common/waiting.ts';
import { sharedEngine, through } from '../engine.ts';
import { makeBusy, newTeam, startShells } from '../shells.ts';

const shared = sharedEngine();
const wait = (id: string, query: Record<string, string> = {}, options = {}) =>
  shared.current.call<Waited>('GET', `/wait/${id}?${new URLSearchParams(query)}`, undefined, options);

async function startRun(steps: object[]): Promise<string> {
  const engine = shared.current;
  engine.write('.gantry/templates/waited.json', JSON.stringify({ name: 'Waited for', steps }));
  const run = await engine.call<{ dagId: string }>('POST', '/runs', { template: 'waited', projectId: 'waits' });
  expect(run.status).toBe(200);
  return run.body.dagId;
}

test('a wait for a bot ends when it has the state, and says which; for one that is stopped it does not go on', async () => {
  const engine = shared.current;
  const team = await startShells(engine, 'web');
  expect((await wait(`web@${team}`)).body).toMatchObject({ kind: 'bot', state: 'idle', outcome: 'met' });
  const free = await makeBusy(engine, `web@${team}`);
  const waiting = wait(`web@${team}`);
  expect((await wait(`web@${team}`, { seconds: '0' })).body).toMatchObject({ state: 'working', outcome: 'waiting' });
  free();
  expect((await waiting).body).toMatchObject({ title: `web@${team}`, state: 'idle', outcome: 'met' });
  await engine.call('POST', `/teams/${team}/down`, {});
  expect((await wait(`web@${team}`)).body).toMatchObject({ state: 'offline', outcome: 'ended' });
  expect((await wait(`web@${team}`, { for: 'offline' })).body).toMatchObject({ state: 'offline', outcome: 'met' });
});

test('after a restart of the engine a bot that worked on is waited for as before', async () => {
  const engine = shared.current;
  const team = await startShells(engine, 'web');
  const free = await makeBusy(engine, `web@${team}`);
  await engine.restart();
  const { body } = await wait(`web@${team}`, { seconds: '0' });
  expect([body.outcome, body.state]).toEqual(['waiting', expect.stringMatching(/^(?:starting|working)$/)]);
  const waiting = wait(`web@${team}`);
  free();
  expect((await waiting).body).toMatchObject({ state: 'idle', outcome: 'met' });
});

test('waits for a run and its steps end with the moves: done, failed, behind a failed one, and a person who is needed', async () => {
  const engine = shared.current;
  const dagId = await startRun([
    { id: 'first', title: 'First', command: 'until [ -e go-on ]; do sleep 0.05; done' },
    { id: 'second', title: 'Second', command: 'exit 3', blocked_by: ['first'] },
    { id: 'third', title: 'Third', command: 'true', blocked_by: ['second'] },
  ]);
  const waits = [
    wait(dagId),
    wait('first', { run: dagId }),
    wait('second', { run: dagId }),
    wait('third', { run: dagId }),
  ];
  expect((await wait(dagId, { seconds: '0' })).body).toMatchObject({
    kind: 'run',
    state: 'running',
    outcome: 'waiting',
  });
  engine.write('go-on', '');
  const [run, first, second, third] = (await Promise.all(waits)).map(({ body }) => body);
  expect(first).toMatchObject({ kind: 'step', title: 'First', state: 'done', outcome: 'met' });
  expect(second).toMatchObject({ state: 'failed', cause: 'exit_status', outcome: 'ended' });
  expect(third).toMatchObject({ state: 'blocked', outcome: 'ended' });
  expect(run).toMatchObject({ id: dagId, title: 'Waited for', state: 'failed', outcome: 'ended' });
  // By the id of its node, too.
  expect((await wait(second!.id)).body).toMatchObject({ id: second!.id, state: 'failed' });

  const gated = await startRun([
    { id: 'gated', title: 'Gated', command: 'true', wait_gate: { kind: 'manual', description: 'Go?' } },
  ]);
  expect((await wait(gated)).body).toMatchObject({ state: 'needs_you', outcome: 'needs_you' });
  expect((await wait('gated', { run: gated })).body).toMatchObject({ state: 'needs_you', outcome: 'needs_you' });
  expect((await wait(gated, { for: 'needs_you' })).body.outcome).toBe('met');
});

test('an unknown thing is not found, an unknown state is a wrong question, also through the link', async () => {
  const engine = shared.current;
  const team = newTeam(engine, 'web');
  expect(await wait('nobody@nowhere')).toMatchObject({ status: 404 });
  expect(await wait('first', { run: 'dag_00000000000000000000000000' })).toMatchObject({ status: 404 });
  await engine.agree();
  const wrong = await wait(`web@${team}`, { for: 'finished' }, through('browser'));
  expect(wrong).toMatchObject({ status: 400, body: { error: { fact: '"finished" is not a state of a bot.' } } });
  expect(await wait(`web@${team}`, { seconds: '31' })).toMatchObject({ status: 400 });
});
