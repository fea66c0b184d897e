/**
 * Answers the question of a run, through the run. It is a row of the one approvals table, so the first answer wins whichever route it takes. Must not
 * know how a run continues.
 */
import type { Approval, ApprovalDecision } from '../../contracts/approvals/approval.ts';
import { AppError } from '../../contracts/common/errors.ts';
import type { Route } from '../../contracts/common/route.ts';
import type { Run } from '../../contracts/computer-use/run.ts';
import { approveRun, getRun } from '../../contracts/computer-use/run-routes.ts';
import { type Clock, iso } from '../../kit/clock/clock.ts';
import { pause, type Timers } from '../../kit/clock/timers.ts';
import { surfaceOf } from '../../kit/http/principals.ts';
import { type BoundRoute, bind, type Context, type Principal } from '../../kit/http/types.ts';
import { readAnswer } from '../link/read-answer.ts';
import type { CallersComputers } from './computers.ts';
import type { HostedDevices } from './hosted-port.ts';

export interface ApproveDeps {
  readonly computers: CallersComputers;
  readonly approvals: {
    /** Throws 404 `approval_not_found`, 409 where it was answered, 410 where it expired. */
    resolve(
      id: string,
      decision: {
        readonly decision: ApprovalDecision;
        readonly note: string | null;
        readonly userId: string;
        readonly surface: string;
      },
    ): Promise<Approval>;
  };
  /** Null: no hosted-computer project here lets keys answer. */
  readonly hosted: Pick<HostedDevices, 'approvalMode'> | null;
  readonly clock: Clock;
  readonly timers: Timers;
}

/** How long to read the run again until it has seen the answer, and to wait for a question that is still on its way to the cloud. */
const patienceMs = 5_000;
const lookEveryMs = 50;
/** Bytes of a run. */
const maxRunLength = 16 * 1024 * 1024;

export function createApproveRoute({ computers, approvals, hosted, clock, timers }: ApproveDeps): BoundRoute {
  /** Reads it from its computer, as this caller. */
  async function read(context: Context<Route>, runId: string, at: { computerId: string; path: string; seek: boolean }) {
    const path = getRun.path.replace(':runId', encodeURIComponent(runId));
    const question = { context, computerId: at.computerId, path, method: 'GET' };
    const { computerId, answer } = at.seek
      ? await computers.askUntilKnown(question)
      : { computerId: at.computerId, answer: await computers.ask(question) };
    const body = JSON.parse((await readAnswer(answer, maxRunLength)).toString()) as Run & {
      error?: unknown;
      message?: unknown;
    };
    if (answer.statusCode !== 200) throw passedOn(answer.statusCode, body);
    return { computerId, run: body as Run };
  }

  async function mayAnswer(principal: Principal): Promise<void> {
    if (principal.kind !== 'key' || (await hosted?.approvalMode(principal)) === 'api_key') return;
    throw new AppError(
      'refused',
      'A key cannot answer approvals of this project: its approval_mode is owner.',
      'Answer it in Gantry, or let keys answer in the settings of hosted computers.',
      { wireCode: 'forbidden' },
    );
  }

  /** The question may reach the cloud a moment after its run shows it. */
  async function resolve(id: string, decision: Parameters<typeof approvals.resolve>[1], signal: AbortSignal) {
    const until = clock.monotonic() + patienceMs;
    for (;;) {
      try {
        return await approvals.resolve(id, decision);
      } catch (thrown) {
        const unknown = thrown instanceof AppError && thrown.code === 'not_found';
        if (!unknown || clock.monotonic() >= until || signal.aborted) throw thrown;
        await pause(timers, lookEveryMs, signal);
      }
    }
  }

  return bind(approveRun, async (context) => {
    const { principal, params, body, signal } = context;
    await mayAnswer(principal);
    const asking = context as unknown as Context<Route>;
    const { named, computerId, path } = await computers.targetOf(context);
    const found = await read(asking, params.runId, { computerId, path, seek: !named });
    const { approval } = found.run;
    if (approval === null || (body.approval_id !== undefined && body.approval_id !== approval.id)) {
      throw nothingAsked(found.run, body.approval_id);
    }
    const decision = body.decision === 'approve' ? 'approve' : 'reject';
    const by = { userId: principal.userId, surface: surfaceOf(principal) };
    await resolve(approval.id, { decision, note: body.comment ?? null, ...by }, signal);
    const until = clock.monotonic() + patienceMs;
    for (;;) {
      const { run } = await read(asking, params.runId, { computerId: found.computerId, path, seek: false });
      if (run.approval?.id !== approval.id || clock.monotonic() >= until || signal.aborted) return { body: run };
      await pause(timers, lookEveryMs, signal);
    }
  });
}

function nothingAsked(run: Run, named: string | undefined): AppError {
  const fact =
    run.approval === null
      ? `The run ${run.run_id} is ${run.status} and has no pending approval.`
      : `The run ${run.run_id} waits for the approval ${run.approval.id} since ${iso(Date.parse(run.approval.requested_at))}, not for ${JSON.stringify(named)}.`;
  return new AppError('refused', fact, 'Read the run to see what it waits for.', {
    status: 409,
    wireCode: 'no_pending_approval',
  });
}

function passedOn(status: number | undefined, body: { error?: unknown; message?: unknown }): AppError {
  return new AppError('transport', `The computer answered ${status}: ${String(body.message ?? 'no reason')}`, '', {
    wireCode: 'computer_unavailable',
  });
}
