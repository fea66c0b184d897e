/**
 * Keeps sandboxed bots in their limits, and tells when one was enforced. What the kernel holds is only counted; what it cannot hold here is looked at
 * every few seconds. Knows bots by the labels of their panes, so a restarted runtime keeps them; programs without a pane are named to it. Must not know teams.
 */
import type { Agent } from '../../contracts/factory/agent.ts';
import { type CapKeeper, type CapName, capNames } from '../../kit/sandbox/caps.ts';
import { createDiskWatch, type Disk, type DiskWatch } from '../../kit/sandbox/disk-watch.ts';
import type { Limit } from '../../kit/sandbox/groups.ts';
import { enforce } from '../../kit/sandbox/watch.ts';
import type { Base } from '../base/base.ts';
import type { BotCaps as Caps } from '../harness/harness.ts';
import type { PaneEngine, PaneInfo } from '../panes/pane-engine.ts';
import { capsIn, diskIn, labelsOf } from './pane-labels.ts';

interface CappedProgram {
  readonly agentId: string;
  /** Leads the session of what runs in its sandbox. */
  readonly pid: number;
  readonly caps: Caps;
  /** Null if nothing says what it may write. */
  readonly disk: Disk | null;
}

export interface BotCaps {
  start(): void;
  close(): void;
  /** For a program without a pane, until what this returns is called. */
  follow(program: CappedProgram): () => void;
  /** Of a live bot; absent where it has none. */
  of(agentId: string): Pick<Agent, 'caps'>;
  /** Which limit it went over just before its program was ended, as the end of a sentence; null: none. */
  endedOver(pane: PaneInfo): string | null;
}

interface Hits {
  /** What the kernel had counted at the last look. */
  readonly counted: Record<Limit, number>;
  /** Whether its programs had to wait for the processor before the last look. */
  waited: boolean;
  readonly all: Record<CapName, number>;
  readonly last: Record<CapName, number | null>;
}

interface Capped extends CappedProgram {
  /** Its pane, or its program where it has none. */
  readonly id: string;
}

/** Milliseconds between two checks, so that a limit that was reached is reported within five seconds. */
const looksEvery = 2000;
/** More often, because what is on the disk stays there. */
const looksAtDisksEvery = 1000;
/** Where bots have very many files, a look takes long. */
const looksAtOnce = 4;
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
  /** By pane and program: a pane whose program starts again counts from there. */
  const disks = new Map<string, DiskWatch>();
  const cancels = new Set<() => void>();
  const without = new Set<Capped>();
  let hasBegun = false;
  let closed = false;

  function cappedIn(pane: PaneInfo): Capped | null {
    const labels = labelsOf(pane.labels);
    const { caps } = labels === null ? {} : capsIn(labels);
    const { id, pid } = pane;
    return labels === null || caps === undefined
      ? null
      : { id, pid, agentId: labels.agent, caps, disk: diskIn(pane.labels) };
  }

  function capped(): Capped[] {
    return [...deps.panes.list().flatMap((pane) => (pane.alive ? (cappedIn(pane) ?? []) : [])), ...without];
  }

  function hitsOf({ id, agentId }: Capped): Hits {
    const known = seen.get(id);
    if (known !== undefined) return known;
    const hits = {
      // A bot that has started since may have reached it before the first look; its group was new.
      counted: hasBegun ? { memory: 0, processes: 0, processor: 0 } : { ...keeper.hits(agentId) },
      waited: false,
      all: { memory: 0, processes: 0, processor: 0, disk: 0 },
      last: { memory: null, processes: null, processor: null, disk: null },
    };
    seen.set(id, hits);
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
      for (const what of ['memory', 'processes'] as const) {
        const more = since(hits.counted[what], counted[what]);
        if (keeper.heldBy[what] === 'cgroup' && more > 0) tell(bot, what, more);
      }
      const waits = since(hits.counted.processor, counted.processor) > 0;
      // A bot may wait for hours: that counts once.
      if (waits && !hits.waited) tell(bot, 'processor', 1);
      hits.waited = waits;
      if (waits) hits.last.processor = deps.clock.now();
      Object.assign(hits.counted, counted);
      const watched = Object.fromEntries(
        (['memory', 'processes'] as const)
          .filter((what) => keeper.heldBy[what] === 'watched')
          .map((what) => [what, bot.caps[what]]),
      );
      if (Object.values(watched).every((limit) => limit === undefined)) continue;
      for (const what of await enforce(bot.pid, watched)) tell(bot, what, 1);
    }
    const live = new Set(bots.map(({ id }) => id));
    for (const id of seen.keys()) if (!live.has(id)) seen.delete(id);
  }

  function diskOf(bot: Capped): DiskWatch | null {
    const known = disks.get(startIn(bot));
    if (known !== undefined) return known;
    const limit = bot.caps.disk;
    if (limit === undefined || bot.disk === null) return null;
    const made = createDiskWatch({ root: bot.pid, disk: bot.disk, limit, now: () => deps.clock.monotonic() });
    disks.set(startIn(bot), made);
    return made;
  }

  async function lookAtDisks(): Promise<void> {
    const bots = capped();
    const left = bots.values();
    const some = async () => {
      for (const bot of left) {
        const hits = await diskOf(bot)
          ?.look()
          .catch((error: Error) => {
            deps.log.warn('The disk of a bot could not be checked.', { agentId: bot.agentId, error: error.message });
          });
        if ((hits ?? 0) > 0) tell(bot, 'disk', hits ?? 0);
      }
    };
    await Promise.all(Array.from({ length: looksAtOnce }, some));
    const live = new Set(bots.map(startIn));
    for (const id of disks.keys()) if (!live.has(id)) disks.delete(id);
  }

  function repeat(every: number, work: () => Promise<void>): void {
    if (closed) return;
    const cancel = deps.timers.after(every, () => {
      cancels.delete(cancel);
      work()
        .catch((error: unknown) => deps.log.warn('Limits of bots could not be checked.', { error: String(error) }))
        .finally(() => repeat(every, work));
    });
    cancels.add(cancel);
  }

  return {
    start() {
      const bots = capped();
      keeper.tidy(new Set(bots.map(({ agentId }) => agentId)));
      for (const bot of bots) hitsOf(bot);
      hasBegun = true;
      repeat(looksEvery, look);
      repeat(looksAtDisksEvery, lookAtDisks);
    },
    close() {
      closed = true;
      for (const cancel of cancels) cancel();
    },
    follow(program) {
      const one: Capped = { ...program, id: `program ${program.pid}` };
      without.add(one);
      return () => void without.delete(one);
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
      if (bot === null) return null;
      const { memory, disk } = bot.caps;
      const hits = hitsOf(bot);
      const isRecent = (last: number | null) => last !== null && deps.clock.now() - last < justBefore;
      const isCounted =
        keeper.heldBy.memory === 'cgroup' && since(hits.counted.memory, keeper.hits(bot.agentId).memory) > 0;
      if (memory !== undefined && (isCounted || isRecent(hits.last.memory)))
        return `it was over its ${memory} MiB of memory`;
      return disk !== undefined && isRecent(hits.last.disk) ? `it was over its ${disk} MiB of disk` : null;
    },
  };
}

const startIn = ({ id, pid }: Capped) => `${id} ${pid}`;

/** A new group counts from zero again. */
const since = (before: number, now: number): number => (now < before ? now : now - before);
