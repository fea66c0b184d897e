/**
 * A person's usage in a month and its alerts: `usage.threshold` once when the budget's alert is crossed and once when the whole budget is spent, in
 * the transaction of the line that crosses it. Other areas of the cloud add their lines through `record`. Must not know who gets the alert.
 */
import type { EventData } from '../../contracts/events/registry.ts';
import { getBudget, getUsage, reportUsage, setBudget } from '../../contracts/usage/routes.ts';
import { type Clock, iso } from '../../kit/clock/clock.ts';
import { type BoundRoute, bind } from '../../kit/http/types.ts';
import type { Op, SharedStore, SharedTx } from '../../kit/store/shared-store.ts';
import { addLine, type NewLine, readBudget, spentCents, sumLines, writeBudget } from './store.ts';

export { usageMigrations } from './migrations.ts';

/** Adds to a person's usage, in the transaction of the cause; each line once by its id. Returns how many were new. */
export type RecordUsage = (
  tx: SharedTx,
  userId: string,
  lines: readonly Omit<NewLine, 'userId' | 'month'>[],
) => Op<number>;

interface Usage {
  readonly routes: readonly BoundRoute[];
  readonly record: RecordUsage;
}

const whole = 100;

export function createUsage({
  store,
  clock,
  events,
}: {
  readonly store: SharedStore;
  readonly clock: Clock;
  readonly events: {
    emit(
      tx: SharedTx,
      event: {
        readonly userId: string;
        readonly type: 'usage.threshold';
        readonly sourceId: string;
        readonly occurredAt: number;
        readonly data: EventData<'usage.threshold'>;
      },
    ): Op<boolean>;
  };
}): Usage {
  const monthOf = (at: number) => iso(at).slice(0, 'yyyy-mm'.length);

  /** Every level reached now that was not announced yet; the source id tells which were. */
  function* tellThresholds(tx: SharedTx, userId: string, month: string): Op<void> {
    const { budgetCents, alertPercent } = yield* readBudget(tx, userId);
    if (budgetCents === null) return;
    const spent = yield* spentCents(tx, userId, month);
    const percent = Math.floor((spent * whole) / budgetCents);
    for (const level of new Set([alertPercent, whole])) {
      if (percent < level) continue;
      yield* events.emit(tx, {
        userId,
        type: 'usage.threshold',
        sourceId: `${userId}:${month}:${level}:${budgetCents}`,
        occurredAt: clock.now(),
        data: { month, level, percent, spentCents: spent, budgetCents },
      });
    }
  }

  function* record(tx: SharedTx, userId: string, lines: readonly Omit<NewLine, 'userId' | 'month'>[]): Op<number> {
    const months = new Set<string>();
    let added = 0;
    for (const line of lines) {
      const month = monthOf(line.at);
      if (!(yield* addLine(tx, { ...line, userId, month }))) continue;
      months.add(month);
      added += 1;
    }
    for (const month of months) yield* tellThresholds(tx, userId, month);
    return added;
  }

  return {
    record,
    routes: [
      bind(reportUsage, async ({ principal: { userId, computerId = null as string | null }, body }) => {
        const lines = body.lines.map(({ id, at, botId, runId, model, cents }) => ({
          id,
          botId,
          runId,
          computerId,
          kind: 'model' as const,
          name: model,
          at: Date.parse(at),
          thousandths: 1000,
          microUsd: Math.round(cents * 10_000),
        }));
        return { body: { accepted: await store.write((tx) => record(tx, userId, lines)) } };
      }),
      bind(getUsage, async ({ principal: { userId }, query }) => {
        const month = query.month ?? monthOf(clock.now());
        return {
          body: await store.read(function* (tx) {
            return {
              month,
              spentCents: yield* spentCents(tx, userId, month),
              lines: yield* sumLines(tx, userId, month),
            };
          }),
        };
      }),
      bind(getBudget, async ({ principal }) => ({ body: await store.read((tx) => readBudget(tx, principal.userId)) })),
      bind(setBudget, async ({ principal: { userId }, body }) => {
        const budget = await store.write(function* (tx) {
          const next = { ...(yield* readBudget(tx, userId)), ...body };
          yield* writeBudget(tx, userId, next);
          yield* tellThresholds(tx, userId, monthOf(clock.now()));
          return next;
        });
        return { body: budget };
      }),
    ],
  };
}
