/**
 * Daily limits (UTC) for a bot, a team or all bots. A bot at its limit takes no more messages until the limit is raised, a person lets it continue
 * once, or the day ends; work under way is not touched. Must not know transcripts or queues.
 */
import { byName } from '../../contracts/common/by-name.ts';
import type { SpendLimit } from '../../contracts/factory/spending-routes.ts';
import type { Tx } from '../../kit/store/store.ts';
import { sumSpendByAgent } from '../models/index.ts';
import { dayOf, lookEveryMs, type MeteredBot, type MeteringDeps, nextDay, startOfDay } from './deps.ts';
import type { BudgetHold } from './holds.ts';

const microPerCent = 10_000;

interface Budgets {
  start(): Promise<void>;
  limits(): readonly SpendLimit[];
  set(subject: string, dailyCents: number | null, by: { actor: string; surface: string }): Promise<void>;
  /** One message more. */
  letOn(agentId: string): Promise<void>;
  /** A message was taken: its one-time permission is used up. */
  taken(agentId: string): void;
  /** The members of teams may have changed. */
  look(): void;
  close(): void;
}

interface Limit {
  readonly daily: number;
  toldDay: string | null;
}

export function createBudgets(deps: MeteringDeps): Budgets {
  const { store, clock, timers, bots } = deps;
  const limits = new Map<string, Limit>();
  const granted = new Set<string>();
  /** Millionths of a dollar of this day, by bot. */
  let spent = new Map<string, number>();
  let day = dayOf(clock.now());
  let cancel = () => {};
  let counting: Promise<void> | null = null;
  let again = false;
  let closed = false;

  const behind = (what: string, done: Promise<unknown>) => {
    done.catch((error: unknown) => {
      if (!closed) deps.log.warn(`${what} failed.`, { error: String(error) });
    });
  };
  const coversOf = (subject: string) => (bot: MeteredBot) =>
    subject === '*' || bot.team === subject || bot.address === subject;
  const spentBy = (subject: string): number =>
    bots
      .all()
      .filter(coversOf(subject))
      .reduce((sum, { id }) => sum + (spent.get(id) ?? 0), 0);

  /** Sums the current rows; one at a time, and once more for changes in between. */
  function count(): Promise<void> {
    again = true;
    counting ??= (async () => {
      while (again && !closed) {
        again = false;
        const now = clock.now();
        const sums = await store.read((tx) => sumSpendByAgent(tx, startOfDay(now)));
        spent = new Map([...sums].map(([id, { microUsd }]) => [id, microUsd]));
        await roll(now);
        judge(now);
      }
    })().finally(() => {
      counting = null;
    });
    return counting;
  }

  async function roll(now: number): Promise<void> {
    if (dayOf(now) === day) return;
    day = dayOf(now);
    granted.clear();
    await store.write((tx) => tx.run('DELETE FROM factory_spend_grant WHERE day <> ?', day));
  }

  function judge(now: number): void {
    const before = deps.holds.budgets;
    const next = new Map<string, BudgetHold>();
    const reached = [...limits].filter(([subject, { daily }]) => spentBy(subject) >= daily);
    for (const [subject, limit] of reached) {
      const reason = `${whose(subject)} spent ${dollars(spentBy(subject))} of ${dollars(limit.daily)} a day`;
      if (limit.toldDay !== day) tell(subject, limit, reason);
      for (const { id } of bots.all().filter(coversOf(subject))) {
        if (next.has(id) || granted.has(id)) continue;
        next.set(id, { agentId: id, reason, until: nextDay(now), since: before.get(id)?.since ?? now });
      }
    }
    deps.holds.budgets = next;
    for (const id of new Set([...before.keys(), ...next.keys()])) {
      if (before.get(id)?.reason !== next.get(id)?.reason) deps.changed(id);
    }
    arm();
  }

  /** Once a day, and again after it was raised and reached a second time. */
  function tell(subject: string, limit: Limit, reason: string): void {
    limit.toldDay = day;
    const said = `${reason}. Raise the limit, or let a bot continue once.`;
    behind(
      'Telling of a limit that was reached',
      store.write((tx) => {
        const { changes } = tx.run(
          'UPDATE factory_spend_limit SET told_day = ? WHERE workspace = ? AND subject = ? AND told_day IS NOT ?',
          day,
          deps.workspace,
          subject,
          day,
        );
        const id = `limit:${subject}:${day}:${limit.daily}`;
        if (changes > 0) deps.needsPerson(tx, subject.includes('@') ? subject : null, said, id);
      }),
    );
  }

  function arm(): void {
    cancel();
    if (closed || (spent.size === 0 && granted.size === 0)) return;
    const left = nextDay(clock.now()) - clock.now();
    cancel = timers.after(Math.min(left, lookEveryMs), () => {
      if (dayOf(clock.now()) === day) arm();
      else behind('Beginning a day of limits', count());
    });
  }

  const offSpent = deps.models.onSpent(() => {
    if (limits.size > 0) behind('Counting what bots spent', count());
  });

  return {
    async start() {
      await store.read((tx) => {
        const rows = tx.all<{ subject: string; daily: number; told_day: string | null }>(
          'SELECT subject, daily, told_day FROM factory_spend_limit WHERE workspace = ?',
          deps.workspace,
        );
        for (const { subject, daily, told_day: toldDay } of rows) limits.set(subject, { daily, toldDay });
        for (const { id } of tx.all<{ id: string }>(
          'SELECT agent_id AS id FROM factory_spend_grant WHERE day = ?',
          day,
        )) {
          granted.add(id);
        }
      });
      if (limits.size > 0) await count();
    },
    limits: () =>
      [...limits]
        .sort(([a], [b]) => byName(a, b))
        .map(([subject, { daily }]) => ({
          subject,
          dailyCents: Math.round(daily / microPerCent),
          spentCents: spentBy(subject) / microPerCent,
          reached: spentBy(subject) >= daily,
        })),
    async set(subject, dailyCents, by) {
      await store.write((tx) => {
        write(tx, deps.workspace, subject, dailyCents);
        const body = { v: 1, limit: subject, dailyCents };
        deps.ledger.append(tx, { type: 'spending.limit', ...by, subject: `spending:${subject}`, body });
      });
      if (dailyCents === null) limits.delete(subject);
      else limits.set(subject, { daily: dailyCents * microPerCent, toldDay: null });
      await count();
    },
    async letOn(agentId) {
      await store.write((tx) =>
        tx.run('INSERT OR REPLACE INTO factory_spend_grant (agent_id, day) VALUES (?, ?)', agentId, day),
      );
      granted.add(agentId);
      judge(clock.now());
    },
    taken(agentId) {
      if (!granted.delete(agentId)) return;
      behind(
        'Using up what was granted',
        store.write((tx) => tx.run('DELETE FROM factory_spend_grant WHERE agent_id = ?', agentId)),
      );
      judge(clock.now());
    },
    look() {
      if (limits.size > 0) judge(clock.now());
    },
    close() {
      closed = true;
      cancel();
      offSpent();
    },
  };
}

function write(tx: Tx, workspace: string, subject: string, dailyCents: number | null): void {
  if (dailyCents === null) {
    tx.run('DELETE FROM factory_spend_limit WHERE workspace = ? AND subject = ?', workspace, subject);
    return;
  }
  tx.run(
    `INSERT INTO factory_spend_limit (workspace, subject, daily, told_day) VALUES (?, ?, ?, NULL)
     ON CONFLICT (workspace, subject) DO UPDATE SET daily = excluded.daily, told_day = NULL`,
    workspace,
    subject,
    dailyCents * microPerCent,
  );
}

function whose(subject: string): string {
  if (subject === '*') return 'all bots together';
  return subject.includes('@') ? `${subject}` : `the team ${subject}`;
}

function dollars(micro: number): string {
  return `$${(micro / 1e6).toFixed(2)}`;
}
