import { expect, test } from 'vitest';
import type { Notification } from '../../../../src/contracts/notifications/routes.ts';
import { firstRows, marksOf, type NewsPage, newsOf } from '../../../../src/renderer/base/data/news.ts';

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
const page = (notifications: Notification[], counts: Partial<NewsPage> = {}): NewsPage => ({
  notifications,
  total: notifications.length,
  unread: notifications.filter(({ readAt }) => readAt === null).length,
  questions: { total: 0, unread: 0 },
  ...counts,
});

test('questions are left to their cards: they are neither listed nor counted, and those unread are named', () => {
  const list = [
    one('1', 'approval.requested'),
    one('2', 'agent.run.completed'),
    one('3', 'approval.resolved', at),
    one('4', 'thread.needs_user', at),
  ];
  const news = newsOf({ pages: [page(list, { questions: { total: 2, unread: 1 } })] });
  expect(news.rows.map((row) => row.id)).toEqual(['2', '4']);
  expect([news.total, news.unread, news.questions]).toEqual([2, 1, ['1']]);
});

test('of 518 the true number stands there, each page adds its rows once, and what was not shown is not marked read', () => {
  const many = Array.from({ length: 518 }, (_, index) => one(`n${index}`, 'message.received'));
  const counts = { total: 521, unread: 520, questions: { total: 3, unread: 2 } };
  const first = newsOf({ pages: [page(many.slice(0, 50), counts)] });
  expect([first.rows.length, first.total, first.unread]).toEqual([50, 518, 518]);
  expect(marksOf(first.rows.slice(0, firstRows)).flat()).toEqual(many.slice(0, 8).map(({ id }) => id));
  // One came meanwhile: a row of the first page stands in the second as well.
  const whole = newsOf({ pages: [page(many.slice(0, 50), counts), page(many.slice(49, 249)), page(many.slice(249))] });
  expect(whole.rows.map(({ id }) => id)).toEqual(many.map(({ id }) => id));
  expect(marksOf(whole.rows).map((ids) => ids.length)).toEqual([200, 200, 118]);
});
