/**
 * Jobs: created from events in the transaction that opens the ticket, moved by one guard, answered by people. Each move is a row that can be read
 * and one in the ledger, in the same transaction. Must not know how a job is run (`dispatch.ts`) or asked about (`questions.ts`).
 */

import { AppError } from '../../../contracts/common/errors.ts';
import type { JobStatus, Rule, RuleMode } from '../../../contracts/connectors/rule.ts';
import type { Ledger } from '../../../kit/ledger/ledger.ts';
import type { Tx } from '../../../kit/store/store.ts';
import type { Base } from '../../base/base.ts';
import type { TakenEvent } from '../ports.ts';
import { canBecome, maxGathered, pendingStates, retryable, stopDeadlineMs, stricter } from './model.ts';
import { configOfRule, readRule } from './rule-store.ts';
import {
  addInput,
  addMove,
  gathering,
  insertJob,
  type JobChange,
  type JobRecord,
  jobsIn,
  type Read,
  readJob,
  setConfig,
  setStatus,
} from './store.ts';

/** The actor of a move: `engine`, or a person. */
export interface Mover {
  readonly actor: string;
  readonly surface: string;
}
export const engine: Mover = { actor: 'engine', surface: 'engine' };

export interface Jobs {
  /** The one guard. Null: it was moved since it was read. Throws 409 `invalid_transition` for a move outside the table. */
  move(tx: Tx, job: JobRecord, to: JobStatus, by: Mover, change: JobChange): JobRecord | null;
  take(tx: Tx, event: TakenEvent, rules: readonly string[]): void;
  /** A batch is complete: it goes to a person, or to the queue. */
  gathered(tx: Tx, job: JobRecord): void;
  approve(tx: Tx, job: JobRecord, by: Mover): JobRecord;
  deny(tx: Tx, job: JobRecord, by: Mover, reason: string | null): JobRecord;
  retry(tx: Tx, job: JobRecord, by: Mover): JobRecord;
  /** A running one becomes `stopping`; one that has not begun is cancelled at once; a repeat changes nothing. */
  stop(tx: Tx, job: JobRecord, by: Mover): JobRecord;
  /** Pending jobs of the rule are held to its mode where that is stricter; their instructions stay. Returns those jobs. */
  strengthen(tx: Tx, rule: Rule, by: Mover): void;
  /** Which {@link strengthen} would change. */
  weaker(tx: Read, rule: Pick<Rule, 'id' | 'executionMode'>): JobRecord[];
  cancelPending(tx: Tx, ruleId: string, by: Mover, reason: string): void;
}

export function createJobs({
  ledger,
  clock,
  ids,
  moved,
}: Pick<Base, 'clock' | 'ids'> & {
  readonly ledger: Pick<Ledger, 'append'>;
  /** A job moved: dispatcher and questions check again. Called after the commit. */
  moved(): void;
}): Jobs {
  const move: Jobs['move'] = (tx, job, to, by, change) => {
    if (!canBecome(job.status, to)) throw invalidTransition(job, to);
    // Each time that it comes to wait for a person is another question.
    const asked = to === 'awaiting_approval' ? { approved: false, asked: job.asked + 1 } : {};
    if (!setStatus(tx, job, to, { ...change, ...asked })) return null;
    note(tx, job, to, by, change.reason);
    return readJob(tx, job.id);
  };

  const note = (tx: Tx, job: Pick<JobRecord, 'id' | 'ruleId'>, to: JobStatus, by: Mover, reason: string | null) => {
    addMove(tx, job.id, { at: clock.now(), status: to, reason, actor: by.actor });
    const body = { v: 1, jobId: job.id, ruleId: job.ruleId, status: to };
    ledger.append(tx, { type: 'automation.run.moved', ...by, subject: `automation-run:${job.id}`, body });
    tx.afterCommit(moved);
  };

  /** As {@link move}, of a job read in the same transaction. */
  const must = (tx: Tx, job: JobRecord, to: JobStatus, by: Mover, change: JobChange): JobRecord => {
    const now = move(tx, job, to, by, change);
    if (now === null) throw new Error(`The job ${job.id} changed inside a transaction.`);
    return now;
  };

  const takeFor = (tx: Tx, event: TakenEvent, rule: Rule): void => {
    const input = { eventId: event.eventId, ticketId: event.ticketId, at: event.at };
    const open = rule.batchSeconds === 0 ? null : gathering(tx, rule.id, rule.version);
    if (open !== null && open.events < maxGathered && (open.job.batchUntil ?? 0) > clock.now()) {
      addInput(tx, open.job.id, input);
      return;
    }
    const now = clock.now();
    const batches = rule.batchSeconds > 0;
    const id = ids.next('job');
    const asks = rule.executionMode === 'REQUIRE_APPROVAL';
    const status = batches ? 'batching' : asks ? 'awaiting_approval' : 'queued';
    insertJob(tx, {
      id,
      subscriptionId: event.subscription.id,
      eventName: event.subscription.name,
      ruleId: rule.id,
      ruleVersion: rule.version,
      status,
      config: configOfRule(rule),
      batchUntil: batches ? now + rule.batchSeconds * 1000 : null,
      createdAt: now,
    });
    addInput(tx, id, input);
    note(tx, { id, ruleId: rule.id }, status, engine, null);
  };

  const weaker: Jobs['weaker'] = (tx, rule) =>
    jobsIn(tx, pendingStates, rule.id).filter((job) => {
      const { executionMode } = job.config;
      return stricter(rule.executionMode, executionMode) !== executionMode || mustAsk(job, rule);
    });
  /** An ask-first rule asks about queued jobs, also those that only plan. */
  const mustAsk = (job: JobRecord, rule: Pick<Rule, 'executionMode'>) =>
    rule.executionMode === 'REQUIRE_APPROVAL' && job.status === 'queued' && !job.approved;

  const holdTo = (tx: Tx, job: JobRecord, mode: RuleMode) => {
    const held = stricter(mode, job.config.executionMode);
    if (held !== job.config.executionMode) setConfig(tx, job.id, { ...job.config, executionMode: held });
  };

  return {
    move,
    take(tx, event, ruleIds) {
      for (const id of ruleIds) {
        const rule = readRule(tx, id);
        if (rule !== null && rule.subscriptionId === event.subscription.id) takeFor(tx, event, rule);
      }
    },
    gathered(tx, job) {
      const asks = asksFirst(tx, job);
      move(tx, job, asks ? 'awaiting_approval' : 'queued', engine, { reason: null });
    },
    approve: (tx, job, by) => {
      if (job.status !== 'awaiting_approval') throw invalidTransition(job, 'queued');
      return must(tx, job, 'queued', by, { reason: null, approved: true });
    },
    deny: (tx, job, by, reason) => must(tx, job, 'denied', by, { reason }),
    retry(tx, job, by) {
      if (!(retryable as readonly JobStatus[]).includes(job.status)) throw invalidTransition(job, 'awaiting_approval');
      const rule = readRule(tx, job.ruleId);
      // A stricter mode set since then holds for it too.
      if (rule !== null) holdTo(tx, job, rule.executionMode);
      const now = readJob(tx, job.id) as JobRecord;
      return must(tx, now, 'awaiting_approval', by, { reason: 'Retried.' });
    },
    stop(tx, job, by) {
      if (job.status === 'stopping') return job;
      if (job.status !== 'running') return must(tx, job, 'cancelled', by, { reason: 'Stopped before it started.' });
      const stopBy = clock.now() + stopDeadlineMs;
      return must(tx, job, 'stopping', by, { reason: 'The job was asked to stop.', stopBy });
    },
    weaker,
    strengthen(tx, rule, by) {
      for (const job of weaker(tx, rule)) {
        holdTo(tx, job, rule.executionMode);
        if (!mustAsk(job, rule)) continue;
        must(tx, readJob(tx, job.id) as JobRecord, 'awaiting_approval', by, { reason: 'Its rule now asks first.' });
      }
    },
    cancelPending(tx, ruleId, by, reason) {
      for (const job of jobsIn(tx, pendingStates, ruleId)) must(tx, job, 'cancelled', by, { reason });
    },
  };
}

/** Decided by the mode it was created with, and by its rule's current one. */
function asksFirst(tx: Read, job: JobRecord): boolean {
  return (
    job.config.executionMode === 'REQUIRE_APPROVAL' || readRule(tx, job.ruleId)?.executionMode === 'REQUIRE_APPROVAL'
  );
}

function invalidTransition(job: JobRecord, to: JobStatus): AppError {
  return new AppError(
    'refused',
    `The job ${job.id} is ${job.status} and cannot become ${to}.`,
    'Check the job, and try again once its status has changed.',
    { status: 409, wireCode: 'invalid_transition', extra: { from: job.status, requested: to } },
  );
}
