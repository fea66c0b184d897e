import { expect, test } from 'vitest';
import { z } from 'zod';
import { membersOf } from '../../../../src/contracts/computer-use/members.ts';
import {
  actionOf,
  actionProblems,
  memberForm,
  newAction,
} from '../../../../src/renderer/areas/computers/action-draft.ts';

const cases = (['browser', 'computer'] as const).flatMap((toolset) =>
  Object.entries(membersOf[toolset]).map(([member, { input }]) => ({
    toolset,
    member,
    input,
    schema: z.toJSONSchema(input, { io: 'input' }) as Record<string, unknown>,
  })),
);
const texts: Readonly<Record<string, string>> = {
  target: '12, 34.5',
  from: '1, 2',
  coordinate: '12, 34',
  start_coordinate: '1, 2',
  region: '0, 0, 20, 10',
  url: 'https://example.com/',
  text: 'ctrl+a',
  value: 'red',
  duration: '2',
  scroll_direction: 'down',
  scroll_amount: '3',
  query: 'Send',
  tab_id: 'tab_1',
};

test.each(cases)(
  'what is typed for $toolset $member is what its contract takes',
  ({ toolset, member, input, schema }) => {
    const form = memberForm(schema);
    const draft = newAction(0, toolset, member, schema);
    const typed: Record<string, string> = { ...draft.texts };
    for (const name of Object.keys(form.properties)) {
      const onlyRef = !JSON.stringify((schema.properties as Record<string, unknown>)[name]).includes('"coordinate"');
      typed[name] = name === 'target' && onlyRef ? 'e12' : (texts[name] ?? '');
    }
    expect(actionProblems(schema, typed)).toEqual({});
    const action = actionOf({ ...draft, texts: typed }, schema);
    expect(input.safeParse(action.input ?? {}).error).toBeUndefined();
  },
);

test('a place that is none is told off, a ref is a place where the member takes one, and nothing typed is said to be needed', () => {
  const { schema } = cases.find(({ toolset, member }) => toolset === 'browser' && member === 'left_click')!;
  expect(Object.keys(actionProblems(schema, { target: 'over there' }))).toEqual(['target']);
  expect(actionProblems(schema, { target: '' })).toEqual({ target: 'Required.' });
  const click = { ...newAction(0, 'browser', 'left_click', schema), texts: { target: ' e7 ' } };
  expect(actionOf(click, schema).input).toEqual({ target: { type: 'ref', ref: 'e7' } });
  const { schema: drag } = cases.find(({ member, toolset }) => toolset === 'browser' && member === 'left_click_drag')!;
  expect(Object.keys(actionProblems(drag, { from: 'e1', target: '1, 2' }))).toEqual(['from']);
});
