/**
 * Reads the usage of bots in panes from their harnesses' own transcripts, and records it like the spend of hosted bots: each answer once, by its id,
 * in the transaction that moves the cursor. Must not know limits.
 */
import { createOwnTimers } from '../../kit/clock/timers.ts';
import type { Tx } from '../../kit/store/store.ts';
import type { UsageCursor, UsageLine } from '../harness/usage.ts';
import { countEveryMs, lookEveryMs, type MeteredBot, type MeteringDeps } from './deps.ts';

/** Last lines are written a moment after the turn. */
const onceMoreMs = 3000;
/** A record that has just ended still owns the answer that ended it. */
const lateMs = 120_000;
const microPerCent = 10_000;
/**
 * Tokens of one answer, and millionths of a dollar: far above any, and a million of such lines can still be summed. A bot can write to its
 * transcript, and its content must not break the counting of all others.
 */
const maxPerOne = 1e10;

interface Reading {
  start(): void;
  /** The state of a bot has changed. */
  look(agentId: string): void;
  /** Reads what it used until now. */
  now(agentId: string): Promise<void>;
  close(): Promise<void>;
}

interface Cursor {
  /** Earlier usage belongs to the earlier user of the conversation. */
  readonly since: number;
  readonly at: UsageCursor | null;
}

export function createReading(deps: MeteringDeps): Reading {
  const { store, models, clock, bots } = deps;
  const working = new Set<string>();
  const reads = new Map<string, Promise<void>>();
  const own = createOwnTimers(deps.timers);
  let tick: (() => void) | null = null;
  let fastTick: (() => void) | null = null;
  let closed = false;

  function read(agentId: string): Promise<void> {
    const before = reads.get(agentId) ?? Promise.resolve();
    const next = before
      .then(() => readOn(agentId))
      .catch((error: unknown) => {
        if (!closed) deps.log.warn('What a bot used could not be read.', { agentId, error: String(error) });
      });
    reads.set(agentId, next);
    return next.finally(() => {
      if (reads.get(agentId) === next) reads.delete(agentId);
    });
  }

  async function readOn(agentId: string): Promise<void> {
    for (let more = true; more && !closed; ) {
      const bot = bots.find(agentId);
      if (bot?.harness == null) return;
      const cursor = await cursorOf(bot);
      const settled = bot.state !== 'working';
      const page = await deps.harnesses.usage({ agentId, harness: bot.harness }, cursor.at, settled);
      if (page === null || closed) return;
      more = page.more;
      const text = JSON.stringify(page.cursor);
      if (page.lines.length === 0 && text === JSON.stringify(cursor.at)) return;
      const harness = bot.harness;
      await store.write((tx) => {
        for (const line of page.lines) if (line.at >= cursor.since) note(tx, bot, harness, line);
        tx.run(
          `INSERT INTO factory_usage_cursor (agent_id, since, cursor) VALUES (?, ?, ?)
           ON CONFLICT (agent_id) DO UPDATE SET cursor = excluded.cursor`,
          agentId,
          cursor.since,
          text,
        );
      });
    }
  }

  function cursorOf({ id }: MeteredBot): Promise<Cursor> {
    return store.read((tx) => {
      const row = tx.get<{ since: number; cursor: string | null }>(
        'SELECT since, cursor FROM factory_usage_cursor WHERE agent_id = ?',
        id,
      );
      if (row !== undefined) return { since: row.since, at: row.cursor === null ? null : JSON.parse(row.cursor) };
      const first = tx.get<{ at: number | null }>(
        'SELECT MIN(started_at) AS at FROM factory_pane WHERE agent_id = ?',
        id,
      );
      return { since: first?.at ?? clock.now(), at: null };
    });
  }

  function note(
    tx: Tx,
    { id: agentId, account }: MeteredBot,
    harness: NonNullable<MeteredBot['harness']>,
    line: UsageLine,
  ): void {
    const run = tx.get<{ id: string }>(
      `SELECT id FROM engine_agent_run WHERE workspace = ? AND bot_id = ? AND started_at <= ? AND (ended_at IS NULL OR ended_at >= ?)
       ORDER BY started_at DESC LIMIT 1`,
      deps.workspace,
      agentId,
      line.at,
      line.at - lateMs,
    );
    const { input, cachedInput, cacheWrite, output } = line;
    models.note(tx, {
      id: `${harness}:${line.id}`,
      // One of a time to come would count on every day until then.
      at: Math.min(line.at, clock.now()),
      agentId,
      runId: run?.id ?? null,
      wire: harness,
      account,
      model: line.model,
      usage: {
        input: bounded(input),
        cachedInput: bounded(cachedInput),
        cacheWrite: bounded(cacheWrite),
        output: bounded(output),
      },
      microUsd: line.cents === null ? null : bounded(Math.ceil(line.cents * microPerCent)),
    });
  }

  /** Periodically while bots work: their usage is seen before their turn ends. */
  function armTick(): void {
    if (tick !== null || working.size === 0 || closed) return;
    tick = own.after(lookEveryMs, () => {
      tick = null;
      for (const agentId of working) void read(agentId);
      armTick();
    });
  }

  const counted = () =>
    [...working].filter((agentId) => {
      const bot = bots.find(agentId);
      return bot !== null && bot.harness !== null && deps.nodes.isCounted(bot.address);
    });

  function armFastTick(): void {
    if (fastTick !== null || closed || counted().length === 0) return;
    fastTick = own.after(countEveryMs, () => {
      fastTick = null;
      for (const agentId of counted()) if (!reads.has(agentId)) void read(agentId);
      armFastTick();
    });
  }

  return {
    start() {
      for (const bot of bots.all()) {
        if (bot.harness !== null) void read(bot.id);
        if (bot.state === 'working') working.add(bot.id);
      }
      armTick();
      armFastTick();
    },
    look(agentId) {
      const bot = bots.find(agentId);
      if (bot?.state === 'working') {
        working.add(agentId);
        armTick();
        armFastTick();
        return;
      }
      if (!working.delete(agentId)) return;
      void read(agentId);
      own.after(onceMoreMs, () => void read(agentId));
    },
    now: read,
    async close() {
      closed = true;
      own.cancelAll();
      await Promise.all(reads.values());
    },
  };
}

function bounded(amount: number): number {
  return Math.max(0, Math.min(amount, maxPerOne));
}
