/** Calls that go by what was seen last: as safe as those that look first, and only where looking could change nothing. */
import { afterAll, expect, test } from 'vitest';
import { viewComputer } from '../../../../src/contracts/computer-use/device-routes.ts';
import { keepUntilEnd } from '../../../support/at-end.ts';
import { askedOf, at, click, key, type Rig, resultOf, type Script, startRig } from './rig.ts';

const stop = keepUntilEnd();
afterAll(stop);

const picture = { toolset: 'browser', member: 'screenshot', input: {} } as const;
const form = 'https://site.test/form';
const events: Script['events'] = [{ event: 'page', session: 'default', url: form, title: 'Form' }];

/** A browser whose page was seen. */
async function seen(policy?: string) {
  const rig = await startRig(policy === undefined ? {} : { policy });
  rig.script({ events });
  await rig.call(picture);
  await expect.poll(() => rig.gate.sessions.page('default')?.url).toBe(form);
  return {
    ...rig,
    looks: () => rig.acts().filter((line) => line.do === 'look').length,
    /** Member, stage and outcome of what came after the picture. */
    rows: async () => (await rig.audit()).slice(1).map(({ member, stage, outcome }) => `${member} ${stage} ${outcome}`),
  };
}

/** Somebody looks at whatever is used, until the answer is called. */
function watch({ hands }: Pick<Rig, 'hands'>): () => void {
  const ends = new AbortController();
  const sink = { open() {}, send: () => true, drained: async () => {}, signal: ends.signal };
  const view = hands.routes.find(({ route }) => route === viewComputer)!;
  void view.handler({ params: { id: 'this-device' }, query: {} } as never, sink as never);
  return () => ends.abort();
}

test('a click that is allowed wherever it goes acts on the page that was seen last, and says which that was', async () => {
  const rig = await seen();
  expect(resultOf(await rig.call(click)).is_error).toBe(false);
  expect(rig.looks()).toBe(0);
  expect(rig.acts().at(-1)).toMatchObject({ do: 'act', seen: { url: form, screen: { frame_width: 1280 } } });
  expect((await rig.audit()).at(-1)).toMatchObject({ url: form, stage: 'action' });
});

test('on a page that is another by then nothing is done before it was looked at and decided anew', async () => {
  const rig = await seen('rules:\n  - when: {tool: browser, host: other.test}\n    then: deny\n');
  rig.script({ looked: { url: 'https://other.test/' } });
  expect((await rig.call(click)).kind).toBe('denied');
  expect(rig.done()).toEqual(['screenshot']);
  await expect.poll(rig.rows).toEqual(['left_click action not_executed', 'left_click policy denied']);
});

test('in a turn it acts once all the same, and answers what it answered', async () => {
  const rig = await seen();
  rig.script({ looked: { url: 'https://site.test/next' }, text: 'Clicked.' });
  const call = { ...click, turn_id: 't', call_index: 0 };
  const first = await rig.call(call);
  const second = await rig.call(call);
  expect([first, second].map((one) => one.kind === 'done' && one.executed)).toEqual([true, false]);
  expect(resultOf(second)).toEqual(resultOf(first));
  expect(rig.done()).toEqual(['screenshot', 'left_click']);
  await expect.poll(rig.rows).toEqual(['left_click action not_executed', 'left_click action done']);
});

test('a frame that is another by then is one too: its edge ends the call', async () => {
  const rig = await seen();
  rig.script({ screen: { width: 800, height: 600, scale: 1, frame_width: 800, frame_height: 600 } });
  await expect(rig.call({ ...click, input: at(1000, 20) })).rejects.toThrow('outside');
  expect(rig.done()).toEqual(['screenshot']);
});

test('what asks, what types and what names a tab is looked at first, and so is what somebody watches', async () => {
  const rig = await seen();
  expect(askedOf(await rig.call(click, key)).words).not.toBe('');
  await rig.call({ toolset: 'browser', member: 'type', input: { text: 'secret' } });
  await rig.call({ ...click, input: { ...click.input, tab_id: 'tab_2' } });
  expect(rig.looks()).toBe(3);
  const leave = watch(rig);
  await rig.call(click);
  expect(rig.looks()).toBe(4);
  leave();
  await rig.call(click);
  expect(rig.looks()).toBe(4);
});
