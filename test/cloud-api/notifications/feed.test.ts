/** The list of notifications of a person who has very many: a page and the counts, on both engines. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { eventMigrations } from '../../../src/cloud-api/events/index.ts';
import { createFeed } from '../../../src/cloud-api/notifications/feed.ts';
import { notificationMigrations } from '../../../src/cloud-api/notifications/index.ts';
import { openSharedStore } from '../../../src/kit/store/open-shared-store.ts';
import { recording, scansOfPostgres } from '../../support/plans.ts';
import { postgres } from '../../support/postgres.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { createTestClock } from '../../support/test-clock.ts';
import { person } from './support.ts';

const many = 20_000;
/** All read, but the first and the last one. Every tenth is a question. */
const fill = [
  `INSERT INTO user_event (id, user_id, type, source_id, occurred_at, stored_at, data)
    SELECT 'e' || n, '${person}', CASE WHEN n % 10 = 0 THEN 'approval.resolved' ELSE 'thread.needs_user' END, 's' || n, n, n,
      '{"reason":"It asks.","title":"Build","decision":"approve"}'
    FROM (WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < ${many}) SELECT n FROM c) numbers`,
  `INSERT INTO notification (event_id, user_id, claimed_at, outcome, read_at)
    SELECT id, user_id, 1, 'sent', CASE WHEN occurred_at IN (1, ${many}) THEN NULL ELSE 1 END FROM user_event`,
  `UPDATE notification SET question = 1 WHERE event_id IN (SELECT id FROM user_event WHERE type = 'approval.resolved')`,
];
const counts = { total: many, unread: 2, questions: { total: many / 10, unread: 1 } };

describe.each(['sqlite', ...(postgres === null ? [] : ['postgres'])])('on %s', (engine) => {
  async function floor() {
    const clock = createTestClock();
    const databaseUrl = engine === 'postgres' ? await postgres!.schema() : null;
    const file = `${scratchFolder()}/cloud.db`;
    const open = (since: number) => {
      const migrations = [...eventMigrations, ...notificationMigrations.filter(({ number }) => number < since)];
      return openSharedStore({ databaseUrl, file, migrations, clock });
    };
    // As it was before the place in the list and the counts were kept.
    const before = await open(5);
    await before.write(function* (tx) {
      for (const sql of fill) yield* tx.run(sql);
    });
    await before.close();
    const store = await open(Number.POSITIVE_INFINITY);
    onTestFinished(() => store.close());
    if (databaseUrl === null) await store.write((tx) => tx.run('ANALYZE'));
    else await postgres!.ask(databaseUrl, 'ANALYZE');
    return { store, databaseUrl, clock };
  }

  test('a page, the counts and the latest are read along an index, whatever else there is', async () => {
    const { store, databaseUrl, clock } = await floor();
    const { store: asking, asked } = recording(store);
    const feed = createFeed({ store: asking, clock });
    const ids = (page: { notifications: { id: string }[] }) => page.notifications.map(({ id }) => id);
    const first = await feed.list({ userId: person, unread: false, limit: 3 });
    expect(first).toMatchObject(counts);
    expect(ids(first)).toEqual([`e${many}`, `e${many - 1}`, `e${many - 2}`]);
    const second = await feed.list({ userId: person, unread: false, limit: 2, cursor: first.nextCursor ?? '' });
    expect(ids(second)).toEqual([`e${many - 3}`, `e${many - 4}`]);
    const unread = await feed.list({ userId: person, unread: true, limit: 3 });
    expect([ids(unread), unread.nextCursor]).toEqual([[`e${many}`, 'e1'], null]);
    expect(await feed.latest(person)).toMatchObject({ outcome: 'sent' });

    expect(asked.size).toBe(3);
    if (databaseUrl !== null) return expect(await scansOfPostgres(databaseUrl, asked.values())).toEqual([]);
    const plans: string[] = [];
    for (const { sql, values } of asked.values()) {
      const plan = await store.write((tx) => tx.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, ...values));
      plans.push(plan.map(({ detail }) => detail).join(' | '));
    }
    const event = 'SEARCH e USING INDEX sqlite_autoindex_user_event_1 (id=?)';
    expect(plans).toEqual([
      `SEARCH n USING INDEX notification_listed (user_id=? AND seq<?) | ${event}`,
      'SEARCH notification_count USING PRIMARY KEY (user_id=?)',
      `SEARCH n USING INDEX notification_unread_listed (user_id=? AND seq<?) | ${event}`,
    ]);
  });

  test('what is marked, unmarked and forgotten is counted as it is then', async () => {
    const { store, clock } = await floor();
    const feed = createFeed({ store, clock });
    const shown = async () => {
      const {
        notifications: _,
        nextCursor: __,
        ...said
      } = await feed.list({ userId: person, unread: false, limit: 1 });
      const [row] = await store.all<{ total: number; unread: number }>(
        'SELECT count(*) AS total, count(*) - count(read_at) AS unread FROM notification',
      );
      expect(said).toMatchObject(row!);
      return said;
    };
    expect(await feed.read(person, ['e1', 'e2', 'of somebody else'])).toMatchObject({ read: 1, unread: 1 });
    expect(await shown()).toEqual({ ...counts, unread: 1 });
    await clock.advance(1000);
    const { at, ...read } = await feed.read(person, null);
    expect(read).toEqual({ read: 1, unread: 0 });
    expect(await shown()).toEqual({ total: many, unread: 0, questions: { total: many / 10, unread: 0 } });
    expect(await feed.undo(person, at)).toMatchObject({ unread: 1 });
    expect(await shown()).toEqual({ ...counts, unread: 1 });
    await feed.forget(1001);
    expect(await shown()).toEqual({
      total: many - 1000,
      unread: 1,
      questions: { total: many / 10 - 100, unread: 1 },
    });
  });
});
