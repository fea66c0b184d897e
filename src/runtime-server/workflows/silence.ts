/**
 * Leases of steps that a bot works on or checks. Its activity renews them. A bot that stays silent at its prompt is told once; when the lease runs
 * out somebody looks at what is there, and the step needs a person. Leases are only in memory. Must not know SQL, panes or programs.
 */
import type { NodeCause } from '../../contracts/factory/node.ts';
import type { LeaseRenewal, leaseStates, NodeLease } from '../../contracts/factory/node-lease.ts';
import { iso } from '../../kit/clock/clock.ts';
import type { Base } from '../base/base.ts';
import type { Activity, Repeated } from '../harness/activity.ts';
import type { BotLook, BotWatch, DispatchTo } from './deps.ts';
import { minutesOf, nudgeFor } from './instruction.ts';
import { isBeingChecked, isSilent, type Run, type RunNode } from './model.ts';
import type { Work } from './work.ts';

interface Silence {
  /** After each change of a node: its lease begins, is renewed or ends. */
  follow(node: RunNode): void;
  /** Of a step, by its id; null: nobody is expected to do anything about it. */
  of(nodeId: string): NodeLease | null;
  figures(): LeaseFigures;
  close(): void;
}

/** The leases of steps as they stand. */
export interface LeaseFigures {
  readonly states: Readonly<Record<(typeof leaseStates)[number], number>>;
  /** The longest that nothing was heard of a bot or command at work, milliseconds. */
  readonly quietestMs: number;
}

interface Patience {
  /** 0: any silence is fine. */
  readonly quietMs: number;
  readonly nudgeMs: number;
  /** Null: no message. Empty: in our words. */
  readonly nudge: string | null;
  /** 0: any number. */
  readonly repeats: number;
  readonly tokens: number;
}

interface Lease {
  readonly dagId: string;
  readonly nodeId: string;
  readonly attempt: number;
  /** Of its bot; `shell` for a command. */
  readonly address: string;
  readonly patience: Patience;
  bot: object | null;
  /** Of a bot, when it was last active; of a command, how much it printed. */
  last: number | null;
  /** How long nothing was heard. */
  quietMs: number;
  /** Counts from here, monotonic; silence before it was somebody else's. */
  readonly begunAt: number;
  nudged: boolean;
  /** Monotonic. */
  renewed: { readonly at: number; readonly by: LeaseRenewal };
  /** As of the last look: its time does not run. */
  excused: boolean;
  /** A person has been asked. */
  silent: boolean;
  /** Something is being looked up for it. */
  busy: boolean;
  countedAt: number;
  /** The files, and since when what is used counts; null until it is first looked. */
  files: { readonly state: string; readonly since: number } | null;
}

/** Stands for every command. */
const commands = {};

const defaults = { minutes: 20, repeats: 20, tokens: 500_000 };

/** Leases are looked at all at once, so that many cost nothing in between. */
const lookEveryMs = 15_000;
const leastEveryMs = 250;
/** What a look comes late by. More means that the computer slept or the process stood, and nobody could be heard. */
const lateMs = 5000;
/** Between two counts of the tokens of a step. */
const countEveryMs = 60_000;

function patienceOf({ silence = {} }: RunNode['step']): Patience {
  const quietMs = (silence.minutes ?? defaults.minutes) * 60_000;
  const { nudge = true } = silence;
  return {
    quietMs,
    nudgeMs: silence.nudgeMinutes === undefined ? quietMs / 2 : silence.nudgeMinutes * 60_000,
    nudge: nudge === false ? null : nudge === true ? '' : nudge,
    repeats: silence.repeats ?? defaults.repeats,
    tokens: silence.tokens ?? defaults.tokens,
  };
}

function newLease({ dagId, nodeId, attempt, step }: RunNode, address: string, now: number): Lease {
  return {
    dagId,
    nodeId,
    attempt,
    address,
    patience: patienceOf(step),
    bot: null,
    last: null,
    quietMs: 0,
    begunAt: now,
    nudged: false,
    renewed: { at: now, by: 'begun' },
    excused: false,
    silent: false,
    busy: false,
    countedAt: now,
    files: null,
  };
}

export function createSilence(
  deps: Pick<Base, 'clock' | 'timers' | 'log'> & {
    readonly watch: BotWatch;
    readonly dispatch: DispatchTo;
    /** Bytes that the command of a step printed. */
    printed(node: Pick<RunNode, 'nodeId' | 'attempt'>): number | null;
    persist(dagId: string, change: (work: Work) => void): void;
  },
): Silence {
  const { clock, watch } = deps;
  const leases = new Map<string, Lease>();
  let lookedAt = clock.monotonic();
  let everyMs = lookEveryMs;
  let cancel: (() => void) | null = null;
  let closed = false;

  function follow(node: RunNode): void {
    const address = bearerOf(node);
    const known = leases.get(node.nodeId);
    if (known !== undefined && (known.address !== address || known.attempt !== node.attempt)) end(known);
    if (address === null) return;
    const before = leases.get(node.nodeId);
    const lease = before ?? begin(node, address);
    const silent = isSilent(node);
    // What moved or noted something is not silent; what has just been found silent stays so until something comes.
    if (!silent && before !== undefined) renew(lease, 'report');
    if (silent !== lease.silent || (silent && lease.bot === null)) watch.show(address, silent ? node.detail : null);
    lease.silent = silent;
    lease.bot ??= lookAt(lease)?.bot ?? null;
    arm();
  }

  function begin(node: RunNode, address: string): Lease {
    if (!isSilent(node)) watch.begin(address);
    const lease = newLease(node, address, clock.monotonic());
    lease.last = lookAt(lease)?.activity.at ?? null;
    leases.set(node.nodeId, lease);
    return lease;
  }

  function lookAt(lease: Lease): BotLook | null {
    if (lease.address !== 'shell') return watch.of(lease.address);
    const activity = { at: deps.printed(lease), by: 'output' as const, sameCall: null, sameScreen: null };
    return { bot: commands, activity, excused: false, atRest: false };
  }

  function end(lease: Lease): void {
    leases.delete(lease.nodeId);
    if (lease.silent) watch.show(lease.address, null);
    if (leases.size > 0) return;
    cancel?.();
    cancel = null;
  }

  function renew(lease: Lease, by: LeaseRenewal): void {
    lease.renewed = { at: clock.monotonic(), by };
    lease.quietMs = 0;
    lease.files = null;
  }

  function arm(): void {
    if (cancel !== null || closed || leases.size === 0) return;
    const shortest = Math.min(
      ...[...leases.values()].map(({ patience }) => patience.quietMs || Number.POSITIVE_INFINITY),
    );
    everyMs = Math.max(leastEveryMs, Math.min(lookEveryMs, shortest / 8));
    lookedAt = clock.monotonic();
    cancel = deps.timers.after(everyMs, () => {
      cancel = null;
      const now = clock.monotonic();
      const since = Math.max(lookedAt, now - everyMs - lateMs);
      for (const lease of [...leases.values()]) judge(lease, now, now - Math.max(since, lease.begunAt));
      arm();
    });
  }

  /** `passed`: time since the last look in which it could have been heard. */
  function judge(lease: Lease, now: number, passed: number): void {
    const look = lookAt(lease);
    if (look === null) return;
    const restarted = look.bot !== lease.bot;
    lease.bot = look.bot;
    const { at } = look.activity;
    const isActive = at !== null && at !== lease.last;
    lease.last = at;
    lease.excused = look.excused;
    if (restarted) lease.renewed = { at: now, by: 'restart' };
    else if (isActive) lease.renewed = { at: look.bot === commands ? now : at, by: look.activity.by };
    if (lease.silent) {
      if (isActive) goOn(lease);
      return;
    }
    if (restarted || look.excused) lease.quietMs = 0;
    else if (isActive) lease.quietMs = look.bot === commands ? 0 : Math.min(passed, Math.max(0, now - at));
    else lease.quietMs += passed;
    if (lease.busy) return;
    const { patience, quietMs } = lease;
    const isDue = patience.quietMs > 0 && quietMs >= patience.quietMs;
    const same = repeatedIn(look.activity, patience.repeats, isDue);
    if (same !== null) {
      ask(lease, 'no_progress', `${same.what} came ${same.times} times, with nothing new in between.`);
    } else if (isDue) void lookCloser(lease);
    else if (patience.quietMs > 0 && quietMs >= patience.nudgeMs && look.atRest) nudge(lease);
    else if (patience.tokens > 0 && look.bot !== commands && now - lease.countedAt >= countEveryMs)
      void count(lease, now);
  }

  async function lookCloser(lease: Lease): Promise<void> {
    const before = lease.last;
    if (lease.address === 'shell') {
      ask(lease, 'stalled', `It printed nothing for ${minutesOf(lease.quietMs)}; ${before ?? 0} bytes so far.`);
      return;
    }
    await behind(lease, async () => {
      const { seen, active } = await watch.look(lease.address, lease.quietMs);
      if (active) renew(lease, 'transcript');
      else if (lookAt(lease)?.activity.at === before) ask(lease, 'stalled', seen);
    });
  }

  async function count(lease: Lease, now: number): Promise<void> {
    lease.countedAt = now;
    await behind(lease, async () => {
      const { files: before, patience, address } = lease;
      const at = clock.now();
      if (before !== null && (await watch.tokensSince(address, before.since)) < patience.tokens) return;
      const state = await watch.filesOf(address);
      if (state === null) return;
      if (before?.state !== state) {
        lease.files = { state, since: at };
        return;
      }
      ask(lease, 'no_progress', `It used more than ${patience.tokens} tokens without changing a file.`);
    });
  }

  /** One thing at a time; a lease that ended meanwhile is left alone. */
  async function behind(lease: Lease, what: () => Promise<void>): Promise<void> {
    lease.busy = true;
    try {
      await what();
    } catch (error) {
      if (!closed) deps.log.warn(`${lease.address} could not be looked at.`, { error: String(error) });
    } finally {
      lease.busy = false;
    }
  }

  function nudge(lease: Lease): void {
    if (lease.nudged || lease.patience.nudge === null) return;
    lease.nudged = true;
    const own = lease.patience.nudge === '' ? null : lease.patience.nudge;
    change(lease, (work, node) => {
      const { dagId, nodeId, attempt, address } = lease;
      const text = nudgeFor(work.run, node, own, lease.quietMs);
      // A key is used once: the checker of an attempt is asked, too, where its executor was.
      const key = `${dagId}:${nodeId}:${attempt}:nudge:${address}`;
      work.after(() => {
        deps.dispatch(address, text, { dagId, nodeId, idempotencyKey: key }).catch((error: unknown) => {
          deps.log.warn(`${lease.address} could not be asked for its step.`, { error: String(error) });
        });
      });
    });
  }

  function ask(lease: Lease, cause: NodeCause, seen: string): void {
    change(lease, (work, node) => {
      if (!isSilent(node)) work.move(node, 'needs_you', cause, seen);
    });
  }

  /** Something is heard of it again. What only repeated itself may go on repeating: that continues by its report or a person. */
  function goOn(lease: Lease): void {
    change(lease, (work, node) => {
      if (!isSilent(node) || node.cause !== 'stalled') return;
      if (isBeingChecked(node)) work.move(node, 'checking', 'reviewing', `${node.checker} is checking it.`);
      else work.move(node, 'working', 'resumed');
    });
  }

  function change(lease: Lease, effect: (work: Work, node: RunNode) => void): void {
    if (closed || leases.get(lease.nodeId) !== lease) return;
    deps.persist(lease.dagId, (work) => {
      const node = nodeIn(work.run, lease);
      if (node !== null) effect(work, node);
    });
  }

  /** How it stands now: what came since the last look counts, too. */
  function standing(lease: Lease, now: number) {
    const look = lookAt(lease);
    const at = look?.activity.at ?? null;
    const isActive = at !== null && at !== lease.last && look !== null;
    const excused = look?.excused ?? lease.excused;
    const heardAt = lease.address === 'shell' ? now : at;
    const renewed = isActive ? { at: heardAt ?? now, by: look.activity.by } : lease.renewed;
    const unheardMs = now - (isActive ? renewed.at : Math.max(lookedAt, lease.begunAt));
    const quietMs = excused ? 0 : (isActive ? 0 : lease.quietMs) + Math.max(0, unheardMs);
    const state = lease.silent ? ('run_out' as const) : excused ? ('paused' as const) : ('running' as const);
    return { quietMs, renewed, state };
  }

  function leaseOf(nodeId: string): NodeLease | null {
    const lease = leases.get(nodeId);
    if (lease === undefined) return null;
    const now = clock.monotonic();
    const { quietMs, renewed, state } = standing(lease, now);
    const { patience, nudged, address } = lease;
    const wall = clock.now();
    const runs = state === 'running' && patience.quietMs > 0;
    const at = (ms: number) => iso(Math.round(wall + Math.max(0, ms - quietMs)));
    const nudges = runs && !nudged && patience.nudge !== null && address !== 'shell';
    return {
      heldBy: address,
      state,
      renewedAt: iso(Math.round(wall - Math.max(0, now - renewed.at))),
      renewedBy: renewed.by,
      nudgeAt: nudges && patience.nudgeMs < patience.quietMs ? at(patience.nudgeMs) : null,
      nudged,
      runsOutAt: runs ? at(patience.quietMs) : null,
    };
  }

  function figures(): LeaseFigures {
    const states = { running: 0, paused: 0, run_out: 0 };
    let quietestMs = 0;
    const now = clock.monotonic();
    for (const lease of leases.values()) {
      const { state, quietMs } = standing(lease, now);
      states[state] += 1;
      quietestMs = Math.max(quietestMs, quietMs);
    }
    return { states, quietestMs };
  }

  return {
    follow,
    of: leaseOf,
    figures,
    close() {
      closed = true;
      cancel?.();
    },
  };
}

/** A program may draw the same few screens in turn while it works: they count only once its lease has run out. */
function repeatedIn({ sameCall, sameScreen }: Activity, most: number, isDue: boolean): Repeated | null {
  const reached = (one: Repeated | null) => one !== null && most > 0 && one.times >= most;
  if (reached(sameCall)) return sameCall;
  return isDue && reached(sameScreen) ? sameScreen : null;
}

/** The node, if the bot still has this attempt of it. */
function nodeIn(run: Run, { nodeId, attempt, address }: Lease): RunNode | null {
  const node = run.nodes.get(nodeId);
  return node !== undefined && node.attempt === attempt && bearerOf(node) === address ? node : null;
}

/**
 * The bot that is expected to do something about the node now, or `shell`; null: nobody is, or a person. A command may be silent unless its step says
 * otherwise.
 */
function bearerOf(node: RunNode): string | null {
  if (node.assignee === 'shell') {
    const watched = node.step.silence !== undefined && (node.status === 'working' || isSilent(node));
    return watched && node.cause !== 'cancelling' ? 'shell' : null;
  }
  if (node.holder === null || !node.holder.includes('@')) return null;
  if (isSilent(node)) return node.holder;
  const waits = node.cause === 'usage_limit' || node.cause === 'cancelling';
  if (node.status === 'working') return waits ? null : node.holder;
  return node.status === 'checking' && node.cause === 'reviewing' && node.handed === 'sent' ? node.holder : null;
}
