/**
 * The carrier's charges for a person's numbers, as lines of their usage: a number at its start and each month, a business and its campaigns, and each
 * text and call at the carrier's price. Each line has an id, so a line reported twice counts once. If the carrier gives no price, or one in another
 * currency than US dollars, nothing is guessed. Must not know budgets.
 */
import type { UsageLine } from '../../contracts/usage/routes.ts';
import type { Op, SharedTx } from '../../kit/store/shared-store.ts';
import type { RecordUsage } from '../usage/index.ts';

/** The person of a fee, with the number and the bot that had it then. */
export interface FeeOf {
  readonly userId: string;
  readonly e164: string;
  readonly botId: string | null;
  readonly computerId: string | null;
}

const microPerDollar = 1_000_000;
const one = 1000;

/** Millionths of a dollar; null: no price, or in another currency. `0.0040`, `1.00 USD`. */
export function microUsdOf(amount: string | null | undefined, currency = 'USD'): number | null {
  const [, number, unit = currency] = /^\s*(\d+(?:\.\d+)?)(?:\s+([A-Z]{3}))?\s*$/.exec(amount ?? '') ?? [];
  return number === undefined || unit !== 'USD' ? null : Math.round(Number(number) * microPerDollar);
}

/**
 * The first day of each month since then, that day included, up to now: the carrier charges in advance. In UTC; a 31st is the last of a shorter
 * month.
 */
export function monthsSince(since: number, now: number): number[] {
  const start = new Date(since);
  const starts: number[] = [];
  for (let month = 0; ; month += 1) {
    const first = new Date(since);
    first.setUTCDate(1);
    first.setUTCMonth(start.getUTCMonth() + month);
    const days = new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1, 0)).getUTCDate();
    first.setUTCDate(Math.min(start.getUTCDate(), days));
    if (first.getTime() > now) return starts;
    starts.push(first.getTime());
  }
}

export interface Fees {
  /** Its start and every month that has begun. `since`: when it arrived here. */
  number(
    tx: SharedTx,
    of: FeeOf & { readonly id: string; readonly monthlyCost: string | null; readonly upfrontCost: string | null },
    since: number,
    now: number,
  ): Op<void>;
  /** A business was registered. */
  brand(tx: SharedTx, of: FeeOf, brandKey: string, at: number): Op<void>;
  /** Its review and every month that has begun. `ahead`: months that are paid when it is filed. */
  campaign(
    tx: SharedTx,
    of: FeeOf,
    campaign: { readonly key: string; readonly monthly: string; readonly ahead: number },
    since: number,
    now: number,
  ): Op<void>;
  text(
    tx: SharedTx,
    of: FeeOf,
    text: { readonly id: string; readonly at: number; readonly microUsd: number },
  ): Op<void>;
  call(
    tx: SharedTx,
    of: FeeOf,
    leg: { readonly id: string; readonly at: number; readonly microUsd: number; readonly seconds: number },
  ): Op<void>;
}

/** List prices of the carriers' registry, in US dollars. */
export const registryPrices = { brand: '4.00', review: '15.00' } as const;

export function createFees(record: RecordUsage): Fees {
  const line = (
    { e164, botId, computerId }: FeeOf,
    kind: UsageLine['kind'],
    { id, at, microUsd, thousandths = one }: { id: string; at: number; microUsd: number; thousandths?: number },
  ) => ({ id: `phone:${id}`, kind, name: e164, computerId, botId, runId: null, at, thousandths, microUsd });

  return {
    *number(tx, of, since, now) {
      const monthly = microUsdOf(of.monthlyCost);
      const upfront = microUsdOf(of.upfrontCost);
      const lines = [
        ...(upfront === null || upfront === 0 ? [] : [{ id: `${of.id}:start`, at: since, microUsd: upfront }]),
        ...(monthly === null ? [] : monthsSince(since, now)).map((at, month) => {
          return { id: `${of.id}:month:${month}`, at, microUsd: monthly as number };
        }),
      ];
      yield* record(
        tx,
        of.userId,
        lines.map((each) => line(of, 'phone_number', each)),
      );
    },
    *brand(tx, of, brandKey, at) {
      const microUsd = microUsdOf(registryPrices.brand) ?? 0;
      yield* record(tx, of.userId, [line(of, 'phone_registration', { id: `brand:${brandKey}`, at, microUsd })]);
    },
    *campaign(tx, of, { key, monthly, ahead }, since, now) {
      const id = `campaign:${key}`;
      const microUsd = microUsdOf(monthly) ?? 0;
      const begun = monthsSince(since, now);
      const months = Math.max(begun.length, ahead);
      const lines = [
        { id: `${id}:review`, at: since, microUsd: microUsdOf(registryPrices.review) ?? 0 },
        ...Array.from({ length: months }, (_, month) => ({
          id: `${id}:month:${month}`,
          at: month < ahead ? since : (begun[month] ?? since),
          microUsd,
        })),
      ];
      yield* record(
        tx,
        of.userId,
        lines.map((each) => line(of, 'phone_registration', each)),
      );
    },
    *text(tx, of, { id, at, microUsd }) {
      yield* record(tx, of.userId, [line(of, 'phone_text', { id, at, microUsd })]);
    },
    *call(tx, of, { id, at, microUsd, seconds }) {
      const thousandths = Math.round((seconds * one) / 60);
      yield* record(tx, of.userId, [line(of, 'phone_call', { id, at, microUsd, thousandths })]);
    },
  };
}
