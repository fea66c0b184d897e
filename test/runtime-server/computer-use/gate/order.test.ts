/** The stages of the gate as an order: a fault in one, and nothing after it happens; the audit says where it ended. */
import { afterAll, describe, expect, test } from 'vitest';
import { AppError } from '../../../../src/contracts/common/errors.ts';
import type { Store } from '../../../../src/kit/store/store.ts';
import { keepUntilEnd } from '../../../support/at-end.ts';
import { askedOf, at, click, codeOf, key, person, resultOf, runOf, startRig } from './rig.ts';

const stop = keepUntilEnd();
afterAll(stop);

const stages = (rows: readonly { stage: string; outcome: string }[]) => rows.map((row) => [row.stage, row.outcome]);

describe('a fault in one stage', () => {
  test('contract: what is no call of the toolset is never looked at, and the audit has it', async () => {
    const rig = await startRig();
    const bad = [
      { ...click, member: 'left_clack' },
      { ...click, input: {} },
      { ...click, input: at('10', 20) },
      { ...click, input: at(Number.NaN, 20) },
      { ...click, input: { ...at(1, 2), button: 'left' } },
      { toolset: 'computer', member: 'left_click', input: { coordinate: [1] } } as const,
      { toolset: 'browser', member: 'javascript_exec', input: { text: '1' } } as const,
      { toolset: 'browser', member: 'wait', input: { duration: 31 } } as const,
    ];
    for (const call of bad) expect(await codeOf(rig.call(call))).toBe('invalid_toolset_call');
    expect(rig.acts()).toEqual([]);
    expect(stages(await rig.audit())).toEqual(bad.map(() => ['contract', 'invalid']));
  });

  test('contract: coordinates outside of the frame do not act, in whatever space they are', async () => {
    const rig = await startRig();
    for (const call of [
      { ...click, input: at(1280, 20) },
      { ...click, input: at(10, -1) },
      { ...click, input: at(1001, 20), coordinate_space: 'normalized_1000' as const },
      { ...click, input: at(640, 20), model_frame: { width: 640, height: 400 } },
      { toolset: 'browser', member: 'zoom', input: { region: [10, 10, 10, 20] } } as const,
    ]) {
      expect(await codeOf(rig.call(call))).toBe('invalid_toolset_call');
    }
    expect(rig.done()).toEqual([]);
    expect(new Set(stages(await rig.audit()).map(String))).toEqual(new Set(['contract,invalid']));
  });

  test('lease: while a person has control nothing of a run is looked at, decided or done', async () => {
    const rig = await startRig();
    rig.gate.control.take({ kind: 'person', id: 'user_local' });
    expect(await codeOf(rig.call(click, runOf('run_1')))).toBe('take_control_first');
    expect(rig.acts()).toEqual([]);
    expect(stages(await rig.audit())).toEqual([['lease', 'no_control']]);
  });

  test('look: a browser that is gone ends the call before anything is decided', async () => {
    const rig = await startRig({ policy: 'rules:\n  - when: {tool: browser}\n    then: deny\n' });
    rig.script({ lookFault: { sort: 'device', code: 'browser_crashed', message: 'It is gone.' } });
    expect(await codeOf(rig.call(click))).toBe('browser_crashed');
    expect(rig.done()).toEqual([]);
    expect(stages(await rig.audit())).toEqual([['look', 'failed']]);
  });

  test('policy: what a rule denies asks nobody and does nothing', async () => {
    const rig = await startRig({
      policy: 'rules:\n  - when: {tool: browser, host: site.test}\n    then: deny\n    reason: not here\n',
    });
    const outcome = await rig.call(click);
    expect(outcome).toMatchObject({ kind: 'denied', rule: '.gantry/policy.yaml line 2: not here' });
    expect(rig.done()).toEqual([]);
    expect(stages(await rig.audit())).toEqual([['policy', 'denied']]);
  });

  test('approval: without an answer, and after a no, nothing is done', async () => {
    const rig = await startRig();
    const { id } = askedOf(await rig.call(click, key));
    await rig.questions.answer(id, { state: 'denied', by: 'ada' });
    expect(await codeOf(rig.call({ ...click, approval_grant: id }, key))).toBe('approval_denied');
    expect(rig.done()).toEqual([]);
    expect(stages(await rig.audit())).toEqual([
      ['approval', 'approval_required'],
      ['approval', 'denied'],
    ]);
  });

  test('audit: when its row cannot be kept, the action does not happen', async () => {
    let full = false;
    const rig = await startRig({
      store: (store): Store => ({
        ...store,
        read: store.read,
        trouble: store.trouble,
        close: store.close,
        write: (operation) =>
          full
            ? Promise.reject(new AppError('transport', 'The disk is full.', 'Free some space.'))
            : store.write(operation),
      }),
    });
    await rig.call({ toolset: 'browser', member: 'screenshot', input: {} });
    full = true;
    await expect(rig.call(click)).rejects.toThrow('The disk is full.');
    expect(rig.done()).toEqual(['screenshot']);
    full = false;
    expect(resultOf(await rig.call(click)).is_error).toBe(false);
    expect(rig.done()).toEqual(['screenshot', 'left_click']);
  });

  test('action: what the page refuses is an answer, what the device refuses an error; both rows are closed', async () => {
    const rig = await startRig();
    rig.script({ actFault: { sort: 'page', code: 'element_covered', message: 'A banner lies over it.' } });
    expect(resultOf(await rig.call(click))).toMatchObject({
      is_error: true,
      error: { code: 'element_covered', message: 'A banner lies over it.' },
    });
    rig.script({ actFault: { sort: 'device', code: 'browser_crashed', message: 'Gone.', unknownEnd: true } });
    expect(await codeOf(rig.call(click))).toBe('browser_crashed');
    await expect
      .poll(async () => stages(await rig.audit()))
      .toEqual([
        ['action', 'error'],
        ['action', 'unknown'],
      ]);
  });
});

test('the row of an action is durable before the executor hears of it', async () => {
  const rig = await startRig();
  rig.script({ hang: true });
  const leave = new AbortController();
  const call = rig.call(click, person, leave.signal);
  await expect.poll(rig.done).toEqual(['left_click']);
  expect(stages(await rig.audit())).toEqual([['action', 'started']]);
  leave.abort();
  expect(resultOf(await call).error?.code).toBe('cancelled');
  await expect.poll(async () => stages(await rig.audit())).toEqual([['action', 'cancelled']]);
});

test('what was under way when the program ended is unknown after the next start, and nothing is done again', async () => {
  const first = await startRig();
  await first.store.write((tx) => {
    tx.run(
      `INSERT INTO computer_use_action (id, user, surface, holder_kind, holder_id, place, toolset, member, input, stage, outcome, at,
        acts, turn_id, call_index) VALUES ('act_1', 'u', 's', 'key', 'browser', 'browser:default', 'browser', 'left_click', '{}',
        'action', 'started', 1, 1, 'turn_1', 0)`,
    );
  });
  await first.hands.start();
  expect(stages(await first.audit())).toEqual([['action', 'unknown']]);
  const again = await first.call({ ...click, turn_id: 'turn_1', call_index: 0 });
  expect(again).toMatchObject({ executed: false, result: { is_error: true, error: { code: 'unknown_end' } } });
  expect(first.done()).toEqual([]);
});

test('an executor that dies is started again at the next call; the action it died in is not repeated', async () => {
  const rig = await startRig();
  rig.script({ dieAt: 'act' });
  expect(await codeOf(rig.call(click))).toBe('browser_crashed');
  rig.script({});
  expect(resultOf(await rig.call({ toolset: 'browser', member: 'screenshot', input: {} })).is_error).toBe(false);
  expect(rig.done()).toEqual(['left_click', 'screenshot']);
  expect(rig.acts().filter((line) => line.do === 'open')).toHaveLength(2);
  await expect
    .poll(async () => stages(await rig.audit()))
    .toEqual([
      ['action', 'unknown'],
      ['action', 'done'],
    ]);
});

test('calls of one place wait for each other; those of another do not', async () => {
  const rig = await startRig();
  rig.script({ hang: true });
  const leave = new AbortController();
  const first = rig.call(click, person, leave.signal);
  await expect.poll(rig.done).toEqual(['left_click']);
  const second = rig.call({ ...click, member: 'hover' });
  const elsewhere = rig.call({ toolset: 'computer', member: 'left_click', input: { coordinate: [1, 2] } });
  await expect.poll(rig.done).toHaveLength(2);
  expect(
    rig
      .acts()
      .filter((line) => line.do === 'act')
      .at(-1),
  ).toMatchObject({ place: { kind: 'desktop' } });
  await rig.gate.stop({ kind: 'desktop' });
  rig.script({});
  leave.abort();
  await Promise.all([first, second, elsewhere]);
  expect(rig.done()).toEqual(['left_click', 'left_click', 'hover']);
});

test('as many calls at once as anybody likes open no more than eight browsers', async () => {
  const rig = await startRig();
  const sessions = Array.from({ length: 12 }, (_, index) => `session-${index}`);
  const look = (browser_session_id: string) =>
    rig.call({ toolset: 'browser', member: 'screenshot', input: {}, browser_session_id });
  const said = await Promise.all(sessions.map((id) => codeOf(look(id))));
  expect(said.filter((code) => code === 'concurrency_limit')).toHaveLength(4);
  const opened = () => rig.acts().filter((line) => line.do === 'open').length;
  expect(opened()).toBe(8);
  // One that is open still answers.
  expect((await look('session-0')).kind).toBe('done');
  expect(opened()).toBe(8);
});

test('a ninth browser is opened in the place of the one idle longest, never of one at work or of a run', async () => {
  const rig = await startRig();
  const look = (browser_session_id: string) =>
    rig.call({ toolset: 'browser', member: 'screenshot', input: {}, browser_session_id });
  const closed = () => rig.acts().flatMap((line) => (line.do === 'close' ? [[line.session, line.wipe]] : []));
  await rig.gate.sessions.open('of a run', { headless: true, trace: false });
  await look('at work');
  for (let index = 0; index < 6; index += 1) await look(`idle-${index}`);
  await look('idle-0');
  rig.script({ hang: true });
  const working = look('at work');
  await expect.poll(() => rig.done()).toHaveLength(9);
  rig.script({});
  expect((await look('default')).kind).toBe('done');
  // Its profile stays.
  expect(closed()).toEqual([['idle-1', false]]);
  // Once none can leave, it is said.
  for (const id of ['idle-2', 'idle-3', 'idle-4', 'idle-5', 'idle-0', 'default']) {
    await rig.gate.sessions.open(id, { headless: true, trace: false });
  }
  expect(await codeOf(look('one too many'))).toBe('concurrency_limit');
  await rig.gate.stop({ kind: 'browser', session: 'at work' });
  await working;
  expect((await look('one more')).kind).toBe('done');
  expect(closed()).toEqual([
    ['idle-1', false],
    ['at work', false],
  ]);
});
