/**
 * Brings questions and withdrawals to the cloud through an outbox in `runtime.db`. A report is appended in the transaction of its hold, so that
 * neither exists without the other. Each report is complete, so that a repeated or late one changes nothing there. Must not know who asked.
 */
import { type ApprovalReport, withDetails } from '../../contracts/approvals/approval.ts';
import { putApproval } from '../../contracts/approvals/routes.ts';
import type { Capability } from '../../contracts/link/knows.ts';
import { type Clock, iso } from '../../kit/clock/clock.ts';
import type { LaneItem, LaneOutcome, Lanes } from '../../kit/lane/lane.ts';
import type { Tx } from '../../kit/store/store.ts';
import type { Hold } from './holds.ts';

/** Calls the home cloud as this computer's device, signed. Throws when it cannot be reached. */
export type CallHome = (request: {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  readonly signal: AbortSignal;
}) => Promise<{ readonly status: number; readonly body: unknown }>;

export type OpenReportLanes = (send: (item: LaneItem, signal: AbortSignal) => Promise<LaneOutcome>) => Lanes;

export interface Reports {
  /** The hold's current state, in the transaction that created or ended it, or moved its end: then with the earlier end. */
  queue(tx: Tx, hold: Hold, before?: number): void;
  /** Ids of approvals whose question has not arrived yet. */
  waiting(): Promise<ReadonlySet<string>>;
  /** Why nothing arrives; null while all does. */
  trouble(): Promise<string | null>;
  /** Home can be reached again: waiting reports are sent at once. */
  wake(): void;
  start(): Promise<void>;
  close(): Promise<void>;
}

const home = 'home';
const ended = '.ended';
/** Before the end that it was moved to. */
const moved = '.until-';

/** The row as stored, also for a cloud that cannot be told of an early end. */
type Kept = ApprovalReport & { readonly longest?: string };

export function createReports({
  openLanes,
  call,
  knows,
  clock,
  engineId,
  botName,
  log,
}: {
  readonly openLanes: OpenReportLanes;
  readonly call: CallHome;
  /** The home cloud's capabilities; requested from it if not known yet. */
  readonly knows: () => Promise<ReadonlySet<Capability>>;
  readonly clock: Clock;
  readonly engineId: string;
  /** Its person's name for a bot; null for an unknown one. */
  readonly botName?: (agentId: string) => string | null;
  readonly log: { warn(message: string, facts?: Record<string, unknown>): void };
}): Reports {
  const lanes = openLanes(async (item, signal) => {
    const path = putApproval.path.replace(':id', item.id.split('.')[0] ?? '');
    const known = await knows();
    const put = (body: ApprovalReport | null) =>
      body === null ? { status: 200 } : call({ method: putApproval.method, path, body, signal });
    const body = bodyFor(item.body as Kept, known, item.id.includes(moved), clock.now());
    const first = await put(body);
    // Another, older replica of the cloud may have answered the capabilities request: nothing is lost by that.
    const { status } =
      first.status === 400 && known.size > 0
        ? await put(bodyFor(item.body as Kept, new Set(), item.id.includes(moved), clock.now()))
        : first;
    if (status === 200) return { to: 'done' };
    // 401: our clock is off, or the signature was used: the next try signs again.
    if (status === 401 || status === 408 || status === 429 || status >= 500) {
      return { to: 'retry', reason: `the cloud answered ${status}` };
    }
    log.warn('The cloud refused an approval of this computer.', { id: item.id, status });
    return { to: 'dead', reason: `the cloud answered ${status}` };
  });

  return {
    queue(tx, hold, before) {
      const { agentId } = hold.question;
      const name = agentId === null ? null : (botName?.(agentId) ?? null);
      const named = name === null ? {} : { botName: name };
      const longest = iso(hold.longest);
      const report: Kept = { ...hold.question, ...named, engineId, ledgerId: hold.ledgerId, longest };
      if (hold.state === 'live') {
        if (before !== undefined) lanes.remove(tx, `${hold.id}${moved}${before}`);
        const id = before === undefined ? hold.id : `${hold.id}${moved}${hold.deadline}`;
        lanes.append(tx, { lane: home, id, body: report, deadline: hold.deadline });
      } else if (hold.state === 'withdrawn') {
        const withdrawn = { surface: hold.surface ?? 'engine', at: iso(hold.endedAt ?? 0) };
        // Kept longer than the question: a cloud that was away must not show a question that has ended.
        lanes.append(tx, { lane: home, id: `${hold.id}${ended}`, body: { ...report, withdrawn } });
      }
    },
    waiting: async () => new Set((await lanes.list(home)).map((item) => item.id)),
    trouble: async () => (await lanes.list(home))[0]?.waiting ?? null,
    wake: () => lanes.wake(),
    start: () => lanes.start(),
    close: () => lanes.close(),
  };
}

/** The body for a cloud with these capabilities; null: it would understand none of it. */
function bodyFor(kept: Kept, knows: ReadonlySet<Capability>, isMove: boolean, now: number): ApprovalReport | null {
  const { longest, reason, details, ...report } = kept;
  const told = {
    // The approved action must be complete: a cloud that does not know details gets them in the summary.
    ...(knows.has('approval-details') && details !== undefined ? { details } : { summary: withDetails(kept) }),
    ...(knows.has('approval-reason') && reason !== undefined ? { reason } : {}),
  };
  if (knows.has('approval-remaining')) {
    return { ...report, ...told, remainingMs: Math.max(0, Date.parse(report.expiresAt) - now) };
  }
  return isMove ? null : { ...report, ...told, expiresAt: longest ?? report.expiresAt };
}
