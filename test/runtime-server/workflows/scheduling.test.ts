import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openWorld, person, statuses, steps } from './support.ts';

test('steps run in the order of what they wait for, and give their output to those that come after', async () => {
  const world = await openWorld();
  world.template('chain', {
    params: [{ name: 'who', default: 'world' }],
    ...steps({
      a: { command: 'echo hello {{ params.who }}' },
      b: { command: 'echo "[{{ step.a.output }}]" > seen', blocked_by: ['a'] },
    }),
  });
  const { dagId } = await world.run('chain', { params: { who: '$(touch pwned); x' } });
  const flow = await world.settled(dagId);
  expect(statuses(flow)).toEqual({ a: 'done', b: 'done' });
  expect(flow.status).toBe('done');
  expect(readFileSync(join(world.folder, 'workspace', 'seen'), 'utf8')).toBe('[hello $(touch pwned); x]\n');
  const page = await world.pages.node(dagId, 'a');
  expect(page.output).toBe('hello $(touch pwned); x');
  expect(page.proofs).toMatchObject([{ line: 'The command ends with status 0', outcome: 'proven' }]);
  expect(readFileSync(join(world.folder, 'workspace', page.proofs[0]?.path ?? ''), 'utf8')).toBe(
    'hello $(touch pwned); x\n',
  );
});

test('a failed step with stop lets running siblings finish and starts nothing new', async () => {
  const world = await openWorld();
  world.template(
    't',
    steps({
      bad: { command: 'sleep 0.1; echo broken; exit 3' },
      sibling: { command: 'sleep 0.4' },
      after: { blocked_by: ['sibling'] },
      below: { blocked_by: ['bad'] },
    }),
  );
  const { dagId } = await world.run('t');
  const flow = await world.settled(dagId);
  expect(statuses(flow)).toEqual({ bad: 'failed', sibling: 'done', after: 'blocked', below: 'blocked' });
  expect(flow.status).toBe('failed');
  expect(await world.node(dagId, 'below')).toMatchObject({ cause: 'parent_failed', detail: 'bad failed.' });
  expect(await world.node(dagId, 'after')).toMatchObject({ cause: 'run_stopped' });
  expect(await world.node(dagId, 'bad')).toMatchObject({
    cause: 'exit_status',
    detail: 'It ended with status 3. broken',
  });
});

test('a person retries a failed step and what it held back goes on', async () => {
  const world = await openWorld();
  world.template('t', steps({ a: { command: 'test -e ok' }, b: { blocked_by: ['a'] } }));
  const { dagId } = await world.run('t');
  expect((await world.settled(dagId)).status).toBe('failed');
  const { writeFileSync } = await import('node:fs');
  writeFileSync(join(world.folder, 'workspace', 'ok'), '');
  await world.verbs.retry({ dagId, nodeId: 'a' }, person);
  const flow = await world.settled(dagId);
  expect(statuses(flow)).toEqual({ a: 'done', b: 'done' });
  expect((await world.node(dagId, 'a')).attempt).toBe(2);
});
