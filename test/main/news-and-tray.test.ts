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

const question = {
  id: 'apr_1',
  kind: 'tool_call',
  state: 'pending',
  decision: null,
  title: 'rm -r build',
  summary: 'rm -r build',
  risk: 'high',
  source: 'tool',
  agentId: null,
  requestedAt: '2026-03-01T08:00:00.000Z',
  expiresAt: '2026-03-01T09:00:00.000Z',
  resolvedAt: null,
  resolvedBy: null,
  appliedAt: null,
  note: null,
};
const resolve = '/api/factory/approvals/apr_1/resolve';
const asks = { ...row('n1', '/'), approvalId: 'apr_1' };

async function asked(platform: string, change: object = {}) {
  const desktop = await startDesktop({ platform });
  desktop.answers['/api/v1/notifications'] = feedOf(asks);
  desktop.answers['/api/factory/approvals'] = { approvals: [{ ...question, ...change }] };
  await desktop.timeline.move(lookEveryMs);
  return { ...desktop, shown: desktop.fake.notifications };
}

test.each(['darwin', 'win32'])(
  'on %s a question is answered with the buttons of its notification',
  async (platform) => {
    const { shown, timeline, answers, sent } = await asked(platform, {
      details: [{ name: 'Folder', text: '/home/ada' }],
      reason: 'It is\nstale.',
    });
    expect(shown.map(({ options }) => options)).toEqual([
      {
        title: 'tester asks',
        body: 'rm -r build\nFolder: /home/ada\nIts reason: It is\\nstale.',
        actions: [
          { type: 'button', text: 'Approve' },
          { type: 'button', text: 'Reject' },
        ],
      },
    ]);
    answers[resolve] = { ...question, state: 'resolved', decision: 'reject' };
    shown[0]?.press(1);
    await timeline.move(0);
    // With the window's own session.
    expect(sent).toEqual([`POST ${resolve} gantry_3010=secret {"decision":"reject"}`]);
    expect(shown).toHaveLength(1);
  },
);

test('who is second is told so, and a Gantry that does not answer is, too', async () => {
  const { shown, timeline, answers } = await asked('darwin');
  const fact = 'The approval apr_1 was already rejected by ada via phone.';
  answers[resolve] = Response.json({ error: { code: 'already_resolved', message: fact } }, { status: 409 });
  shown[0]?.press(0);
  await timeline.move(0);
  expect(shown[1]?.options).toEqual({ title: 'Already answered', body: fact });
  answers[resolve] = 500;
  shown[0]?.press(0);
  await timeline.move(0);
  expect(shown[2]?.options.title).toBe('Not answered');
});

test.each([
  ['linux', {}],
  ['darwin', { summary: 'x'.repeat(300) }],
  ['darwin', { id: 'apr_2' }],
])(
  'on %s without buttons, where they are missing or the question is not whole, a click leads to its card',
  async (platform, change) => {
    const { shown, fake } = await asked(platform, change);
    expect(shown).toHaveLength(1);
    expect(shown[0]?.options.actions).toBeUndefined();
    await fake.call('desktop:read', [undefined], { id: fake.windows[0]!.id, url: `${origin}/` });
    shown[0]?.click();
    expect(fake.windows[0]?.sent).toEqual([['desktop:say', { kind: 'go', path: '/inbox?approval=apr_1' }]]);
  },
);
