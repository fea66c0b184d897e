/** Words, links, tags and sizes of notifications. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { buildNotification, type StoredEvent, urgentEvents } from '../../../src/cloud-api/notifications/build.ts';
import { fitPayload, largestPayload, sizeOf } from '../../../src/cloud-api/notifications/pusher.ts';
import { type notifiableEventNames, notifiableEvents } from '../../../src/contracts/events/registry.ts';
import { PushPayload } from '../../../src/contracts/notifications/push.ts';

const approval = { approvalId: 'apr_1', kind: 'tool_call', title: 'Run it', risk: 'low', source: 'gate' };
const subscription = { subscriptionId: 'sub_1', connectorId: 'con_1', name: 'Mail' };
const examples: { readonly [T in (typeof notifiableEventNames)[number]]: readonly object[] } = {
  'approval.requested': [approval],
  'approval.resolved': [
    { ...approval, decision: 'approve' },
    { ...approval, decision: null },
  ],
  'agent.run.completed': [
    { runId: 'run_1', status: 'completed', title: 'Look', botId: 'agent_1', botName: 'coder' },
    { runId: 'run_1', status: 'failed', title: 'Look', botId: 'agent_1' },
    { runId: 'run_1', status: 'done', title: 'Ship it' },
    { runId: 'run_1', status: 'failed', title: 'Ship it\nBuild: exited with 2' },
  ],
  'thread.needs_user': [
    { reason: 'It asks.', botId: 'agent_1' },
    { reason: 'It asks.', dagId: 'dag_1', nodeId: 'node_1' },
    { reason: 'Ship it\nBuild: asks.', dagId: 'dag_1', nodeId: 'node_2' },
    { reason: 'Ship it\nBuild: asks.', dagId: 'dag_1', nodeId: 'node_2', botId: 'agent_1', botName: 'coder' },
    { reason: 'It asks.', botId: 'agent_1', botName: 'coder', threadId: 'thread_1' },
  ],
  'message.received': [
    { messageId: 'm1', from: '+15550100', text: 'Hi', provider: 'sms' },
    { messageId: 'm1', from: '+15550100', text: 'Hi', threadId: 'a&b=c', botId: 'x y', provider: 'sms' },
    { messageId: 'm1', from: 'Ada', text: 'Hi' },
  ],
  'call.ended': [{ callId: 'call_1', numberId: 'num_1', durationSec: 75, missed: false }],
  'inbox.item.created': [{ itemId: 'mail_1', title: 'Report' }],
  'vendor.ticket.created': [{ ticketId: 'ticket_1', title: 'Order' }],
  'subscription.login_needed': [subscription],
  'subscription.signed_in': [subscription],
  'usage.threshold': [{ month: '2026-01', level: 80, percent: 81, spentCents: 810.5, budgetCents: 1000 }],
};
const built = (type: (typeof notifiableEventNames)[number]) =>
  examples[type].map((data) => buildNotification({ type, data } as StoredEvent));

test('every notifiable event has words of its own, and nothing but two of them is urgent', () => {
  for (const { type, payload } of notifiableEvents) {
    for (const data of examples[type]) expect([type, payload.safeParse(data).error]).toEqual([type, undefined]);
    for (const push of built(type)) {
      expect(PushPayload.safeParse(push).error).toBeUndefined();
      expect(push.title.length * push.tag.length).toBeGreaterThan(0);
      // Where the title says all.
      if (push.body === '') expect(push.title).toBe('The run “Ship it” has finished');
      expect(push.data).toMatchObject({ event: type });
    }
  }
  expect([...urgentEvents]).toEqual(['approval.requested', 'thread.needs_user']);
});

test('tags name the matter, so that what is told of it replaces what was told before', () => {
  const tags = (type: (typeof notifiableEventNames)[number]) => built(type).map(({ tag }) => tag);
  expect(tags('approval.requested')).toEqual(['approval-apr_1']);
  expect(tags('approval.resolved')).toEqual(['approval-apr_1', 'approval-apr_1']);
  expect(tags('agent.run.completed')).toEqual(Array.from({ length: 4 }, () => 'run-run_1'));
  expect(tags('thread.needs_user')).toEqual([
    'needs-agent_1',
    'needs-dag_1-node_1',
    'needs-dag_1-node_2',
    'needs-agent_1',
    'needs-thread_1',
  ]);
  expect(tags('message.received')).toEqual(['channel-sms', 'msg-a&b=c', 'channel-unknown']);
});

test('a click leads to the thread with its bot, to the channel of a message without a thread, else home', () => {
  expect(built('thread.needs_user').map(({ url }) => url)).toEqual([
    ...['/', '/', '/', '/'],
    '/?allternit_thread=thread_1&bot=agent_1',
  ]);
  expect(built('message.received').map(({ url }) => url)).toEqual([
    '/?allternit_channel=sms',
    '/?allternit_thread=a%26b%3Dc&bot=x%20y',
    '/',
  ]);
});

test('the bot is called by its forwarded name, or Your bot; a run by its own name, with the cause below it', () => {
  const needs = built('thread.needs_user').map(({ title, body }) => [title, body]);
  expect(needs).toEqual([
    ['Your bot needs you', 'It asks.'],
    ['A run needs you', 'It asks.'],
    ['The run “Ship it” needs you', 'Build: asks.'],
    ['coder needs you', '“Ship it”, Build: asks.'],
    ['coder needs you', 'It asks.'],
  ]);
  const ends = built('agent.run.completed').map(({ title, body }) => [title, body]);
  expect(ends).toEqual([
    ['coder has finished', 'Look'],
    ['Your bot has failed', 'Look'],
    ['The run “Ship it” has finished', ''],
    ['The run “Ship it” has failed', 'Build: exited with 2'],
  ]);
});

test('a question that cannot be shown whole has no buttons', () => {
  const [push] = built('approval.requested');
  const question = (length: number) => ({
    ...push!,
    body: 'x'.repeat(length),
    data: { ...push!.data, approve: 'a'.repeat(43) },
  });
  const room = largestPayload - sizeOf(question(0));
  expect(fitPayload(question(room), largestPayload)).toEqual(question(room));
  const cut = fitPayload(question(room + 1), largestPayload);
  expect([cut.data.approve, cut.data.approvalId]).toEqual([undefined, 'apr_1']);
  expect(fitPayload(question(room + 1000), largestPayload).body).toMatch(/^x+…$/);
});

test('a payload is made to fit by its words alone, whatever they are made of', () => {
  const words = fc.string({ unit: 'binary', minLength: 0, maxLength: 6000 });
  fc.assert(
    fc.property(words, words, (title, body) => {
      const [push] = built('message.received');
      const whole = { ...push!, title, body };
      const fitted = fitPayload(whole, largestPayload);
      expect(sizeOf(fitted)).toBeLessThanOrEqual(largestPayload);
      expect({ ...fitted, title: '', body: '' }).toEqual({ ...whole, title: '', body: '' });
      if (sizeOf(whole) <= largestPayload) expect(fitted).toEqual(whole);
      else expect(sizeOf(fitted)).toBeGreaterThan(largestPayload - 40);
      for (const [cut, text] of [
        [fitted.title, title],
        [fitted.body, body],
      ] as const) {
        if (cut !== text) expect(text.startsWith(cut.replace(/…$/, ''))).toBe(true);
      }
    }),
    { numRuns: 200 },
  );
});
