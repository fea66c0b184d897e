import { expect, test } from 'vitest';
import type { Notification } from '../../../src/contracts/notifications/routes.ts';
import { newsOf } from '../../../src/renderer/data/news.ts';

const at = '2026-01-02T03:04:05.678Z';
const one = (id: string, event: string, readAt: string | null = null): Notification => ({
  id,
  event,
  title: event,
  body: '',
  url: '/',
  at,
  readAt,
  outcome: 'sent',
});

test('questions are left to their cards: they are neither listed nor counted, and those unread are named', () => {
  const news = newsOf({
    notifications: [
      one('1', 'approval.requested'),
      one('2', 'agent.run.completed'),
      one('3', 'approval.resolved', at),
      one('4', 'thread.needs_user', at),
    ],
    unread: 2,
  });
  expect(news.rows.map((row) => row.id)).toEqual(['2', '4']);
  expect([news.unread, news.questions]).toEqual([1, ['1']]);
});

test('unread ones beyond what was read are counted all the same', () => {
  expect(newsOf({ notifications: [one('1', 'approval.requested')], unread: 70 }).unread).toBe(69);
});
