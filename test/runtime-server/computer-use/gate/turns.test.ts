/** Calls of one turn: none after the first that did not work, and none twice. */
import { afterAll, expect, test } from 'vitest';
import { AppError } from '../../../../src/contracts/common/errors.ts';
import type { Store } from '../../../../src/kit/store/store.ts';
import { keepUntilEnd } from '../../../support/at-end.ts';
import { askedOf, at, click, codeOf, key, person, resultOf, startRig } from './rig.ts';

const stop = keepUntilEnd();
afterAll(stop);

const covered = { sort: 'page', code: 'element_covered', message: 'Covered.' } as const;

test('after the first call of a turn that fails the later ones are not executed; another turn is none of its business', async () => {
  const rig = await startRig();
  const call = (index: number, turn = 'turn_1') => rig.call({ ...click, turn_id: turn, call_index: index });
  await call(0);
  rig.script({ actFault: covered });
  await call(1);
  rig.script({});
  expect(await call(2)).toMatchObject({ executed: false, result: { is_error: true, error: { code: 'not_executed' } } });
  expect(resultOf(await call(0, 'turn_2')).is_error).toBe(false);
  expect(rig.done()).toHaveLength(3);
  await expect
    .poll(async () => (await rig.audit()).map((row) => row.outcome))
    .toEqual(['done', 'error', 'not_executed', 'done']);
});

test.each([
  ['is none of the contract', { member: 'left_clack' }],
  ['is outside of the frame', { input: at(9999, 1) }],
])('a call that %s stops its turn too, until it is sent right', async (_name, wrong) => {
  const rig = await startRig();
  await codeOf(rig.call({ ...click, ...wrong, turn_id: 't', call_index: 0 }));
  expect(resultOf(await rig.call({ ...click, turn_id: 't', call_index: 1 })).error?.code).toBe('not_executed');
  expect(resultOf(await rig.call({ ...click, turn_id: 't', call_index: 0 })).is_error).toBe(false);
  expect(resultOf(await rig.call({ ...click, turn_id: 't', call_index: 1 })).is_error).toBe(false);
  expect(rig.done()).toHaveLength(2);
});

test('without an index the turn stops for good', async () => {
  const rig = await startRig();
  rig.script({ actFault: covered });
  await rig.call({ ...click, turn_id: 't' });
  rig.script({});
  expect(resultOf(await rig.call({ ...click, turn_id: 't' })).error?.code).toBe('not_executed');
  expect(rig.done()).toHaveLength(1);
});

test('the same call of a turn again acts once, and answers what it answered', async () => {
  const rig = await startRig();
  rig.script({ text: 'Clicked.' });
  const call = { ...click, turn_id: 't', call_index: 0 };
  const outcomes = await Promise.all([rig.call(call), rig.call(call), rig.call(call)]);
  expect(outcomes.map((outcome) => outcome.kind === 'done' && outcome.executed)).toEqual([true, false, false]);
  expect(new Set(outcomes.map((outcome) => JSON.stringify(resultOf(outcome)))).size).toBe(1);
  await rig.close();
  const next = await startRig({ folder: rig.folder });
  expect(resultOf(await next.call(call)).content).toEqual([{ type: 'text', text: 'Clicked.' }]);
  expect(next.done()).toEqual(['left_click']);
  // Another caller's turn of the same name is another turn.
  await next.call(call, { ...person, holder: { kind: 'key', id: 'key:9' } });
  expect(next.done()).toHaveLength(2);
});

test.each([
  ['done', {}],
  ['error', { actFault: covered }],
] as const)('a call of a turn is answered once its end is durable: %s', async (outcome, script) => {
  const rig = await startRig();
  rig.script(script);
  await rig.call({ ...click, turn_id: 't', call_index: 0 });
  // Of the file itself, and without the time in which an end may wait.
  const rows = await rig.store.read((tx) => tx.all('SELECT outcome FROM computer_use_action'));
  expect(rows).toEqual([{ outcome }]);
});

test('a call of a turn whose end cannot be kept is no success, and is not done again', async () => {
  let full = false;
  const store = (real: Store): Store => ({
    ...real,
    write: (operation, options) =>
      real.write((tx) => {
        const value = operation(tx);
        if (full && tx.get(`SELECT 1 FROM computer_use_action WHERE outcome = 'done'`) !== undefined)
          throw new AppError('transport', 'The disk is full.', 'Make room.');
        return value;
      }, options),
  });
  const rig = await startRig({ store });
  full = true;
  const call = { ...click, turn_id: 't', call_index: 0 };
  await expect(rig.call(call)).rejects.toThrow('The disk is full.');
  expect(rig.lines.map(({ message }) => message)).toContain('The end of an action could not be saved.');
  full = false;
  expect(resultOf(await rig.call(call)).error?.code).toBe('unknown_end');
  expect(rig.done()).toEqual(['left_click']);
});

test('a place in a turn belongs to the call that was there first', async () => {
  const rig = await startRig();
  await rig.call({ ...click, turn_id: 't', call_index: 0 });
  expect(await codeOf(rig.call({ ...click, member: 'hover', turn_id: 't', call_index: 0 }))).toBe(
    'invalid_toolset_call',
  );
  expect(rig.done()).toEqual(['left_click']);
});

test('what only looks may look again', async () => {
  const rig = await startRig();
  const look = { toolset: 'browser', member: 'screenshot', input: {}, turn_id: 't', call_index: 0 } as const;
  const [first, second] = [resultOf(await rig.call(look)), resultOf(await rig.call(look))];
  expect(second).toEqual(first);
  expect(second.content).toMatchObject([{ type: 'image' }]);
});

test('a call that waits for a person holds back what comes after it, and goes on with its grant', async () => {
  const rig = await startRig();
  const first = { ...click, turn_id: 't', call_index: 0 };
  const { id } = askedOf(await rig.call(first, key));
  const second = { toolset: 'browser', member: 'screenshot', input: {}, turn_id: 't', call_index: 1 } as const;
  expect(resultOf(await rig.call(second, key)).error?.code).toBe('not_executed');
  await rig.questions.answer(id, { state: 'approved', by: 'ada' });
  expect(resultOf(await rig.call({ ...first, approval_grant: id }, key)).is_error).toBe(false);
  expect(resultOf(await rig.call(second, key)).is_error).toBe(false);
  expect(rig.done()).toEqual(['left_click', 'screenshot']);
});
