/** `gantry wait`: the exit code is the answer, and a Gantry that is started again is waited for. */
import { expect, test, vi } from 'vitest';
import { AppError } from '../../src/contracts/common/errors.ts';
import { startCombined } from '../../src/host/combined.ts';
import { placesIn } from '../../src/host/places.ts';
import { readSettings } from '../../src/host/settings.ts';
import { readTokenFile } from '../../src/kit/secrets/token-file.ts';
import { scratchHome } from '../host/support.ts';
import { run, startEngine } from './support.ts';

const waited = (outcome: string, change: object = {}) => ({
  kind: 'bot',
  id: 'agent_web',
  title: 'web@demo',
  state: 'idle',
  cause: null,
  reason: null,
  outcome,
  ...change,
});

test('the exit code says how the wait ended: 0 met, 5 a person is needed, 6 ended otherwise, 4 timed out', async () => {
  for (const [outcome, change, code, out] of [
    ['met', {}, 0, 'web@demo: idle.\n'],
    [
      'needs_you',
      { state: 'needs_you', reason: 'It asks.' },
      5,
      expect.stringMatching(/^web@demo: needs you, It asks\. See why: .* why web@demo\n$/),
    ],
    ['ended', { state: 'failed' }, 6, 'web@demo: failed.\n'],
    ['waiting', { state: 'working' }, 4, 'web@demo: working. Timed out waiting.\n'],
  ] as const) {
    const engine = await startEngine({ answers: { waitFor: () => waited(outcome, change) } });
    const ran = await run(engine.env, ['wait', 'web@demo', '--for', 'idle,done', '--timeout', '0']);
    expect([ran.code, ran.out, ran.err]).toEqual([code, out, '']);
    expect(engine.seen.find(({ op }) => op === 'waitFor')).toMatchObject({
      params: { id: 'web@demo' },
      query: { for: 'idle,done', seconds: 0 },
    });
  }
});

test('without a limit it asks again each time that the server answers', async () => {
  const answers = [waited('waiting'), waited('waiting'), waited('met')];
  const engine = await startEngine({ answers: { waitFor: () => answers.shift() } });
  const ran = await run(engine.env, ['wait', 'first', '--run', 'dag_1', '--json']);
  expect([ran.code, ran.json(), answers]).toEqual([0, waited('met'), []]);
  expect(engine.seen.filter(({ op }) => op === 'waitFor').map(({ query }) => query)).toEqual(
    Array.from({ length: 3 }, () => ({ run: 'dag_1', seconds: 30 })),
  );
});

test('an engine that was never there is an error at once; one that goes away meanwhile is waited for', async () => {
  const away = new AppError('transport', 'The home cloud cannot be reached.', 'Try again later.');
  const answers = [() => waited('waiting'), () => Promise.reject(away), () => waited('met')];
  const engine = await startEngine({ answers: { waitFor: () => answers.shift()?.() } });
  expect((await run(engine.env, ['wait', 'web@demo', '--timeout', '10m'])).code).toBe(0);
  const alone = await run({ GANTRY_HOME: scratchHome(), PATH: '' }, ['wait', 'web@demo', '--timeout', '10m']);
  expect(alone.code).toBe(3);
  const bad = await run({ GANTRY_HOME: scratchHome(), PATH: '' }, ['wait', 'web@demo', '--timeout', 'soon']);
  expect([bad.code, bad.err]).toEqual([64, expect.stringContaining('--timeout is "soon".')]);
});

test('a wait for a task and for an approval goes to the home, over a restart of it; an unknown one exits with 2', async () => {
  const home = scratchHome();
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: home,
    GANTRY_HOME: home,
    GANTRY_PORT: '0',
    GANTRY_ENGINE_PORT: '0',
  };
  const start = () => startCombined({ env, settings: readSettings(env), gantry: 'npx gantry', answers: 'throw' });
  const asked = vi.spyOn(globalThis, 'fetch');
  let gantry = await start();
  try {
    const call = async (path: string, body: object) => {
      const headers = {
        authorization: `Bearer ${readTokenFile(placesIn(home).token)}`,
        'content-type': 'application/json',
      };
      const answer = await fetch(`${gantry.origin}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
      return (await answer.json()) as { id: string };
    };
    const { id } = await call('/beta/work', {});
    expect((await run(env, ['wait', id, '--timeout', '0'])).code).toBe(4);
    const waiting = run(env, ['wait', id, '--timeout', '5m']);
    const cancelled = run(env, ['wait', id, '--for', 'cancelled', '--timeout', '5m', '--json']);
    await expect.poll(() => asked.mock.calls.filter(([url]) => String(url).includes('/wait')).length).toBe(3);
    await gantry.close({ stopBots: true });
    gantry = await start();
    await call(`/beta/work/${id}/stop`, {});
    expect((await waiting).code).toBe(6);
    expect((await cancelled).json()).toMatchObject({ kind: 'task', id, state: 'cancelled', outcome: 'met' });
    expect((await run(env, ['wait', 'task_unknown'])).code).toBe(2);
    expect((await run(env, ['wait', 'apr_00000000000000000000000000'])).code).toBe(2);
    expect((await run(env, ['wait', 'nobody@nowhere'])).code).toBe(2);
  } finally {
    await gantry.close({ stopBots: true });
    asked.mockRestore();
  }
});
