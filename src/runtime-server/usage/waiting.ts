/**
 * Usage limits of providers: a bot whose harness reports a limit is held until the reset that it names, and a little longer, and then continues
 * automatically. Where no reset is known, or waiting is switched off, a person decides. Holds survive restarts; the wall clock decides, so a night's
 * sleep of the computer changes nothing. Must not know money.
 */

import { AppError } from '../../contracts/common/errors.ts';
import type { Tx } from '../../kit/store/store.ts';
import type { Switched } from '../agents/accounts/switching.ts';
import type { UsageLimit } from '../harness/usage.ts';
import { type GoOn, lookEveryMs, type MeteringDeps } from './deps.ts';
import { type LimitHold, wordsOf } from './holds.ts';

/** All bots of one account are reset at once. */
const jitterMs = 60_000;
const afterResetMs = 15_000;
/** A limit that still holds after its reset is not asked about without end. */
const shortestMs = 5 * 60_000;
const ownLimit: GoOn = { over: 'The usage limit that stopped you is over.', afresh: false };

function goOnOf(switched: Switched | null): GoOn {
  if (switched === null) return ownLimit;
  const { from, to, resumed } = switched;
  const over = `The account "${from}" met its usage limit, and you now use the account "${to}".`;
  if (resumed) return { over, afresh: false };
  return { over: `${over} This is a new conversation: what was said before is not in it.`, afresh: true };
}

function textOf({ over, afresh }: GoOn): string {
  const what = afresh
    ? 'Look at the state of your folder, then say in one sentence what you find and ask what you should do.'
    : 'Continue what you were doing; if it is done, say so in one sentence.';
  return `${over} ${what}`;
}

interface Waiting {
  /** Loads the holds; releases none yet. */
  load(): Promise<void>;
  start(): void;
  /** The state of a bot has changed. */
  look(agentId: string): void;
  readonly waitOut: boolean;
  setWaitOut(on: boolean): Promise<void>;
  letOn(agentId: string): Promise<void>;
  close(): void;
}

interface Row {
  agent_id: string;
  reason: string;
  until: number | null;
  retry_at: number | null;
  since: number;
  cut: number;
  account: string | null;
}

type WaitingDeps = MeteringDeps & {
  /** What the bot used until now belongs to the account that it has now. */
  readonly countNow: (agentId: string) => Promise<void>;
};

export function createWaiting(deps: WaitingDeps): Waiting {
  const { store, clock, timers, bots } = deps;
  const holds = deps.holds.limits;
  /** Bots that were working at the last check. */
  const working = new Set<string>();
  /** Bots that are being tried again. */
  const trying = new Set<string>();
  let waitOut = true;
  let cancel = () => {};
  let begun = false;
  let closed = false;

  const behind = (what: string, done: Promise<unknown>) => {
    done.catch((error: unknown) => {
      if (!closed) deps.log.warn(`${what} failed.`, { error: String(error) });
    });
  };

  function retryAtOf(until: number | null, now: number): number | null {
    if (until === null || !waitOut) return null;
    return Math.max(until + afterResetMs, now + shortestMs) + Math.floor(deps.random() * jitterMs);
  }

  function hold(agentId: string, limit: UsageLimit, cut: boolean): void {
    const bot = bots.find(agentId);
    if (bot === null) return;
    const now = clock.now();
    const { reason } = limit;
    const until = deps.accounts.limited(agentId, limit);
    // It waits for nothing but its own start: after a crash meanwhile that is tried again.
    const takes = deps.accounts.hasOther(agentId);
    const next: LimitHold = {
      agentId,
      reason,
      until,
      retryAt: takes ? now : retryAtOf(until, now),
      since: now,
      cut,
      account: bot.account,
    };
    holds.set(agentId, next);
    behind(
      'Holding a bot at its usage limit',
      store.write((tx) => save(tx, next)),
    );
    if (cut) deps.nodes.limited(bot.address, wordsOf(next), next.retryAt !== null);
    deps.changed(agentId);
    if (takes) behind('Continuing with another account', takeOther(next));
    else arm();
  }

  /** Goes on with the next account of the bot's order; waits as ever where that cannot be. */
  async function takeOther(held: LimitHold): Promise<void> {
    const { agentId, since } = held;
    const stands = () => holds.get(agentId)?.since === since;
    let why = '';
    trying.add(agentId);
    try {
      await deps.countNow(agentId);
      const switched = stands() ? await deps.accounts.take(agentId) : null;
      if (switched !== null) {
        await release(agentId, true, switched);
        return;
      }
    } catch (error) {
      why = ` Another account could not be used: ${error instanceof AppError ? error.fact : String(error)}`;
    } finally {
      trying.delete(agentId);
    }
    if (!stands()) return;
    const reason = `${held.reason}${why}`;
    const next: LimitHold = { ...held, reason, retryAt: retryAtOf(held.until, clock.now()) };
    holds.set(agentId, next);
    await store.write((tx) => save(tx, next));
    const bot = bots.find(agentId);
    if (bot !== null && next.cut) deps.nodes.limited(bot.address, wordsOf(next), next.retryAt !== null);
    deps.changed(agentId);
    arm();
  }

  /** Releases the bot: interrupted work is resumed, once for each hold. */
  async function release(agentId: string, goesOn: boolean, switched: Switched | null = null): Promise<void> {
    const held = holds.get(agentId);
    if (held === undefined) return;
    holds.delete(agentId);
    const bot = bots.find(agentId);
    if (bot !== null && goesOn) {
      bots.unblock(agentId);
      const how = goOnOf(switched);
      if (held.cut && !(await deps.nodes.goOn(bot.address, how))) {
        await deps.tell(bot.address, textOf(how), `limit:${agentId}:${held.since}`);
      }
    }
    // Last: after a crash before this, the bot gets the message again with the same key.
    await store.write((tx) =>
      tx.run('DELETE FROM factory_limit_hold WHERE agent_id = ? AND since = ?', agentId, held.since),
    );
    deps.changed(agentId);
  }

  /** Its limit is over, or that of another account of its order, which was over first. */
  async function tryAgain(agentId: string): Promise<void> {
    const held = holds.get(agentId);
    if (held === undefined) return;
    trying.add(agentId);
    try {
      await deps.countNow(agentId);
      const switched = await deps.accounts.take(agentId).catch((error: unknown) => {
        deps.log.warn('A bot was not started with another account.', { agentId, error: String(error) });
        return null;
      });
      if (holds.get(agentId)?.since === held.since) await release(agentId, true, switched);
    } finally {
      trying.delete(agentId);
      arm();
    }
  }

  function arm(): void {
    cancel();
    const waits = () => [...holds.values()].filter(({ agentId }) => !trying.has(agentId));
    const next = Math.min(...waits().map(({ retryAt }) => retryAt ?? Number.POSITIVE_INFINITY));
    if (closed || !begun || next === Number.POSITIVE_INFINITY) return;
    cancel = timers.after(Math.min(Math.max(0, next - clock.now()), lookEveryMs), () => {
      for (const { agentId, retryAt } of waits()) {
        // A bot that does not run is tried when it does.
        if (retryAt !== null && retryAt <= clock.now()) behind('Continuing after a usage limit', tryAgain(agentId));
      }
      arm();
    });
  }

  return {
    async load() {
      await store.read((tx) => {
        for (const row of tx.all<Row>('SELECT * FROM factory_limit_hold')) {
          const { agent_id: agentId, reason, until, retry_at: retryAt, since, cut, account } = row;
          if (bots.find(agentId) !== null)
            holds.set(agentId, { agentId, reason, until, retryAt, since, cut: cut === 1, account });
        }
        const setting = tx.get<{ on: number }>(
          'SELECT wait_out AS "on" FROM factory_usage_setting WHERE workspace = ?',
          deps.workspace,
        );
        waitOut = setting?.on !== 0;
      });
      for (const bot of bots.all()) if (bot.state === 'working') working.add(bot.id);
      for (const agentId of holds.keys()) deps.changed(agentId);
    },
    start() {
      begun = true;
      arm();
    },
    look(agentId) {
      const bot = bots.find(agentId);
      if (bot?.state === 'working') {
        working.add(agentId);
        // Somebody made it work: whatever was reported about a limit, it works.
        if (holds.has(agentId)) {
          deps.accounts.freed(agentId);
          behind('Letting a bot continue', release(agentId, false));
        }
        return;
      }
      const cut = working.delete(agentId);
      // After a restart it may be signed in as somebody else.
      if (bot?.state === 'offline' && holds.get(agentId)?.retryAt === null) {
        behind('Letting go of a limit', release(agentId, false));
      }
      const held = holds.get(agentId);
      // It was started with another account, which has not met that limit.
      if (bot?.state === 'idle' && !trying.has(agentId) && isOfOther(held, bot.account))
        behind('Letting a bot continue', release(agentId, true));
      if (bot?.state !== 'blocked') return;
      const limit = bots.limit(agentId);
      const known = holds.get(agentId);
      if (limit === null || (known !== undefined && known.reason === limit.reason)) return;
      hold(agentId, limit, cut || known?.cut === true);
    },
    get waitOut() {
      return waitOut;
    },
    async setWaitOut(on) {
      const now = clock.now();
      waitOut = on;
      const changed = [...holds.values()].map((one) => ({ ...one, retryAt: retryAtOf(one.until, now) }));
      await store.write((tx) => {
        tx.run(
          `INSERT INTO factory_usage_setting (workspace, wait_out) VALUES (?, ?)
           ON CONFLICT (workspace) DO UPDATE SET wait_out = excluded.wait_out`,
          deps.workspace,
          on ? 1 : 0,
        );
        for (const one of changed) save(tx, one);
      });
      for (const one of changed) {
        // Released, or held again, in between.
        if (holds.get(one.agentId)?.since !== one.since) continue;
        holds.set(one.agentId, one);
        const bot = bots.find(one.agentId);
        if (bot !== null && one.cut) deps.nodes.limited(bot.address, wordsOf(one), one.retryAt !== null);
        deps.changed(one.agentId);
      }
      arm();
    },
    async letOn(agentId) {
      deps.accounts.freed(agentId);
      await release(agentId, true);
      arm();
    },
    close() {
      closed = true;
      cancel();
    },
  };
}

function isOfOther(held: LimitHold | undefined, account: string | null): boolean {
  return held !== undefined && held.account !== null && account !== null && held.account !== account;
}

function save(tx: Tx, { agentId, reason, until, retryAt, since, cut, account }: LimitHold): void {
  tx.run(
    `INSERT INTO factory_limit_hold (agent_id, reason, until, retry_at, since, cut, account)
     VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (agent_id) DO UPDATE SET reason = excluded.reason, until = excluded.until, retry_at = excluded.retry_at,
       since = excluded.since, cut = excluded.cut, account = excluded.account`,
    agentId,
    reason,
    until,
    retryAt,
    since,
    cut ? 1 : 0,
    account,
  );
}
