import { expect, test } from 'vitest';
import { question, startHook, withClaude } from '../asking-harness.ts';
import { type Engine, startEngine, waitFor } from '../engine.ts';

async function start(): Promise<Engine> {
  const engine = await startEngine({ env: withClaude() });
  engine.team('dev', 'bots:\n  - bot: web\n    harness: claude\n');
  await engine.call('POST', '/teams/dev/up', {});
  await engine.until('web@dev', 'idle');
  return engine;
}

const hook = async (engine: Engine, payload?: object) =>
  startHook(engine.home, (await engine.agent('web@dev')).id, payload);
const waiting = async (engine: Engine, count: number) =>
  (
    await waitFor(
      () => engine.call<{ approvals: string[] }>('GET', '/agents/web@dev/explain'),
      ({ body }) => body.approvals?.length === count,
    )
  ).body.approvals;
const answer = (engine: Engine, id: string, decision: 'approve' | 'reject', note: string | null = null) =>
  engine.approvals.answer({
    id,
    decision,
    note,
    resolvedBy: { user: 'user_local', surface: 'browser' },
    at: new Date().toISOString(),
  });

test('a hook waits through a restart of the engine and prints the answer to the same approval', async () => {
  const engine = await start();
  const first = await hook(engine);
  const [id = ''] = await waiting(engine, 1);
  expect(await engine.agent('web@dev')).toMatchObject({ state: 'needs_you', stateReason: 'asks to run: make it' });
  await engine.restart();
  expect(await waiting(engine, 1)).toEqual([id]);
  expect(await answer(engine, id, 'approve')).toBe('applied');
  const printed = `${JSON.stringify({ hookSpecificOutput: { hookEventName: 'PermissionRequest', decision: { behavior: 'allow' } } })}\n`;
  expect(await first.ended).toEqual({ code: 0, printed });
});

test('a hook that its harness killed withdraws the question, and a stopped bot leaves nothing to answer', async () => {
  const engine = await start();
  const killed = await hook(engine);
  const [id = ''] = await waiting(engine, 1);
  killed.child.kill('SIGKILL');
  await waiting(engine, 0);
  expect(await answer(engine, id, 'approve')).toBe('gone');
  const stopped = await hook(engine, { ...question, prompt_id: 'q' });
  await waiting(engine, 1);
  await engine.call('POST', '/teams/dev/down');
  expect(await stopped.ended).toEqual({ code: 0, printed: '' });
  expect(await engine.approvals.live()).toEqual([]);
});
