/**
 * Usage: what bots use, their limits, and who is held until when. Hosted bots and bots in panes alike. Exports `createMetering`; must not know
 * queues, teams or screens.
 */
import { AppError } from '../../contracts/common/errors.ts';
import {
  type BotHold,
  getSpending,
  getUsageDays,
  letBotGoOn,
  setSpendLimit,
  setWaitOut,
  type Used,
} from '../../contracts/factory/spending-routes.ts';
import { iso } from '../../kit/clock/clock.ts';
import { surfaceOf } from '../../kit/http/principals.ts';
import { type BoundRoute, bind } from '../../kit/http/types.ts';
import { type SpendSum, sumSpendByAgent, sumSpendByDay, unpricedModels } from '../models/index.ts';
import { createBudgets } from './budgets.ts';
import { dayMs, dayOf, type MeteringDeps, startOfDay, startOfMonth } from './deps.ts';
import { createReading } from './reading.ts';
import { createWaiting } from './waiting.ts';

export { meteringMigrations } from './migrations.ts';

export interface Metering {
  /** After the bots of the workspace are known, and before anything is delivered: from here on limits hold them. */
  load(): Promise<void>;
  /** After runs were restored: holds with an end continue, and transcripts are read. */
  start(): void;
  /** A message was taken by it. */
  taken(agentId: string): void;
  readonly routes: readonly BoundRoute[];
  close(): Promise<void>;
}

export function createMetering(deps: MeteringDeps): Metering {
  const { store, clock, bots } = deps;
  const reading = createReading(deps);
  const waiting = createWaiting({ ...deps, countNow: reading.now });
  const budgets = createBudgets(deps);
  const offState = bots.onState((agentId) => {
    reading.look(agentId);
    waiting.look(agentId);
    budgets.look();
  });

  /** Includes holds that the bot's own state already shows. */
  const anyHold = (agentId: string): BotHold | null => {
    const hold = deps.holds.of(agentId);
    if (hold !== null) return hold;
    const own = bots.modelHold(agentId);
    if (own === null) return null;
    const until = own.until === null ? null : iso(own.until);
    return { agentId, kind: 'model', reason: own.why, until, since: iso(own.since) };
  };

  function held(agentId: string): BotHold {
    const hold = anyHold(agentId);
    if (hold !== null) return hold;
    const name = bots.find(agentId)?.address ?? agentId;
    throw new AppError('refused', `No limit applies to ${name}, and nothing else holds it.`, 'Send it a message.', {
      status: 409,
    });
  }

  const routes = [
    bind(getSpending, async () => {
      const now = clock.now();
      const [today, month, unpriced] = await store.read((tx) => [
        sumSpendByAgent(tx, startOfDay(now)),
        sumSpendByAgent(tx, startOfMonth(now)),
        unpricedModels(tx, startOfMonth(now)),
      ]);
      const all = bots.all();
      return {
        body: {
          day: dayOf(now),
          today: usedOf([...today.values()]),
          month: usedOf([...month.values()]),
          bots: all.map(({ id, address }) => ({
            agentId: id,
            address,
            today: usedOf([today.get(id)]),
            month: usedOf([month.get(id)]),
          })),
          unpricedModels: unpriced,
          limits: [...budgets.limits()],
          holds: all.flatMap(({ id }) => anyHold(id) ?? []),
          waitOut: waiting.waitOut,
        },
      };
    }),
    bind(getUsageDays, async ({ query: { by = 'day', days = defaultDays } }) => {
      const now = clock.now();
      const since = startOfDay(now) - (days - 1) * dayMs;
      const rows = await store.read((tx) => sumSpendByDay(tx, since, by));
      const nameOf = (key: string | null) => (key === null || by !== 'bot' ? key : (bots.find(key)?.address ?? key));
      return {
        body: {
          from: dayOf(since),
          to: dayOf(now),
          by,
          rows: rows.map(({ day, key, ...sum }) => ({ day: dayOf(day * dayMs), name: nameOf(key), ...usedOf([sum]) })),
        },
      };
    }),
    bind(setSpendLimit, async ({ body: { subject, dailyCents, dryRun }, principal }) => {
      checkSubject(subject, dailyCents);
      const from = budgets.limits().find((one) => one.subject === subject)?.dailyCents ?? null;
      if (dryRun === true) return { body: { dryRun: true as const, plan: { subject, from, to: dailyCents } } };
      await budgets.set(subject, dailyCents, { actor: principal.userId, surface: surfaceOf(principal) });
      return { body: { limits: [...budgets.limits()] } };
    }),
    bind(setWaitOut, async ({ body: { on } }) => {
      await waiting.setWaitOut(on);
      return { body: { waitOut: waiting.waitOut } };
    }),
    bind(letBotGoOn, async ({ params, body }) => {
      const id = bots.find(params.id)?.id ?? params.id;
      const hold = held(id);
      if (body.dryRun === true) return { body: { dryRun: true as const, plan: { hold } } };
      if (hold.kind === 'usage_limit') await waiting.letOn(id);
      else if (hold.kind === 'model') bots.unblock(id);
      else await budgets.letOn(id);
      return { body: { hold } };
    }),
  ];

  /** A limit for an unknown bot is a typing mistake; one of a removed bot may still be deleted. */
  function checkSubject(subject: string, dailyCents: number | null): void {
    const known = subject === '*' || bots.all().some((bot) => bot.address === subject || bot.team === subject);
    if (known || dailyCents === null) return;
    throw new AppError(
      'not_found',
      `No bot or team is called ${JSON.stringify(subject)}.`,
      'Name a bot (coder@dev), a team, or "*" for all bots.',
    );
  }

  return {
    async load() {
      await waiting.load();
      await budgets.start();
    },
    start() {
      waiting.start();
      reading.start();
    },
    taken: budgets.taken,
    routes,
    async close() {
      offState();
      waiting.close();
      budgets.close();
      await reading.close();
    },
  };
}

const microPerCent = 10_000;
const defaultDays = 30;

function usedOf(sums: readonly (SpendSum | undefined)[]): Used {
  const of = (pick: (sum: SpendSum) => number) =>
    sums.reduce((all, sum) => all + (sum === undefined ? 0 : pick(sum)), 0);
  return {
    requests: of((sum) => sum.requests),
    inputTokens: of((sum) => sum.input),
    outputTokens: of((sum) => sum.output),
    cents: of((sum) => sum.microUsd) / microPerCent,
    unpriced: of((sum) => sum.unpriced),
  };
}
