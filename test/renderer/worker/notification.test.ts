import { describe, expect, test } from 'vitest';
import type { PushPayload } from '../../../src/contracts/notifications/push.ts';
import { answered, notificationOf, outcomeOf, ownPath } from '../../../src/renderer/worker/notification.ts';

const payload: PushPayload = {
  type: 'event',
  title: 'web asks for approval',
  body: 'run npm publish',
  url: '/',
  tag: 'approval-1',
  data: { event: 'approval.requested', botId: 'agent_1', threadId: null, approvalId: 'apr_1', approve: 'token-1' },
};
const shown = (change: Partial<PushPayload> = {}) => notificationOf(JSON.stringify({ ...payload, ...change }));

test('a question comes with both buttons and stays until it is answered', () => {
  const { title, options } = shown();
  expect(title).toBe('web asks for approval');
  expect(options).toMatchObject({ body: 'run npm publish', tag: 'approval-1', requireInteraction: true });
  expect(options.actions.map((one) => one.action)).toEqual(['approve', 'reject']);
  expect(options.data).toEqual({ url: '/inbox?approval=apr_1', token: 'token-1', asked: 'run npm publish' });
});

test('a question leads to its place in the inbox, also after its answer, and all else to where the push says', () => {
  const { approvalId: _, ...without } = payload.data;
  expect(shown({ url: '/?bot=b', data: without }).options.data.url).toBe('/?bot=b');
  const { tag, data } = shown().options;
  const over = answered(outcomeOf('approve', 'run npm publish', { status: 409, message: '' }), { tag, data });
  expect(over.options.data.url).toBe('/inbox?approval=apr_1');
});

test('nothing but a question that can be answered has buttons, whatever else is in the push', () => {
  const ended = shown({ data: { ...payload.data, event: 'agent.run.completed' } });
  expect([ended.options.actions, ended.options.data.token]).toEqual([[], null]);
  const { approve: _, ...without } = payload.data;
  expect(shown({ data: without }).options.actions).toEqual([]);
});

test.each([null, '', 'not JSON', 'null', '[]', '{"title":1}'])(
  'a push that cannot be read (%j) is shown all the same',
  (text) => {
    expect(notificationOf(text)).toMatchObject({ title: 'Something happened in Gantry', options: { actions: [] } });
  },
);

test.each(['https://elsewhere.example/', '//elsewhere.example/', 'javascript:alert(1)', '', undefined, 7])(
  'a push leads nowhere but into this page: %j',
  (url) => {
    expect(ownPath(url)).toBe('/');
    expect(shown({ url: url as string }).options.data.url.startsWith('//')).toBe(false);
  },
);

describe('after a button', () => {
  const before = {
    tag: 'approval-1',
    data: { url: '/inbox?approval=apr_1', token: 'token-1', asked: 'run npm publish' },
  };
  const told = (answer: { status: number; message: string } | null) =>
    answered(outcomeOf('approve', 'run npm publish', answer), before);

  test('an answer that was taken says so in the place of the question, quietly and without buttons', () => {
    expect(told({ status: 200, message: '' })).toMatchObject({
      title: 'Approved',
      options: { body: 'run npm publish', tag: 'approval-1', renotify: false, actions: [], data: { token: null } },
    });
    expect(outcomeOf('reject', '', { status: 200, message: '' }).title).toBe('Rejected');
  });

  test('who was faster is said in the words of the server', () => {
    expect(told({ status: 409, message: 'Ada rejected it from the browser.' })).toMatchObject({
      title: 'Already answered',
      options: { body: 'Ada rejected it from the browser.', actions: [] },
    });
    expect(told({ status: 410, message: '' })).toMatchObject({
      title: 'Too late to answer',
      options: { actions: [] },
    });
  });

  test.each([null, { status: 502, message: 'The cloud is away.' }, { status: 429, message: '' }])(
    'what was not answered (%j) keeps its buttons and calls again',
    (answer) => {
      const { title, options } = told(answer);
      expect(title).toContain('Not answered');
      expect(options).toMatchObject({ renotify: true, requireInteraction: true, data: { token: 'token-1' } });
      expect(options.actions).toHaveLength(2);
    },
  );
});
