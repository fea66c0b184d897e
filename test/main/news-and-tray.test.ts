/** What main asks Gantry for itself: the tray's counts and the system's notifications, with the window's own session. */
import { expect, test } from 'vitest';
import { lookEveryMs } from '../../src/main/feed.ts';
import { origin, startDesktop } from './support.ts';

const row = (id: string, url: string) => ({
  id,
  event: 'approval.requested',
  title: 'tester asks',
  body: 'rm -r build',
  url,
  at: '2026-03-01T08:00:00.000Z',
  readAt: null,
  outcome: 'unreachable',
});
const feedOf = (...rows: object[]) => ({ notifications: rows, unread: rows.length, nextCursor: null });

test('a question becomes one notification of the system; a click leads its window there', async () => {
  const { fake, timeline, answers, asked } = await startDesktop();
  expect(asked).toContain('/api/v1/notifications?unread=true gantry_3010=secret');
  answers['/api/v1/notifications'] = feedOf(row('n1', '/inbox'));
  await timeline.move(lookEveryMs);
  await timeline.move(lookEveryMs);
  expect(fake.notifications.map(({ options }) => options)).toEqual([{ title: 'tester asks', body: 'rm -r build' }]);
  await fake.call('desktop:read', [undefined], { id: fake.windows[0]!.id, url: `${origin}/` });
  fake.notifications[0]?.click();
  expect(fake.windows[0]?.sent).toEqual([['desktop:say', { kind: 'go', path: '/inbox' }]]);
});

test('while a window has the focus its page tells, and the system says nothing', async () => {
  const { fake, timeline, answers } = await startDesktop();
  fake.windows[0]!.focused = true;
  answers['/api/v1/notifications'] = feedOf(row('n1', '/inbox'));
  await timeline.move(lookEveryMs);
  fake.windows[0]!.focused = false;
  await timeline.move(lookEveryMs);
  expect(fake.notifications).toEqual([]);
});

test('the tray follows what runs and who is needed', async () => {
  const { fake, timeline, answers } = await startDesktop();
  expect(fake.tray.tip).toBe('Gantry: 0 panes live, 0 runs');
  answers['/api/factory/approvals'] = { approvals: [{ agentId: 'a' }] };
  await timeline.move(lookEveryMs);
  expect(fake.tray.tip).toBe('Gantry: 0 panes live, 0 runs, 1 needs you');
  expect(fake.menus.tray.map(({ label }) => label)).toContain('Open Inbox');
});

test('a Gantry that does not answer is written down once, and asked on', async () => {
  const { timeline, answers, logged, asked } = await startDesktop();
  answers['/api/factory/agents'] = 500;
  for (let look = 0; look < 3; look += 1) await timeline.move(lookEveryMs);
  expect(logged.filter((line) => line.includes('could not be asked'))).toHaveLength(1);
  const before = asked.length;
  await timeline.move(lookEveryMs);
  expect(asked.length).toBeGreaterThan(before);
});
