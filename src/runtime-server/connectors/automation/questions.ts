/**
 * Jobs that wait for a person also become approvals, which inbox, command line and push answer. An answer moves the job in the transaction that
 * takes it; a second answer to the same job finds nothing to do. An event's text is never part of a question, because questions leave this computer.
 */

import type { RuleMode } from '../../../contracts/connectors/rule.ts';
import { actionHash } from '../../../kit/signing/action-hash.ts';
import type { Tx } from '../../../kit/store/store.ts';
import type { Approvals, ApprovalVerdict } from '../../approvals/index.ts';
import type { Base } from '../../base/base.ts';
import { engine, type Jobs } from './jobs.ts';
import { askedForMs } from './model.ts';
import { awaiting, inputsOf, type JobRecord, readJob } from './store.ts';

/** Open questions of one bot: fewer than approvals allow, so that the bot's own tools can still ask. */
const maxAsked = 25;

interface Questions {
  /** Asks about waiting jobs without a question, and withdraws questions of jobs that no longer wait. Never throws. */
  look(): Promise<void>;
  /** Leaves its questions where they are. */
  close(): void;
}

export function createQuestions({
  store,
  approvals,
  jobs,
  nameOf,
  log,
}: Pick<Base, 'store' | 'clock'> & {
  readonly approvals: Pick<Approvals, 'ask' | 'withdraw'>;
  readonly jobs: Jobs;
  readonly nameOf: (botId: string) => string;
  readonly log: { warn(message: string, facts?: Readonly<Record<string, unknown>>): void };
}): Questions {
  /** By job: the question, and for which time of asking. */
  const open = new Map<string, { readonly id: string; readonly round: string; readonly botId: string }>();
  const leave = new AbortController();

  async function askAbout(jobId: string): Promise<void> {
    const found = await store.read((tx) => {
      const job = readJob(tx, jobId);
      return job === null ? null : { job, tickets: inputsOf(tx, jobId).map(({ ticketId }) => ticketId) };
    });
    if (found?.job.status === 'awaiting_approval') await ask(found.job, found.tickets);
  }

  async function ask(job: JobRecord, tickets: readonly string[]): Promise<void> {
    const round = roundOf(job);
    const { config } = job;
    const asked = await approvals.ask(
      {
        source: 'automation',
        kind: 'automation_run',
        title:
          `Run ${nameOf(config.botId)} on ${tickets.length === 1 ? 'an event' : `${tickets.length} events`} of ${job.eventName}`.slice(
            0,
            200,
          ),
        summary: [
          config.instructions,
          config.expectedOutput === '' ? '' : `Expected output:\n${config.expectedOutput}`,
          `${modeWords[config.executionMode]} ${tickets.length === 1 ? 'Ticket' : 'Tickets'}: ${tickets.join(', ')}.`,
        ]
          .filter((part) => part !== '')
          .join('\n\n'),
        risk: 'medium',
        agentId: config.botId,
        // The way there: where it belongs is asked by it.
        runId: job.id,
        actionHash: actionHash({ automation: job.id, round, config, tickets }),
        expiresInMs: askedForMs,
        dedupeKey: `automation:${round}`,
      },
      { signal: leave.signal, apply: (tx, verdict) => apply(tx, job.id, round, verdict) },
    );
    open.set(job.id, { id: asked.id, round, botId: config.botId });
    void asked.answer.then((answer) => {
      if (open.get(job.id)?.id === asked.id) open.delete(job.id);
      if (answer.kind === 'expired') return expire(job.id, round);
    });
  }

  function apply(tx: Tx, jobId: string, round: string, verdict: ApprovalVerdict): void {
    const job = readJob(tx, jobId);
    if (job === null || job.status !== 'awaiting_approval' || roundOf(job) !== round) return;
    const by = { actor: verdict.by.user, surface: verdict.by.surface };
    if (verdict.kind === 'approve') jobs.approve(tx, job, by);
    else jobs.deny(tx, job, by, verdict.note);
  }

  async function expire(jobId: string, round: string): Promise<void> {
    await store
      .write((tx) => {
        const job = readJob(tx, jobId);
        if (job === null || job.status !== 'awaiting_approval' || roundOf(job) !== round) return;
        jobs.move(tx, job, 'cancelled', engine, { reason: 'Nobody answered within 7 days.' });
      })
      .catch((error: unknown) =>
        log.warn('A job that nobody approved could not be ended.', { jobId, error: String(error) }),
      );
  }

  return {
    async look() {
      const waiting = await store.read((tx) => awaiting(tx));
      const rounds = new Set(waiting.map(roundOf));
      for (const [jobId, question] of open) {
        if (rounds.has(question.round)) continue;
        open.delete(jobId);
        await approvals
          .withdraw(question.id, 'automation')
          .catch((error: unknown) => log.warn('An approval could not be withdrawn.', { jobId, error: String(error) }));
      }
      const asked = new Map<string, number>();
      for (const { botId } of open.values()) asked.set(botId, (asked.get(botId) ?? 0) + 1);
      for (const { id, botId } of waiting) {
        const before = asked.get(botId) ?? 0;
        // The rest can be answered on its own page, and is asked about as the others are answered.
        if (leave.signal.aborted || open.has(id) || before >= maxAsked) continue;
        asked.set(botId, before + 1);
        await askAbout(id).catch((error: unknown) => {
          asked.set(botId, maxAsked);
          log.warn('A person could not be asked about a job.', { jobId: id, error: String(error) });
        });
      }
    },
    close: () => leave.abort(),
  };
}

const modeWords: Readonly<Record<RuleMode, string>> = {
  REQUIRE_APPROVAL: 'It does only what needs no permission.',
  PLAN_ONLY: 'It reads and writes a plan; it changes nothing.',
  ACCEPT_EDITS: 'It may also change files; everything else that needs permission is refused.',
};

/** Each time that it comes to wait is another question. */
const roundOf = (job: Pick<JobRecord, 'id' | 'asked'>): string => `${job.id}:${job.asked}`;
