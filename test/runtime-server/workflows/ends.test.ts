/** Of what is too long the end is kept: that is where an output has its error. */
import { expect, test } from 'vitest';
import { toShell } from '../../../src/runtime-server/workflows/template/shell-text.ts';
import { withEnd } from '../../../src/runtime-server/workflows/work.ts';
import { openWorld } from './support.ts';

const steps = (command: string) => ({
  name: 'Ends',
  steps: [
    { id: 'first', title: 'First', command, on_fail: 'continue' },
    { id: 'second', title: 'Second', blocked_by: ['first'], command: 'printf %s {{ step.first.output }}' },
  ],
});

test('a failed step’s reason, and what later steps get of its output, end as the output ended', async () => {
  const world = await openWorld();
  world.template('t', steps('yes a line that fills | head -n 20000; echo THE ERROR; exit 1'));
  const { dagId } = await world.run('t');
  await world.settled(dagId);
  const first = await world.node(dagId, 'first');
  expect(first.detail).toMatch(/^It ended with status 1\..*THE ERROR$/s);
  const { results } = await world.pages.results(dagId);
  expect(results.map(({ output }) => output.endsWith('THE ERROR'))).toEqual([true, true]);
});

test('a reason keeps what failed and how it ended, however long it is', () => {
  const kept = withEnd(`The check failed. ${'x'.repeat(9000)} THE ERROR`, 4000);
  expect(kept).toMatch(/^The check failed\..* … .* THE ERROR$/);
  expect(kept).toHaveLength(4000);
  expect(withEnd('short', 4000)).toBe('short');
});

test('a value that no environment could hold loses its beginning', () => {
  const { env } = toShell('echo {{ intent }}', () => `${'x'.repeat(100_000)} THE ERROR`);
  expect(Object.values(env)[0]).toMatch(/ THE ERROR$/);
});
