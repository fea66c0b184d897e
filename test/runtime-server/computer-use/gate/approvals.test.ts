/** What a person is asked, and what an answer is good for: one action, once, while it is still what they saw. */
import { afterAll, expect, test } from 'vitest';
import { keepUntilEnd } from '../../../support/at-end.ts';
import { askedOf, at, click, codeOf, key, person, type Rig, resultOf, runOf, startRig } from './rig.ts';

const stop = keepUntilEnd();
afterAll(stop);

const approve = (rig: Rig, id: string) => rig.questions.answer(id, { state: 'approved', by: 'ada' });

test('before the answer the same question, after it one action, after that a new question', async () => {
  const rig = await startRig();
  const heard: string[] = [];
  rig.gate.onApproval((id, state, by) => heard.push(`${id} ${state} ${by}`));
  const { id } = askedOf(await rig.call(click, key));
  expect(askedOf(await rig.call({ ...click, approval_grant: id }, key)).id).toBe(id);
  expect(askedOf(await rig.call(click, key)).id).toBe(id);
  expect(await approve(rig, id)).toBe('applied');
  expect(rig.gate.approvalState(id)).toBe('approved');
  expect(resultOf(await rig.call({ ...click, approval_grant: id }, key)).is_error).toBe(false);
  expect(rig.gate.approvalState(id)).toBe('used');
  const next = askedOf(await rig.call({ ...click, approval_grant: id }, key));
  expect(next.id).not.toBe(id);
  expect(rig.done()).toEqual(['left_click']);
  expect(heard).toEqual([`${id} approved ada`]);
  await expect
    .poll(async () => (await rig.audit()).map((row) => [row.stage, row.outcome, row.approval_id]))
    .toEqual([
      ['approval', 'approval_required', id],
      ['action', 'done', id],
      ['approval', 'approval_required', next.id],
    ]);
});

test('a grant opens nothing but the call that was asked about', async () => {
  const rig = await startRig();
  const { id } = askedOf(await rig.call(click, key));
  await approve(rig, id);
  const others = [
    rig.call({ ...click, input: at(10, 21), approval_grant: id }, key),
    rig.call({ ...click, member: 'right_click', approval_grant: id }, key),
    rig.call({ ...click, browser_session_id: 'other', approval_grant: id }, key),
    rig.call({ ...click, approval_grant: id }, { ...key, holder: { kind: 'key', id: 'key:2' } }),
    rig.call({ ...click, approval_grant: 'apr_00000000000000000000000000' }, key),
  ];
  for (const other of others) expect(askedOf(await other).id).not.toBe(id);
  expect(rig.done()).toEqual([]);
  // The right one is still good.
  await rig.call({ ...click, approval_grant: id }, key);
  expect(rig.done()).toEqual(['left_click']);
});

test.each([
  ['the page is another', { url: 'https://site.test/other' }],
  ['the element is another', { element: 'button "Delete"' }],
])('asked anew: %s', async (_name, looked) => {
  const rig = await startRig();
  rig.script({ looked: { element: 'button "Send"' } });
  const { id } = askedOf(await rig.call(click, key));
  await approve(rig, id);
  rig.script({ looked: { element: 'button "Send"', ...looked } });
  const anew = askedOf(await rig.call({ ...click, approval_grant: id }, key));
  expect(anew.id).not.toBe(id);
  expect(rig.gate.approvalState(id)).toBe('expired');
  rig.script({ looked: { element: 'button "Send"' } });
  expect(askedOf(await rig.call({ ...click, approval_grant: id }, key)).id).not.toBe(id);
  expect(rig.done()).toEqual([]);
});

test('a yes that nobody came back for within ten minutes is asked anew; a question that nobody answers ends', async () => {
  const rig = await startRig();
  const { id } = askedOf(await rig.call(click, key));
  await approve(rig, id);
  await rig.clock.advance(10 * 60_000 + 1);
  const late = askedOf(await rig.call({ ...click, approval_grant: id }, key));
  expect(late.id).not.toBe(id);
  await rig.clock.advance(60 * 60_000 + 1);
  await expect.poll(() => rig.gate.approvalState(late.id)).toBe('expired');
  expect(rig.done()).toEqual([]);
});

test('what waited when the program ended has expired at the next start', async () => {
  const rig = await startRig();
  const { id } = askedOf(await rig.call(click, key));
  await rig.close();
  const next = await startRig({ folder: rig.folder });
  expect(askedOf(await next.call({ ...click, approval_grant: id }, key)).id).not.toBe(id);
});

test('by default acting asks outside of what a person started, and what cannot be taken back always does; hosted only that', async () => {
  const script = {
    toolset: 'browser',
    member: 'javascript_exec',
    input: { text: '1' },
    enable: ['javascript_exec'],
  } satisfies Parameters<Rig['call']>[0];
  const verdicts = async (rig: Rig) => [
    (await rig.call({ toolset: 'browser', member: 'screenshot', input: {} }, key)).kind,
    (await rig.call(click, key)).kind,
    (await rig.call(click, person)).kind,
    (await rig.call(script, person)).kind,
  ];
  expect(await verdicts(await startRig())).toEqual(['done', 'approval_required', 'done', 'approval_required']);
  expect(await verdicts(await startRig({ defaults: 'hosted' }))).toEqual(['done', 'done', 'done', 'approval_required']);
});

test('a run that asks before every step asks, one that asks nobody is refused instead, and looking is free', async () => {
  const rig = await startRig();
  const always = runOf('run_1', { approvals: 'always', task: 'Send the form.' });
  expect(askedOf(await rig.call(click, always)).words).toContain('Task of the run: Send the form.');
  expect((await rig.call({ toolset: 'browser', member: 'screenshot', input: {} }, always)).kind).toBe('done');
  const never = runOf('run_1', { approvals: 'never' });
  rig.script({ looked: { credential: true } });
  const type = { toolset: 'browser', member: 'type', input: { text: 'hunter2' } } as const;
  expect(await rig.call(type, never)).toMatchObject({
    kind: 'denied',
    rule: 'default: risky actions need approval, and the run asks nobody',
  });
  expect(rig.done()).toEqual(['screenshot']);
});

test('a model asks before it acts on a site that nobody named, once for each', async () => {
  const rig = await startRig();
  const model = runOf('run_1', { byModel: true, task: 'Go to https://shop.test/ and buy nothing.' });
  const open = (url: string, more = {}) =>
    rig.call({ toolset: 'browser', member: 'navigate', input: { url }, ...more }, model);
  expect((await open('https://shop.test/cart')).kind).toBe('done');
  expect((await open('https://shop.test.evil.test/')).kind).toBe('approval_required');
  const { id, words } = askedOf(await open('https://evil.test/?q=secret'));
  expect(words).toContain('url: https://evil.test/?q=secret');
  await approve(rig, id);
  expect((await open('https://evil.test/?q=secret', { approval_grant: id })).kind).toBe('done');
  expect((await open('https://evil.test/more')).kind).toBe('done');
  // Led there by a link: acting asks just the same.
  rig.script({ looked: { url: 'https://third.test/' } });
  expect((await rig.call(click, model)).kind).toBe('approval_required');
  expect((await rig.call({ toolset: 'browser', member: 'get_page_text', input: {} }, model)).kind).toBe('done');
});

test('what is typed into a credential field stands nowhere but in the field', async () => {
  const secret = 'correct horse battery staple';
  const rig = await startRig();
  rig.script({ looked: { credential: true, element: 'textbox "Password"' }, text: `Typed ${secret}.` });
  const type = { toolset: 'browser', member: 'type', input: { text: secret } } as const;
  const set = {
    toolset: 'browser',
    member: 'form_input',
    input: { target: { type: 'ref', ref: 'r1' }, value: secret },
  } as const;
  for (const call of [type, set]) {
    const asked = await rig.call(call, person);
    const { id } = askedOf(asked);
    await approve(rig, id);
    expect(JSON.stringify(asked)).not.toContain(secret);
    await rig.call({ ...call, approval_grant: id, turn_id: `turn_${call.member}`, call_index: 0 }, person);
  }
  rig.script({
    looked: { credential: true },
    actFault: { sort: 'page', code: 'not_editable', message: `No ${secret}.` },
  });
  const again = askedOf(await rig.call(type, person));
  await approve(rig, again.id);
  await rig.call({ ...type, approval_grant: again.id }, person);
  expect(
    rig
      .acts()
      .filter((line) => line.do === 'act')
      .map(({ input }) => input),
  ).toEqual([type.input, set.input, type.input]);
  await rig.close();
  const { readdirSync, readFileSync } = await import('node:fs');
  const kept = readdirSync(rig.folder).filter((name) => name.startsWith('runtime.db'));
  expect(kept.length).toBeGreaterThan(0);
  for (const name of kept) expect(readFileSync(`${rig.folder}/${name}`, 'latin1')).not.toContain('horse battery');
  expect(JSON.stringify(rig.lines)).not.toContain('horse battery');
});

test('a person who has taken control types their own password without being asked', async () => {
  const rig = await startRig();
  rig.script({ looked: { credential: true } });
  const ada = { ...person, holder: { kind: 'person', id: 'user_local' } } as const;
  rig.gate.control.take(ada.holder);
  expect((await rig.call({ toolset: 'browser', member: 'type', input: { text: 'hunter2' } }, ada)).kind).toBe('done');
  const [row] = await rig.audit();
  expect(row?.input).toBe('{"text":"••••"}');
});

test('a question in a hosted computer is answered once, and one that nobody waits for is gone', async () => {
  const rig = await startRig();
  const { id } = askedOf(await rig.call(click, key));
  expect(await rig.questions.answer(id, { state: 'denied', by: 'ada' })).toBe('applied');
  expect(await rig.questions.answer(id, { state: 'approved', by: 'eve' })).toBe('gone');
  expect(rig.gate.approvalState(id)).toBe('denied');
  expect(await codeOf(rig.call({ ...click, approval_grant: id }, key))).toBe('approval_denied');
});

test('a password in an address is in no row and no question', async () => {
  const rig = await startRig();
  const open = {
    toolset: 'browser',
    member: 'navigate',
    input: { url: 'https://ada:hunter2@site.test/a:b@c' },
  } as const;
  const asked = await rig.call(open, key);
  expect(askedOf(asked).words).toContain('url: https://ada:••••@site.test/a:b@c');
  await approve(rig, askedOf(asked).id);
  await rig.call({ ...open, approval_grant: askedOf(asked).id }, key);
  expect(rig.acts().at(-1)).toMatchObject({ input: open.input });
  expect(JSON.stringify([asked, await rig.audit()])).not.toContain('hunter2');
});
