/** Rows for parts of Gantry other than bots: what was read of a part → what Home shows of it. Must not know how it is read. */
import type { HostedComputer } from '../../../contracts/hosted-computers/computer.ts';
import type { PhoneNumber } from '../../../contracts/phone/number.ts';
import type { Registration } from '../../../contracts/phone/registration.ts';
import type { AttachedServer } from '../../../contracts/tool-server/servers.ts';
import { describeProblem } from '../../ui/describe-problem.ts';
import { connectionStatus, hostedStatus, occurrenceStatus, serverStatus } from '../../ui/status.tsx';
import { numberStatus } from '../phone/phone-status.ts';
import { numberWords } from '../phone/phone-words.ts';
import { type Lead, type Need, needLook, troubleLook } from './need.ts';

/** Tool servers, and the services of connectors, which are tool servers, too. `computer`: the one they belong to; null: this one. */
export const serverNeeds = (servers: readonly AttachedServer[], computer: string | null, lead: Lead): Need[] =>
  servers
    .filter(({ status }) => status === 'needs_reauth' || status === 'error')
    .map(({ id, name, status, error, transport, updatedAt }) => ({
      key: id,
      since: updatedAt,
      look: serverStatus[status],
      wire: status,
      title: name,
      text: error ?? '',
      act: {
        word: status === 'needs_reauth' ? 'Sign in' : 'Open',
        run: () =>
          transport.type === 'http'
            ? lead({ to: '/connectors', search: { connector: id, ...on(computer) } })
            : lead({ to: '/tools', search: { server: name, ...on(computer) } }),
      },
    }));

const on = (computer: string | null) => (computer === null ? {} : { computer });

/** `registrations`: of each number in its place; null: none was filed; undefined: it is not known. */
export const numberNeeds = (
  numbers: readonly PhoneNumber[],
  registrations: readonly (Registration | null | undefined)[],
  lead: Lead,
): Need[] =>
  numbers.flatMap((one, index): Need[] => {
    const registration = registrations[index];
    const look = numberStatus(one, registration);
    if (look.tone !== 'need' && look.tone !== 'fail') return [];
    return [
      {
        key: one.id,
        since: one.createdAt,
        look,
        wire: one.smsState,
        title: numberWords(one.e164),
        text: one.problem ?? '',
        act: {
          word: registration === null ? 'Register' : 'Correct',
          run: () =>
            lead({ to: '/phone', search: { number: one.id, show: one.port === null ? 'register' : undefined } }),
        },
      },
    ];
  });

/** Hosted computers with calls that wait for an answer, or that could not continue. `asked`: the questions of each. */
export function hostedNeeds(
  computers: readonly HostedComputer[],
  asked: readonly (
    | readonly { readonly id: string; readonly requested_at: string; readonly words: string }[]
    | undefined
  )[],
  lead: Lead,
): Need[] {
  const row = (id: string, name: string, more: Pick<Need, 'key' | 'since' | 'look' | 'wire' | 'text'>): Need => ({
    title: name,
    act: { word: 'Open', run: () => lead({ to: '/computers', search: { hosted: id } }) },
    ...more,
  });
  return [
    ...computers.flatMap(({ id, name }, index) =>
      (asked[index] ?? []).map((one) =>
        row(id, name, { key: one.id, since: one.requested_at, look: needLook, wire: 'awaiting', text: one.words }),
      ),
    ),
    ...computers
      .filter(({ status }) => status === 'error')
      .map((one) =>
        row(one.id, one.name, {
          key: one.id,
          since: one.created_at,
          look: hostedStatus(one),
          wire: one.status,
          text: 'This computer failed to start or stopped unexpectedly.',
        }),
      ),
  ];
}

export function budgetNeeds(
  budget: { readonly budgetCents: number | null; readonly alertPercent: number } | undefined,
  spentCents: number | undefined,
  lead: Lead,
): Need[] {
  if (budget?.budgetCents == null || spentCents === undefined) return [];
  const percent = Math.floor((100 * spentCents) / budget.budgetCents);
  if (percent < budget.alertPercent) return [];
  return [
    {
      key: 'budget',
      since: null,
      look: { ...needLook, word: percent >= 100 ? 'Budget reached' : 'Budget nearly reached' },
      wire: 'budget',
      title: 'Usage this month',
      text: `${percent}% of the budget is spent`,
      act: { word: 'View usage', run: () => lead({ to: '/settings/usage' }) },
    },
  ];
}

/** What bots may spend a day, and did. */
export const limitNeeds = (
  limits: readonly { readonly subject: string; readonly reached: boolean }[],
  lead: Lead,
): Need[] =>
  limits
    .filter(({ reached }) => reached)
    .map(({ subject }) => ({
      key: `limit-${subject}`,
      since: null,
      look: { ...needLook, word: 'Limit reached' },
      wire: 'limit',
      title: subject === '*' ? 'All bots' : subject,
      text: 'Today’s budget is spent. Messages wait until tomorrow, or until you raise the limit.',
      act: { word: 'View limits', run: () => lead({ to: '/settings/usage' }) },
    }));

/** Times at which a template should have run and Gantry did not. */
export const scheduleNeeds = (
  schedules: readonly {
    readonly id: string;
    readonly title: string;
    readonly missed: number;
    readonly last: { readonly due: string } | null;
  }[],
  lead: Lead,
): Need[] =>
  schedules
    .filter(({ missed }) => missed > 0)
    .map(({ id, title, missed, last }) => ({
      key: id,
      since: last?.due ?? null,
      look: occurrenceStatus.missed,
      wire: 'missed',
      title,
      text: `${missed} ${missed === 1 ? 'run was' : 'runs were'} missed while Gantry was not running`,
      act: { word: 'View schedule', run: () => lead({ href: '/work?schedules=1' }) },
    }));

/** This page does not reach Gantry; null: since when, and it does. */
export const linkNeeds = (offSince: number | null, lead: Lead): Need[] =>
  offSince === null
    ? []
    : [
        {
          key: 'link',
          since: new Date(offSince).toISOString(),
          look: connectionStatus.off,
          wire: 'off',
          title: 'This page cannot reach Gantry',
          text: 'It shows the last known state and reconnects automatically.',
          act: { word: 'View computers', run: () => lead({ to: '/settings/computers' }) },
        },
      ];

/** The link of this computer to the home cloud. */
export const pairingNeeds = (
  pairing:
    | {
        readonly state: string;
        readonly problem?: string | undefined;
        readonly link?: { readonly since: string | null } | null | undefined;
      }
    | undefined,
  lead: Lead,
): Need[] =>
  pairing?.problem === undefined
    ? []
    : [
        {
          key: 'pairing',
          since: pairing.link?.since ?? null,
          look: troubleLook,
          wire: pairing.state,
          title: 'Link to the home cloud',
          text: pairing.problem,
          act: { word: 'Open settings', run: () => lead({ to: '/settings/computers' }) },
        },
      ];

/** Floors that could not be read. */
export const engineNeeds = (
  floors: readonly {
    readonly place: { readonly id: string; readonly name: string; readonly since: string | null };
    readonly error: unknown;
  }[],
  lead: Lead,
): Need[] =>
  floors
    .filter(({ error }) => error !== null && error !== undefined)
    .map(({ place, error }) => ({
      key: `engine-${place.id}`,
      since: place.since,
      look: troubleLook,
      wire: 'engine',
      title: place.name,
      text: describeProblem(error).fact,
      act: { word: 'Open the floor', run: () => lead({ to: '/floor' }) },
    }));
