/** What needs the person, as Home tells it: for each kind which of what was read needs anybody, its words, and where the row leads. */
import { expect, test, vi } from 'vitest';
import { AppError } from '../../../../src/contracts/common/errors.ts';
import type { Delivery } from '../../../../src/contracts/factory/delivery.ts';
import type { HostedComputer } from '../../../../src/contracts/hosted-computers/computer.ts';
import type { PhoneNumber } from '../../../../src/contracts/phone/number.ts';
import type { AttachedServer } from '../../../../src/contracts/tool-server/servers.ts';
import type { Need } from '../../../../src/renderer/areas/home/need.ts';
import { botNeeds, inOrder, lostNeeds, stepNeeds } from '../../../../src/renderer/areas/home/need-rows.ts';
import {
  budgetNeeds,
  engineNeeds,
  hostedNeeds,
  limitNeeds,
  linkNeeds,
  numberNeeds,
  pairingNeeds,
  scheduleNeeds,
  serverNeeds,
} from '../../../../src/renderer/areas/home/part-rows.ts';
import type { PlacedBot } from '../../../../src/renderer/base/data/places.ts';

const at = '2026-03-04T10:00:00.000Z';
const noon = Date.parse('2026-03-04T12:00:00.000Z');
const nowhere = () => undefined;

/** As a person reads it, and where its button leads. */
function told(needs: (lead: (to: unknown) => void) => readonly Need[]) {
  const lead = vi.fn();
  return needs(lead).map(({ look, title, text, since, act }) => {
    lead.mockClear();
    act.run();
    return { says: `${look.word}: ${title}`, tone: look.tone, text, since, act: act.word, to: lead.mock.calls[0]?.[0] };
  });
}

const bot = (of: Partial<PlacedBot>): PlacedBot =>
  ({
    id: 'b1',
    address: 'scribe@demo',
    computerName: 'Desk',
    state: 'idle',
    since: at,
    stateReason: null,
    ...of,
  }) as PlacedBot;

test('a bot that waits, is blocked or failed leads to its pane, and stands once: not beside its own question', () => {
  const open = vi.fn();
  const bots = [
    bot({}),
    bot({ id: 'b2', state: 'working' }),
    bot({ id: 'b3', address: 'maker@demo', state: 'blocked', stateReason: 'No disk.' }),
    bot({ id: 'b4', state: 'needs_you' }),
    bot({ id: 'b5', address: 'tester@demo', state: 'failed' }),
  ];
  const rows = told(() => botNeeds(bots, [{ agentId: 'b4' }], false, open));
  expect(rows.map(({ says, text, act }) => [says, text, act])).toEqual([
    ['Blocked: maker@demo', 'No disk.', 'Open pane'],
    ['Failed: tester@demo', '', 'Open pane'],
  ]);
  expect(open.mock.calls).toEqual([[bots[2]], [bots[4]]]);
  expect(botNeeds(bots, [], true, open).map(({ title }) => title)).toContain('maker@demo on Desk');
});

test('steps that wait are one row of their run, which leads to its board', () => {
  const campaigns = [
    { id: 'c1', title: 'Ship', needsYou: 1 },
    { id: 'c2', title: 'Quiet', needsYou: 0 },
    { id: 'c3', title: 'Docs', needsYou: 2 },
  ];
  expect(told((lead) => stepNeeds(campaigns, lead))).toMatchObject([
    {
      says: 'Needs you: Ship',
      text: '1 step waits for you',
      since: null,
      to: { to: '/work', search: { campaign: 'c1' } },
    },
    { says: 'Needs you: Docs', text: '2 steps wait for you', to: { to: '/work', search: { campaign: 'c3' } } },
  ]);
});

test('of what was sent to somebody the last alone counts, and only within a day', () => {
  const sent = (id: string, to: string, state: string, when = at) =>
    ({ id, to, state, at: when, detail: null }) as unknown as Delivery;
  const open = vi.fn();
  const scribe = bot({});
  const deliveries = [
    sent('d1', 'scribe@demo', 'failed'),
    sent('d2', 'maker@demo', 'verified'),
    sent('d3', 'maker@demo', 'failed'),
    sent('d4', 'gone@demo', 'unconfirmed'),
    sent('d5', 'old@demo', 'failed', '2026-03-03T11:59:59.000Z'),
  ];
  expect(told((lead) => lostNeeds(deliveries, [scribe], noon, lead, open))).toMatchObject([
    { says: 'Failed: Message to scribe@demo', act: 'Open pane', to: undefined },
    { says: 'Unconfirmed: Message to gone@demo', act: 'Open the floor', to: { to: '/floor' } },
  ]);
  expect(open.mock.calls).toEqual([[scribe]]);
});

test('a server that wants a sign-in or failed leads to where it is mended, on its own computer', () => {
  const server = (of: object) =>
    ({
      id: 's1',
      name: 'tracker',
      status: 'connected',
      error: null,
      updatedAt: at,
      transport: { type: 'http' },
      ...of,
    }) as AttachedServer;
  const servers = [
    server({}),
    server({ status: 'needs_reauth' }),
    server({ id: 's2', name: 'files', status: 'error', error: 'It ended.', transport: { type: 'stdio' } }),
    server({ status: 'disabled' }),
  ];
  expect(told((lead) => serverNeeds(servers, 'far', lead))).toEqual([
    {
      says: 'Needs sign-in: tracker',
      tone: 'need',
      text: '',
      since: at,
      act: 'Sign in',
      to: { to: '/connectors', search: { connector: 's1', computer: 'far' } },
    },
    {
      says: 'Error: files',
      tone: 'fail',
      text: 'It ended.',
      since: at,
      act: 'Open',
      to: { to: '/tools', search: { server: 'files', computer: 'far' } },
    },
  ]);
  expect(told((lead) => serverNeeds(servers.slice(1, 2), null, lead))[0]?.to).toEqual({
    to: '/connectors',
    search: { connector: 's1' },
  });
});

test('a number without a registration leads to the form; one that works, and one not yet known, need nobody', () => {
  const number = (of: object) =>
    ({
      id: 'n1',
      e164: '+12025550123',
      port: null,
      problem: null,
      smsState: 'none',
      voiceState: 'active',
      createdAt: at,
      ...of,
    }) as unknown as PhoneNumber;
  const numbers = [
    number({}),
    number({ id: 'n2', smsState: 'active' }),
    number({ id: 'n3' }),
    number({ id: 'n4', problem: 'Declined.' }),
  ];
  expect(told((lead) => numberNeeds(numbers, [null, undefined, undefined, undefined], lead))).toMatchObject([
    {
      says: 'Needs registration: +1 202 555 0123',
      act: 'Register',
      to: { to: '/phone', search: { number: 'n1', show: 'register' } },
    },
    { says: 'Not bought: +1 202 555 0123', tone: 'fail', text: 'Declined.', act: 'Correct' },
  ]);
});

test('a hosted computer has a row for each call that waits and one where it could not go on', () => {
  const computer = (of: object) =>
    ({ id: 'h1', name: 'Lab', status: 'running', sleeping: false, created_at: at, ...of }) as unknown as HostedComputer;
  const computers = [
    computer({}),
    computer({ id: 'h2', name: 'Old', status: 'error' }),
    computer({ id: 'h3', status: 'stopped' }),
  ];
  const asked = [[{ id: 'q1', requested_at: at, words: 'Type a password' }], undefined, undefined];
  expect(told((lead) => hostedNeeds(computers, asked, lead))).toMatchObject([
    { says: 'Needs you: Lab', text: 'Type a password', to: { to: '/computers', search: { hosted: 'h1' } } },
    {
      says: 'Error: Old',
      text: 'This computer failed to start or stopped unexpectedly.',
      to: { search: { hosted: 'h2' } },
    },
  ]);
});

test.each([
  [799, []],
  [800, ['Budget nearly reached: Usage this month', '80% of the budget is spent']],
  [1000, ['Budget reached: Usage this month', '100% of the budget is spent']],
])('of 1000 cents %i are spent: %j', (spent, expected) => {
  const rows = told((lead) => budgetNeeds({ budgetCents: 1000, alertPercent: 80 }, spent, lead));
  expect(rows.flatMap(({ says, text }) => [says, text])).toEqual(expected);
  expect(rows.every(({ to }) => JSON.stringify(to) === '{"to":"/settings/usage"}')).toBe(true);
});

test('without a budget, and before it is known what was spent, nothing is said of it', () => {
  expect(budgetNeeds({ budgetCents: null, alertPercent: 80 }, 5000, nowhere)).toEqual([]);
  expect(budgetNeeds({ budgetCents: 1000, alertPercent: 80 }, undefined, nowhere)).toEqual([]);
});

test('a limit of a day that is reached says whose it is', () => {
  const limits = [
    { subject: '*', reached: true },
    { subject: 'scribe@demo', reached: true },
    { subject: 'maker@demo', reached: false },
  ];
  const rows = told((lead) => limitNeeds(limits, lead));
  expect(rows.map(({ says }) => says)).toEqual(['Limit reached: All bots', 'Limit reached: scribe@demo']);
  expect(rows[0]?.to).toEqual({ to: '/settings/usage' });
});

test('a schedule says how often it was missed, since the last time', () => {
  const schedules = [
    { id: 's1', title: 'Nightly', missed: 1, last: { due: at } },
    { id: 's2', title: 'Weekly', missed: 3, last: null },
    { id: 's3', title: 'Well', missed: 0, last: null },
  ];
  expect(told((lead) => scheduleNeeds(schedules, lead))).toMatchObject([
    {
      says: 'Missed: Nightly',
      text: '1 run was missed while Gantry was not running',
      since: at,
      to: { href: '/work?schedules=1' },
    },
    { says: 'Missed: Weekly', text: '3 runs were missed while Gantry was not running', since: null },
  ]);
});

test('the link of the page, the home cloud and a floor that cannot be read say what is wrong', () => {
  const floors = [
    {
      place: { id: 'far', name: 'Far desk', since: at },
      error: new AppError('transport', 'It does not answer.', 'Start it.'),
    },
    { place: { id: 'here', name: 'Desk', since: null }, error: null },
  ];
  const rows = told((lead) => [
    ...linkNeeds(noon, lead),
    ...pairingNeeds({ state: 'off', problem: 'It refused this computer.', link: { since: at } }, lead),
    ...engineNeeds(floors, lead),
  ]);
  expect(rows).toMatchObject([
    {
      says: 'Off: This page cannot reach Gantry',
      since: '2026-03-04T12:00:00.000Z',
      to: { to: '/settings/computers' },
    },
    {
      says: 'Problem: Link to the home cloud',
      text: 'It refused this computer.',
      since: at,
      to: { to: '/settings/computers' },
    },
    { says: 'Problem: Far desk', text: 'It does not answer.', since: at, to: { to: '/floor' } },
  ]);
  expect([
    ...linkNeeds(null, nowhere),
    ...pairingNeeds({ state: 'linked' }, nowhere),
    ...pairingNeeds(undefined, nowhere),
  ]).toEqual([]);
});

test('what has waited longest stands first, what has no time last', () => {
  const need = (key: string, since: string | null) => ({ key, since }) as Need;
  const rows = [need('none', null), need('late', '2026-03-04T11:00:00.000Z'), need('early', at)];
  expect(inOrder(rows).map(({ key }) => key)).toEqual(['early', 'late', 'none']);
});
