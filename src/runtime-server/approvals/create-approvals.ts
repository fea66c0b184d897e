/**
 * Asks questions and takes their answers over durable holds: asking, answering, deadlines, restarts. Owns how long a hold lives and who gets its
 * answer; an answer and its changes in the database are one transaction. Must not know HTTP or the cloud's table.
 */

import { hash } from 'node:crypto';
import {
  type Approval,
  type ApprovalAnswerBody,
  type ApprovalQuestion,
  withDetails,
} from '../../contracts/approvals/approval.ts';
import { visible, visibleLine } from '../../contracts/approvals/visible.ts';
import { AppError } from '../../contracts/common/errors.ts';
import { type Clock, iso } from '../../kit/clock/clock.ts';
import type { Store, Tx } from '../../kit/store/store.ts';
import type { Base } from '../base/base.ts';
import type { ApprovalAnswer, ApprovalAsk, Approvals, ApprovalVerdict, Asked, AskOptions } from './approvals.ts';
import {
  endHold,
  forgetEnded,
  type Hold,
  holdAsApproval,
  holdOfNode,
  holdsOfRun,
  insertHold,
  liveByKey,
  liveHolds,
  liveOfAgent,
  liveOfClient,
  moveDeadline,
  nextDeadline,
  overdue,
  readHold,
  takeAnswer,
  untakenByKey,
} from './holds.ts';
import type { Reports } from './reports.ts';

export interface ApprovalsDeps extends Pick<Base, 'store' | 'ledger' | 'clock' | 'timers' | 'ids'> {
  readonly reports: Reports;
  readonly ownerId: string;
  /** How far the home cloud's clock is ahead of this computer's, as far as it is known. Milliseconds. */
  readonly cloudAheadMs: () => number;
  readonly log: { warn(message: string, facts?: Record<string, unknown>): void };
}

export interface HeldApprovals extends Approvals {
  /** A person's answer from the cloud. `gone`: no asker waits for it any more, nothing was done. */
  answer(body: ApprovalAnswerBody): Promise<'applied' | 'gone'>;
  /** Live holds, newest first. */
  live(): Promise<Approval[]>;
  /** Reports every live hold again: the home cloud is another one now. */
  reportAgain(): Promise<void>;
  /** Ends holds that cannot be asked for again, and begins to report. */
  start(): Promise<void>;
  close(): Promise<void>;
}

interface Waiter {
  readonly apply: AskOptions['apply'];
  readonly resolve: (answer: ApprovalAnswer) => void;
}

/**
 * How long after its answer an approval can still be used by asking again: a client that stopped waiting needs time to come back.
 */
const answerRetentionMs = 10 * 60_000;
/** After a restart, askers with a key have this long to ask again. */
const askAgainMs = 60_000;
/** Node pages and `why` show ended holds; the ledger keeps them for good. */
const endedRetentionMs = 30 * 24 * 60 * 60_000;
/** Questions of one bot, or of one client, that wait at a time: more would bury the person's inbox, and be approved unread. */
const maxPerOne = 50;
/** The wall clock may jump: deadlines are checked this often. */
const maxWaitMs = 30_000;
const maxExpiryMs = 7 * 24 * 60 * 60_000;
/** Ends this close count as one: an asker that leaves as its time runs out moves nothing. */
const sameEndMs = 1000;
const nobody = { decision: null, note: null, user: null } as const;

export function createApprovals(deps: ApprovalsDeps): HeldApprovals {
  const { store, ledger, reports, clock, timers, ids, log } = deps;
  const askers = createAskers();
  const { hold, end, endOverdue, endsAt } = createHolding({ ledger, reports, clock, ids, settle: askers.settle });
  const deadlines = createDeadlines({ store, clock, timers, log, expire: expireOverdue });
  let cancelOrphans = () => {};
  let closed = false;

  async function ask(request: ApprovalAsk, options: AskOptions = {}): Promise<Asked> {
    let resolve: Waiter['resolve'] = () => {};
    const answer = new Promise<ApprovalAnswer>((done) => {
      resolve = done;
    });
    const waiter: Waiter = { apply: options.apply, resolve };
    let joined: string | null = null;
    try {
      const id = await store.write((tx) => {
        const given = takenNow(tx, request, options);
        if (given !== null) {
          tx.afterCommit(() => resolve(given.verdict));
          return given.id;
        }
        joined = join(tx, request) ?? hold(tx, request);
        // At once: the next operation of this commit may be the answer.
        wait(joined, waiter, options.signal, request.comesBack?.withdrawnAfterMs);
        return joined;
      });
      deadlines.schedule();
      return { id, answer };
    } catch (fault) {
      if (joined !== null) askers.leave(joined, waiter);
      throw fault;
    }
  }

  /** An answer to this exact action that came while no asker waited: used once. */
  function takenNow(
    tx: Tx,
    { dedupeKey, actionHash }: ApprovalAsk,
    { apply }: AskOptions,
  ): { id: string; verdict: ApprovalVerdict } | null {
    const found = dedupeKey === undefined ? null : untakenByKey(tx, dedupeKey);
    if (found === null || found.actionHash !== actionHash) return null;
    if (clock.now() - (found.endedAt ?? 0) > answerRetentionMs || !takeAnswer(tx, found.id, clock.now())) return null;
    const verdict = verdictOf(found);
    apply?.(tx, verdict);
    return { id: found.id, verdict };
  }

  function join(tx: Tx, request: ApprovalAsk): string | null {
    const { dedupeKey, actionHash } = request;
    const found = dedupeKey === undefined ? null : liveByKey(tx, dedupeKey);
    if (found === null) return null;
    if (found.deadline <= clock.now()) endOverdue(tx, found);
    else if (found.actionHash === actionHash) {
      const deadline = endOf(request, Date.parse(found.question.requestedAt), clock.now());
      if (deadline > found.deadline) endsAt(tx, found, deadline);
      return found.id;
    }
    // Another action under the same key replaces the earlier question.
    else end(tx, found.id, 'withdraw', { ...nobody, surface: 'engine' });
    return null;
  }

  function wait(id: string, waiter: Waiter, signal: AbortSignal | undefined, withdrawnAfterMs?: number): void {
    const left = () => {
      // An ended hold has no waiters any more.
      if (askers.leave(id, waiter)) withdrawUnlessAsked(id, withdrawnAfterMs);
    };
    if (signal?.aborted) {
      withdrawUnlessAsked(id, withdrawnAfterMs);
      return;
    }
    askers.join(id, waiter);
    signal?.addEventListener('abort', left, { once: true });
  }

  /** All askers have left: the question ends after `ms`, and everybody who reads it sees that. */
  function withdrawUnlessAsked(id: string, ms: number | undefined): void {
    if (closed || ms === undefined || askers.of(id).length > 0) return;
    store
      .write((tx) => {
        const found = askers.of(id).length > 0 ? null : readHold(tx, id);
        const deadline = clock.now() + ms;
        if (found?.state === 'live' && deadline < found.deadline - sameEndMs) endsAt(tx, found, deadline);
      })
      .then(deadlines.schedule)
      .catch((fault: unknown) =>
        log.warn('An approval that is no longer needed could not be withdrawn.', { id, fault: String(fault) }),
      );
  }

  function answer(body: ApprovalAnswerBody): Promise<'applied' | 'gone'> {
    const { id, decision, note, resolvedBy } = body;
    return store.write((tx) => {
      const found = readHold(tx, id);
      if (found === null) return 'gone';
      if (found.state === 'answered') return isSame(found, body) ? 'applied' : 'gone';
      if (found.state !== 'live') return 'gone';
      if (found.deadline <= clock.now()) {
        endOverdue(tx, found);
        return 'gone';
      }
      // The cloud's clock may differ: how long the answer keeps is counted by this computer's.
      const answeredAt = Date.parse(body.at);
      const at = Math.min(clock.now(), answeredAt - deps.cloudAheadMs());
      const ended = { decision, note, ...resolvedBy, at, answeredAt };
      if (!endHold(tx, id, 'answer', ended)) return 'gone';
      ledger.append(tx, {
        type: 'approval.answered',
        actor: resolvedBy.user,
        surface: resolvedBy.surface,
        subject: `approval:${id}`,
        body: { v: 1, approvalId: id, decision, at: body.at },
      });
      const verdict = verdictOf(readHold(tx, id)!);
      const waiting = askers.of(id);
      // No asker waits now: the answer is kept for the next one.
      if (waiting.length > 0) takeAnswer(tx, id, clock.now());
      for (const { apply } of waiting) apply?.(tx, verdict);
      tx.afterCommit(() => askers.settle(id, verdict));
      return 'applied';
    });
  }

  function expireOverdue(): Promise<void> {
    return store.write((tx) => {
      forgetEnded(tx, clock.now() - endedRetentionMs);
      for (const each of overdue(tx, clock.now())) endOverdue(tx, each);
    });
  }

  async function withdraw(id: string, surface: string): Promise<void> {
    const user = surface === 'engine' ? null : deps.ownerId;
    await store.write((tx) => end(tx, id, 'withdraw', { ...nobody, user, surface }));
  }

  async function start(): Promise<void> {
    await store.write((tx) => {
      forgetEnded(tx, clock.now() - endedRetentionMs);
      for (const each of overdue(tx, clock.now())) endOverdue(tx, each);
      for (const each of liveHolds(tx)) {
        // An asker without a key cannot find its hold again.
        if (each.dedupeKey === null) end(tx, each.id, 'withdraw', { ...nobody, surface: 'engine' });
        else askers.expect(each.id);
      }
    });
    cancelOrphans = timers.after(askAgainMs, () => {
      for (const id of askers.missing()) {
        withdraw(id, 'engine').catch((fault: unknown) =>
          log.warn('An approval that is no longer needed could not be withdrawn.', { id, fault: String(fault) }),
        );
      }
    });
    await reports.start();
    deadlines.schedule();
  }

  return {
    ask,
    answer,
    withdraw,
    start,
    live: () => liveApprovals(store, clock),
    asked: async () => (await store.read(liveHolds)).reverse().map(({ id, action }) => ({ id, action })),
    reportAgain: () =>
      store.write((tx) => {
        for (const each of liveHolds(tx)) reports.queue(tx, each);
      }),
    async get(id) {
      const found = await store.read((tx) => readHold(tx, id));
      if (found === null) return null;
      const waiting = (await reports.waiting()).has(id);
      return {
        approval: holdAsApproval(found, clock.now()),
        actionHash: found.actionHash,
        action: found.action,
        waiting,
      };
    },
    async ofNode(dagId, nodeId) {
      const found = await store.read((tx) => holdOfNode(tx, dagId, nodeId));
      return found === null ? null : holdAsApproval(found, clock.now());
    },
    ofRun: async (dagId) =>
      (await store.read((tx) => holdsOfRun(tx, dagId))).map((hold) => holdAsApproval(hold, clock.now())),
    async close() {
      closed = true;
      deadlines.close();
      cancelOrphans();
      await reports.close();
    },
  };
}

/** Who waits in this process for which question, and questions from before a restart that nobody has asked again yet. */
function createAskers() {
  const waiters = new Map<string, Set<Waiter>>();
  const orphans = new Set<string>();
  return {
    of: (id: string): readonly Waiter[] => [...(waiters.get(id) ?? [])],
    join(id: string, waiter: Waiter): void {
      orphans.delete(id);
      waiters.set(id, (waiters.get(id) ?? new Set()).add(waiter));
    },
    /** False: it did not wait any more. */
    leave: (id: string, waiter: Waiter): boolean => waiters.get(id)?.delete(waiter) ?? false,
    settle(id: string, answer: ApprovalAnswer): void {
      orphans.delete(id);
      const waiting = waiters.get(id);
      waiters.delete(id);
      for (const { resolve } of waiting ?? []) resolve(answer);
    },
    /** Its asker is to ask again. */
    expect(id: string): void {
      if (!waiters.has(id)) orphans.add(id);
    },
    missing: (): ReadonlySet<string> => orphans,
  };
}

/** How a question is held and ends without an answer: in the database, the ledger and the cloud, and then for its askers. */
function createHolding({
  ledger,
  reports,
  clock,
  ids,
  settle,
}: Pick<ApprovalsDeps, 'ledger' | 'reports' | 'clock' | 'ids'> & {
  readonly settle: (id: string, answer: ApprovalAnswer) => void;
}) {
  function hold(tx: Tx, request: ApprovalAsk): string {
    const { agentId: bot, client = null } = request;
    const waiting = bot !== null ? liveOfAgent(tx, bot) : client !== null ? liveOfClient(tx, client) : 0;
    if (waiting >= maxPerOne) {
      const fact = `${waiting} approvals of this ${bot === null ? 'client' : 'bot'} are already waiting for a person.`;
      throw new AppError('refused', fact, 'Wait until some are answered.', { status: 429 });
    }
    const id = ids.next('apr');
    const now = clock.now();
    const question = questionOf(request, now);
    const { actionHash, action = null, dedupeKey = null } = request;
    const { kind, source, risk, agentId, dagId, nodeId } = question;
    const summarySha256 = hash('sha256', withDetails(question), 'hex');
    const about = { approvalId: id, kind, source, risk, agentId, dagId, nodeId, actionHash, summarySha256 };
    const row = ledger.append(tx, {
      type: 'approval.held',
      actor: agentId ?? 'engine',
      surface: 'engine',
      subject: `approval:${id}`,
      body: { v: 1, ...about },
    });
    const longest = endOf({ expiresInMs: request.expiresInMs }, now, now);
    insertHold(tx, { id, question, actionHash, action, dedupeKey, client, longest, ledgerId: row.id });
    reports.queue(tx, readHold(tx, id)!);
    return id;
  }

  function endsAt(tx: Tx, found: Hold, deadline: number): void {
    moveDeadline(tx, found.id, deadline);
    reports.queue(tx, readHold(tx, found.id)!, found.deadline);
  }

  /** Past its time: nobody answered, or no asker came back. */
  function endOverdue(tx: Tx, { id, deadline, longest }: Hold): void {
    if (deadline < longest) end(tx, id, 'withdraw', { ...nobody, surface: 'engine' });
    else end(tx, id, 'expire', { ...nobody, surface: null });
  }

  /** Ends a live hold and notifies its askers, once it is durable. False: it had ended before. */
  function end(
    tx: Tx,
    id: string,
    move: 'expire' | 'withdraw',
    how: { decision: null; note: null; user: string | null; surface: string | null },
  ): boolean {
    if (!endHold(tx, id, move, { ...how, at: clock.now() })) return false;
    const ended = readHold(tx, id)!;
    ledger.append(tx, {
      type: move === 'expire' ? 'approval.expired' : 'approval.withdrawn',
      actor: how.user ?? 'engine',
      surface: how.surface ?? 'engine',
      subject: `approval:${id}`,
      body: { v: 1, approvalId: id, surface: how.surface },
    });
    if (move === 'withdraw') reports.queue(tx, ended);
    const answer: ApprovalAnswer =
      move === 'expire' ? { kind: 'expired' } : { kind: 'withdrawn', surface: how.surface ?? 'engine' };
    tx.afterCommit(() => settle(id, answer));
    return true;
  }

  return { hold, end, endOverdue, endsAt };
}

/** One timer for all deadlines; a write that the disk refuses is tried again. */
function createDeadlines({
  store,
  clock,
  timers,
  log,
  expire,
}: Pick<ApprovalsDeps, 'store' | 'clock' | 'timers' | 'log'> & { readonly expire: () => Promise<unknown> }) {
  let cancelTimer = () => {};
  let closed = false;

  function schedule(): void {
    if (closed) return;
    cancelTimer();
    store
      .read((tx) => nextDeadline(tx))
      .then((next) => {
        if (closed || next === null) return;
        cancelTimer();
        cancelTimer = timers.after(Math.min(Math.max(0, next - clock.now()), maxWaitMs), () => {
          expire()
            .catch((fault: unknown) => log.warn('Approvals could not be expired.', { fault: String(fault) }))
            .finally(schedule);
        });
      })
      .catch((fault: unknown) => log.warn('Deadlines of approvals could not be read.', { fault: String(fault) }));
  }

  return {
    schedule,
    close(): void {
      closed = true;
      cancelTimer();
    },
  };
}

/** Live holds, newest first. */
export async function liveApprovals(store: Pick<Store, 'read'>, clock: Clock): Promise<Approval[]> {
  return (await store.read(liveHolds)).map((hold) => holdAsApproval(hold, clock.now()));
}

function verdictOf(hold: Hold): ApprovalVerdict {
  const by = { user: hold.user!, surface: hold.surface! };
  return { kind: hold.decision!, note: hold.note, by, at: iso(hold.endedAt!) };
}

/** The same answer again: the cloud did not learn that it had arrived. */
function isSame(hold: Hold, body: ApprovalAnswerBody): boolean {
  return (
    hold.decision === body.decision && hold.user === body.resolvedBy.user && hold.answeredAt === Date.parse(body.at)
  );
}

/** When a question of `asked` ends if it is asked now: an asker that comes back gets its waiting time and the time to return. */
function endOf({ expiresInMs, comesBack }: Pick<ApprovalAsk, 'expiresInMs' | 'comesBack'>, asked: number, now: number) {
  const longest = asked + Math.min(Math.max(1000, expiresInMs), maxExpiryMs);
  if (comesBack === undefined) return longest;
  return Math.min(longest, now + comesBack.waitsMs + comesBack.withdrawnAfterMs);
}

function questionOf(ask: ApprovalAsk, now: number): ApprovalQuestion {
  const { source, kind, risk, agentId, dagId, nodeId, runId } = ask;
  // Made once for every surface: what people see must be what runs.
  const [title, summary] = [visibleLine(ask.title), visible(ask.summary)];
  const reason = ask.reason === undefined ? '' : visible(ask.reason).slice(0, maxReasonLength);
  const details = (ask.details ?? []).map(({ name, text }) => ({ name, text: visible(text) }));
  const { length } = withDetails({ summary, details });
  if (length > largestSummary) {
    throw new AppError(
      'refused',
      `The action to approve has ${length} characters; a person can be shown at most ${largestSummary}.`,
      'Ask for smaller steps, which a person can read in full.',
    );
  }
  return {
    kind,
    title: title.length > maxTitleLength ? `${title.slice(0, maxTitleLength - 1)}…` : title,
    summary,
    ...(details.length === 0 ? {} : { details }),
    ...(reason === '' ? {} : { reason }),
    risk,
    source,
    agentId,
    ...(dagId === undefined ? {} : { dagId }),
    ...(nodeId === undefined ? {} : { nodeId }),
    ...(runId === undefined ? {} : { runId }),
    requestedAt: iso(now),
    expiresAt: iso(endOf(ask, now, now)),
  };
}

/** The contract's bounds (`ApprovalQuestion`). */
const largestSummary = 200_000;
const maxTitleLength = 200;
const maxReasonLength = 2000;
