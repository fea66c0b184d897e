/** What servers ask the person, as one question with a note, and the notes that people write back. */
import { expect, test } from 'vitest';
import {
  type InputRequest,
  questionOf,
  readRequests,
  responseTo,
} from '../../../../src/runtime-server/tool-server/servers/input.ts';

const form = (properties: object, required: readonly string[] = [], message = 'Which?'): InputRequest => ({
  method: 'elicitation/create',
  params: { message, requestedSchema: { type: 'object', properties, required } },
});
const said = (request: InputRequest, note: string | null) => responseTo(request, { kind: 'approve', note });
const content = (request: InputRequest, note: string | null) => {
  const read = said(request, note);
  return 'problem' in read ? read.problem : read.response.content;
};

const order = form(
  {
    size: {
      type: 'string',
      oneOf: [
        { const: 's', title: 'Small' },
        { const: 'l', title: 'Large' },
      ],
    },
    count: { type: 'integer', default: 1, description: 'How many.' },
    gift: { type: 'boolean' },
    toppings: { type: 'array', items: { type: 'string', enum: ['ham', 'corn'] } },
    note: { type: 'string' },
  },
  ['size'],
);

test('the question names every value with its type, choices and default, and says how the note is read', () => {
  const { title, summary } = questionOf('shop', order, null);
  expect(title).toBe('shop asks: Which?');
  expect(summary.split('\n')).toEqual([
    'The attached server shop asks:',
    '',
    'Which?',
    '',
    'Approve with the values in the note, as name: value; name: value.',
    'size: one of s (Small), l (Large)',
    'count: a whole number, optional, default 1. How many.',
    'gift: yes or no, optional',
    'toppings: any of ham, corn, optional',
    'note: text, optional',
  ]);
});

test('a note with several values is read by name, with titles for values, and defaults for what it leaves out', () => {
  expect(content(order, 'Size: large\ntoppings: ham, corn\ngift: no\nnote: at 10:30')).toEqual({
    size: 'l',
    count: 1,
    gift: false,
    toppings: ['ham', 'corn'],
    note: 'at 10:30',
  });
  expect(content(order, 'size: s; count: 3; note: first; then: rest;')).toEqual({
    size: 's',
    count: 3,
    note: 'first; then: rest',
  });
});

test('what the server would not take is a problem in words, and nothing is sent', () => {
  expect(content(order, null)).toBe('size is missing.');
  expect(content(order, 'size: huge')).toBe('size: "huge" is not one of s, l.');
  expect(content(order, 'size: s\ncount: 1.5')).toBe('count: "1.5" is not a whole number.');
  expect(content(order, 'size: s\ngift: perhaps')).toBe('gift: "perhaps" is neither yes nor no.');
  expect(content(order, 'large please')).toBe(
    '"large please" is not name: value of size, count, gift, toppings, note.',
  );
});

test('a single value is the whole note; a yes without a note answers a question of yes or no, or none at all', () => {
  expect(content(form({ name: { type: 'string' } }, ['name']), 'Ada: the first')).toEqual({ name: 'Ada: the first' });
  expect(content(form({ name: { type: 'string' } }, ['name']), 'name: Ada')).toEqual({ name: 'Ada' });
  expect(content(form({ ok: { type: 'boolean' } }, ['ok']), null)).toEqual({ ok: true });
  expect(content(form({ ok: { type: 'boolean' } }, ['ok']), 'no')).toEqual({ ok: false });
  expect(content(form({}), null)).toEqual({});
});

test('a no declines, an end cancels, and an address is opened and then approved', () => {
  expect(responseTo(order, { kind: 'reject', note: null })).toEqual({ response: { action: 'decline' } });
  expect(responseTo(order, { kind: 'ended', why: 'Nobody answered.' })).toEqual({ response: { action: 'cancel' } });
  const url = { method: 'elicitation/create', params: { mode: 'url', message: 'Pay', url: 'https://pay.example/1' } };
  expect(questionOf('shop', url, null).summary).toContain('https://pay.example/1');
  expect(said(url, null)).toEqual({ response: { action: 'accept' } });
});

test('only questions to the person are read, and their text hides nothing', () => {
  expect(readRequests({ a: { method: 'sampling/createMessage', params: {} } })).toContain('sampling/createMessage');
  expect(readRequests(Object.fromEntries(Array.from({ length: 11 }, (_, at) => [at, order])))).toContain('11 things');
  expect(readRequests('all of it')).toContain('cannot be read');
  const hidden = form({ name: { type: 'string', description: 'x'.repeat(10_000) } }, [], 'Na\u202eme\u200b?\u0007');
  const { title, summary } = questionOf('shop', hidden, null);
  expect(title).toBe('shop asks: Name?');
  expect(summary.length).toBeLessThan(1000);
});
