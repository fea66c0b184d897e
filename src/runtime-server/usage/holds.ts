/**
 * The current hold of each bot, and its effect on the bot's state. Written by usage limits of providers, by budgets and by steps whose bot stays
 * silent. Depends on nothing else, so
 * it exists before its readers: the parts that show bots, deliver to them and give them steps.
 */
import type { BotHold } from '../../contracts/factory/spending-routes.ts';
import { iso } from '../../kit/clock/clock.ts';
import type { Shown } from '../agents/model.ts';

/** A usage limit of a provider. */
export interface LimitHold {
  readonly agentId: string;
  readonly reason: string;
  /** As the harness reports. */
  readonly until: number | null;
  /** When it is tried; null: a person decides. */
  readonly retryAt: number | null;
  readonly since: number;
  /** A turn was cut off. */
  readonly cut: boolean;
  /** The bot's account that met it; null: unknown. */
  readonly account: string | null;
}

export interface BudgetHold {
  readonly agentId: string;
  readonly reason: string;
  readonly until: number;
  readonly since: number;
}

export interface Holds {
  /** By agent id. */
  readonly limits: Map<string, LimitHold>;
  /** By agent id; replaced as a whole. */
  budgets: ReadonlyMap<string, BudgetHold>;
  /** The hold on a bot, a usage limit before a budget; null: none. */
  of(agentId: string): BotHold | null;
  /** What was seen of a bot that has a step and stays silent, by agent id: shown as the reason of its state. */
  readonly silences: Map<string, string>;
  /** Why this bot takes no message now; null: nothing here holds it. */
  held(agentId: string): string | null;
  /** The budget among that: a question to a person. */
  overBudget(agentId: string): string | null;
  /** Its state, including the hold. */
  shown(agentId: string, own: Shown): Shown;
}

/** States in which a bot could take a message: what holds it is the news then. */
const couldGoOn: readonly string[] = ['idle', 'done', 'blocked'];

export function createHolds(): Holds {
  const holds: Holds = {
    limits: new Map(),
    budgets: new Map(),
    silences: new Map(),
    of(agentId) {
      const limit = holds.limits.get(agentId);
      if (limit !== undefined) {
        const until = limit.retryAt === null ? null : iso(limit.retryAt);
        return { agentId, kind: 'usage_limit', reason: wordsOf(limit), until, since: iso(limit.since) };
      }
      const budget = holds.budgets.get(agentId);
      if (budget === undefined) return null;
      return {
        agentId,
        kind: 'budget',
        reason: questionOf(budget),
        until: iso(budget.until),
        since: iso(budget.since),
      };
    },
    held: (agentId) => holds.of(agentId)?.reason ?? null,
    overBudget(agentId) {
      const hold = holds.of(agentId);
      return hold?.kind === 'budget' ? hold.reason : null;
    },
    shown(agentId, own) {
      const hold = couldGoOn.includes(own.state) ? holds.of(agentId) : null;
      if (hold === null) return withSilence(own, holds.silences.get(agentId));
      return {
        state: hold.until === null ? 'needs_you' : 'blocked',
        reason: hold.reason,
        since: Date.parse(hold.since),
      };
    },
  };
  return holds;
}

/** States of a bot of which more is expected. Any other has a reason of its own. */
const couldWork: readonly string[] = ['idle', 'working', 'checking', 'done'];

function withSilence(own: Shown, seen: string | undefined): Shown {
  return seen === undefined || !couldWork.includes(own.state) ? own : { ...own, reason: seen };
}

export function wordsOf({ reason, until, retryAt }: LimitHold): string {
  if (retryAt !== null) return `${reason} It tries again at ${iso(retryAt)}.`;
  if (until !== null) return `${reason} The limit resets at ${iso(until)}, but waiting for resets is switched off.`;
  return `${reason} When the limit resets is unknown: let it continue when it can.`;
}

/** The question that its queue and its nodes ask a person. */
function questionOf({ reason, until }: BudgetHold): string {
  return `budget: ${reason}. Raise the limit or let it continue once; otherwise it continues at ${iso(until)}.`;
}
