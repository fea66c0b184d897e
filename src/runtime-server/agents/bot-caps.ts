/**
 * Keeps sandboxed bots in their limits of memory and processes, and tells when one was enforced. What the kernel holds is only counted; what it cannot
 * hold here is looked at every few seconds. Knows bots by the labels of their panes, so a restarted runtime keeps them. Must not know teams.
 */
import type { Agent } from '../../contracts/factory/agent.ts';
import { type CapKeeper, type CapName, capNames } from '../../kit/sandbox/caps.ts';
import { enforce } from '../../kit/sandbox/watch.ts';
import type { Base } from '../base/base.ts';
import type { BotCaps as Caps } from '../harness/harness.ts';
import type { PaneEngine, PaneInfo } from '../panes/pane-engine.ts';
import { capsIn, labelsOf } from './pane-labels.ts';

interface BotCaps {
  start(): void;
  close(): void;
  /** Of a live bot; absent where it has none. */
  of(agentId: string): Pick<Agent, 'caps'>;
  /** Which limit it went over just before its program was ended, as the end of a sentence; null: none. */
  endedOver(pane: PaneInfo): string | null;
}

interface Hits {
  /** What the kernel had counted at the last look. */
  readonly counted: Record<CapName, number>;
  readonly all: Record<CapName, number>;
  readonly last: Record<CapName, number | null>;
}

interface Capped {
  readonly agentId: string;
  readonly pane: PaneInfo;
  readonly caps: Caps;
}

/** Milliseconds between two checks, so that a limit that was reached is reported within five seconds. */
const looksEvery = 2000;
/** The end of a program that a look ended is reported sooner. */
const justBefore = 2 * looksEvery;

export function createBotCaps(
  deps: Pick<Base, 'clock' | 'timers' | 'log'> & {
    readonly panes: Pick<PaneEngine, 'list'>;
    readonly keeper: CapKeeper;
  },
): BotCaps {
  const { keeper } = deps;
  /** By pane. */
  const seen = new Map<string, Hits>();
  let cancel = () => {};
  let hasBegun = false;
  let closed = false;

  function cappedIn(pane: PaneInfo): Capped | null {
    const labels = labelsOf(pane.labels);
    const { caps } = labels === null ? {} : capsIn(labels);
    return labels === null || caps === undefined ? null : { agentId: labels.agent, pane, caps };
  }

  function capped(): Capped[] {
    return deps.panes.list().flatMap((pane) => (pane.alive ? (cappedIn(pane) ?? []) : []));
  }

  function hitsOf({ pane, agentId }: Capped): Hits {
    const known = seen.get(pane.id);
    if (known !== undefined) return known;
    const hits = {
      // A bot that has started since may have reached it before the first look; its group was new.
      counted: hasBegun ? { memory: 0, processes: 0 } : { ...keeper.hits(agentId) },
      all: { memory: 0, processes: 0 },
      last: { memory: null, processes: null },
    };
    seen.set(pane.id, hits);
    return hits;
  }

  function tell(bot: Capped, what: CapName, times: number): void {
    const hits = hitsOf(bot);
    hits.all[what] += times;
    hits.last[what] = deps.clock.now();
    deps.log.warn(`A bot reached its limit of ${what}.`, { agentId: bot.agentId, limit: bot.caps[what], times });
  }

  async function look(): Promise<void> {
    const bots = capped();
    for (const bot of bots) {
      const hits = hitsOf(bot);
      const counted = keeper.hits(bot.agentId);
      for (const what of capNames) {
        const more = since(hits.counted[what], counted[what]);
        hits.counted[what] = counted[what];
        if (keeper.heldBy[what] === 'cgroup' && more > 0) tell(bot, what, more);
      }
      const watched = Object.fromEntries(
        capNames.filter((what) => keeper.heldBy[what] === 'watched').map((what) => [what, bot.caps[what]]),
      );
      if (Object.values(watched).every((limit) => limit === undefined)) continue;
      for (const what of await enforce(bot.pane.pid, watched)) tell(bot, what, 1);
    }
    const live = new Set(bots.map(({ pane }) => pane.id));
    for (const id of seen.keys()) if (!live.has(id)) seen.delete(id);
  }

  function later(): void {
    if (closed) return;
    cancel = deps.timers.after(looksEvery, () => {
      look()
        .catch((error: unknown) => deps.log.warn('Limits of bots could not be checked.', { error: String(error) }))
        .finally(later);
    });
  }

  return {
    start() {
      const bots = capped();
      keeper.tidy(new Set(bots.map(({ agentId }) => agentId)));
      for (const bot of bots) hitsOf(bot);
      hasBegun = true;
      later();
    },
    close() {
      closed = true;
      cancel();
    },
    of(agentId) {
      const bot = capped().find((one) => one.agentId === agentId);
      if (bot === undefined) return {};
      const hits = hitsOf(bot);
      const caps = capNames.flatMap((what) => {
        const limit = bot.caps[what];
        if (limit === undefined) return [];
        const last = hits.last[what];
        const at = last === null ? null : new Date(last).toISOString();
        return [{ what, limit, heldBy: keeper.heldBy[what], hits: hits.all[what], last: at }];
      });
      return { caps };
    },
    endedOver(pane) {
      const bot = cappedIn(pane);
      if (bot?.caps.memory === undefined) return null;
      const hits = hitsOf(bot);
      const isCounted =
        keeper.heldBy.memory === 'cgroup' && since(hits.counted.memory, keeper.hits(bot.agentId).memory) > 0;
      const last = hits.last.memory;
      const isRecent = last !== null && deps.clock.now() - last < justBefore;
      return isCounted || isRecent ? `it was over its ${bot.caps.memory} MiB of memory` : null;
    },
  };
}

/** A new group counts from zero again. */
const since = (before: number, now: number): number => (now < before ? now : now - before);
