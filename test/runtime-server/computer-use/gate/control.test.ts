/** Who may act: the lease, and what becomes of what is under way when it changes hands. */
import { afterAll, expect, test } from 'vitest';
import { keepUntilEnd } from '../../../support/at-end.ts';
import { click, codeOf, key, person, resultOf, runOf, startRig } from './rig.ts';

const stop = keepUntilEnd();
afterAll(stop);

const ada = { kind: 'person', id: 'user_local' } as const;

test('a call takes control for its run, keeps it for 60 s from the last call, and then another may', async () => {
  const rig = await startRig();
  const changes: string[] = [];
  rig.gate.onControl(({ why, control }) => changes.push(`${why} ${control.holder?.id ?? 'nobody'}`));
  await rig.call(click, runOf('run_1'));
  expect(rig.gate.control.now().holder).toEqual({ kind: 'run', id: 'run_1' });
  await rig.clock.advance(40_000);
  await rig.call(click, runOf('run_1'));
  await rig.clock.advance(40_000);
  expect(await codeOf(rig.call(click, runOf('run_2')))).toBe('take_control_first');
  await rig.clock.advance(20_000);
  expect(rig.gate.control.now()).toEqual({ holder: null, since: null, expires_at: null });
  await rig.call(click, runOf('run_2'));
  expect(changes).toEqual(['taken run_1', 'expired nobody', 'taken run_2']);
});

test('of two runs one acts; a key is kept out by a run, and keeps nobody out itself', async () => {
  const rig = await startRig({ policy: 'rules:\n  - when: {tool: browser}\n    then: allow\n' });
  await rig.call(click, key);
  await rig.call(click, runOf('run_1'));
  expect(await codeOf(rig.call(click, runOf('run_2')))).toBe('take_control_first');
  expect(await codeOf(rig.call(click, key))).toBe('take_control_first');
  expect(rig.gate.control.release({ kind: 'run', id: 'run_2' }).holder?.id).toBe('run_1');
  expect(rig.gate.control.release({ kind: 'run', id: 'run_1' }).holder).toBeNull();
  await rig.call(click, key);
  expect(rig.done()).toHaveLength(3);
});

test('a person who takes control stops what a run does at once; the run hears of it and is kept out', async () => {
  const rig = await startRig();
  rig.script({ hang: true });
  const heard: string[] = [];
  rig.gate.onControl(({ why, control }) => heard.push(`${why} ${control.holder?.kind}`));
  const call = rig.call(click, runOf('run_1'));
  await expect.poll(rig.done).toEqual(['left_click']);
  rig.gate.control.take(ada);
  expect(resultOf(await call)).toMatchObject({ is_error: true, error: { code: 'cancelled' } });
  expect(heard).toEqual(['taken run', 'taken person']);
  rig.script({});
  expect(await codeOf(rig.call(click, runOf('run_1')))).toBe('take_control_first');
  await rig.call(click, { ...person, holder: ada });
  expect(() => rig.gate.control.take({ kind: 'run', id: 'run_1' })).toThrow('A person has control');
  await rig.clock.advance(59_000);
  rig.gate.control.renew(ada);
  await rig.clock.advance(59_000);
  expect(rig.gate.control.now().holder).toEqual(ada);
  rig.gate.control.release(ada);
  expect(resultOf(await rig.call(click, runOf('run_1'))).is_error).toBe(false);
});

test('what waits behind an action of a run is not done once a person has control', async () => {
  const rig = await startRig();
  rig.script({ hang: true });
  const first = rig.call(click, runOf('run_1'));
  await expect.poll(rig.done).toEqual(['left_click']);
  const second = codeOf(rig.call(click, runOf('run_1')));
  rig.gate.control.take(ada);
  await first;
  expect(await second).toBe('take_control_first');
  expect(rig.done()).toEqual(['left_click']);
  await expect.poll(async () => (await rig.audit()).map((row) => row.outcome)).toEqual(['cancelled', 'no_control']);
});

test('mouse or keyboard used by somebody else stops a run, and its owner hears of it', async () => {
  const rig = await startRig();
  rig.script({ hang: true });
  const heard: string[] = [];
  rig.gate.onControl(({ why }) => heard.push(why));
  const call = rig.call(click, runOf('run_1'));
  await expect.poll(rig.done).toEqual(['left_click']);
  // Told while another session opens: the program of the test says so then.
  rig.script({ events: [{ event: 'elsewhere', place: { kind: 'browser', session: 'default' } }] });
  await rig.gate.sessions.open('other', { headless: true, trace: false });
  expect(resultOf(await call).error?.code).toBe('cancelled');
  expect(heard).toEqual(['taken', 'elsewhere']);
});

test('a caller that leaves stops its action, and one that left before it began does nothing', async () => {
  const rig = await startRig();
  rig.script({ hang: true });
  const [first, second] = [new AbortController(), new AbortController()];
  const one = rig.call(click, person, first.signal);
  const other = rig.call(click, person, second.signal);
  await expect.poll(rig.done).toEqual(['left_click']);
  second.abort();
  first.abort();
  expect(resultOf(await one).error?.code).toBe('cancelled');
  await expect(other).rejects.toThrow();
  expect(rig.done()).toEqual(['left_click']);
});

test('control is renewed only by who has it: whoever lost it, or never took it, is told so', async () => {
  const rig = await startRig();
  expect(() => rig.gate.control.renew(ada)).toThrow('You no longer have control');
  expect(rig.gate.control.now().holder).toBeNull();
  rig.gate.control.take(ada);
  await rig.clock.advance(61_000);
  expect(() => rig.gate.control.renew(ada)).toThrow('You no longer have control');
  expect(rig.gate.control.now().holder).toBeNull();
});
