/**
 * Replies to somebody outside that were kept too long to leave unasked: their person decides first. Their files stay in the spool meanwhile. Must not
 * know how a reply is sent.
 */
import { AppError } from '../../contracts/common/errors.ts';
import { iso } from '../../kit/clock/clock.ts';
import { actionHash } from '../../kit/signing/action-hash.ts';
import { type CarryOut, passes } from './carry-out.ts';
import type { TakerDeps } from './deps.ts';
import type { SpooledReport } from './spool.ts';

/** What a bot said longer ago may not be what it would say now. Milliseconds. */
const lateMs = 10 * 60_000;
/** A clock that was set back while the report lay there makes it seem newer than it is. */
const clockSkewMs = 60_000;
/** For so long its person may still let a late reply leave. */
const lateReplyLivesMs = 24 * 60 * 60_000;

export function createLateReplies(
  deps: Pick<TakerDeps, 'clock' | 'log' | 'approvals' | 'readerOf' | 'spools'> &
    CarryOut & {
      readonly signal: AbortSignal;
      /** After everything else that is being taken of this bot. */
      readonly inTurn: (agentId: string, work: () => Promise<void>) => Promise<void>;
    },
) {
  const asked = new Set<string>();

  return {
    isAsked: (id: string) => asked.has(id),
    /** Whether its person has to decide, and is asked now. */
    async holds(agentId: string, file: string, report: SpooledReport): Promise<boolean> {
      if (asked.has(report.id)) return true;
      const reader = await readerOf(report);
      if (reader === null) return false;
      await ask(agentId, file, report, reader).catch((error: unknown) => {
        // It stays in the spool, and is asked about again at the next sweep.
        asked.delete(report.id);
        deps.log.warn('Nobody could be asked about a late reply.', { agentId, id: report.id, error: String(error) });
      });
      return true;
    },
  };

  /** Who outside would read it; null: it may leave. */
  async function readerOf({ op, at, body }: SpooledReport): Promise<string | null> {
    const age = deps.clock.now() - at;
    if (op !== 'sendMessage' || (age <= lateMs && age >= -clockSkewMs)) return null;
    return deps.readerOf(threadOf(body));
  }

  async function ask(agentId: string, file: string, report: SpooledReport, reader: string): Promise<void> {
    asked.add(report.id);
    const { text } = report.body as { text?: unknown };
    const { answer } = await deps.approvals.ask(
      {
        source: 'gate',
        kind: 'late_reply',
        title: `Send a late reply to ${reader}`,
        summary: String(text),
        reason: `It was written at ${iso(report.at)}, while Gantry was away.`,
        risk: 'medium',
        agentId,
        actionHash: actionHash({ report: report.id, text: String(text) }),
        expiresInMs: lateReplyLivesMs,
        dedupeKey: `report:${report.id}`,
      },
      { signal: deps.signal },
    );
    const decided = async () => {
      const { kind } = await answer;
      if (deps.signal.aborted) return;
      await deps.inTurn(agentId, async () => {
        const taken = kind === 'approve' ? await deps.carryOut(agentId, report, null) : { error: notSent(kind) };
        asked.delete(report.id);
        if (typeof taken === 'object' && 'error' in taken) {
          // It stays in the spool; the answer is kept for who asks again.
          if (passes(taken.error)) return;
          await deps.refuse(agentId, report, taken.error);
        }
        deps.spools.remove(agentId, file, report);
      });
    };
    decided().catch((error: unknown) => {
      asked.delete(report.id);
      deps.log.warn('A late reply could not be sent.', { agentId, id: report.id, error: String(error) });
    });
  }
}

function notSent(kind: string): AppError {
  const why =
    kind === 'reject' ? 'Your person did not let the late reply leave.' : 'Nobody answered whether it may leave.';
  return new AppError('refused', why, 'Look at the thread before you write again.');
}

/** `channel:<thread>` */
function threadOf(body: unknown): string {
  return String((body as { to?: unknown }).to).replace(/^channel:/, '');
}
