/**
 * Brings questions and withdrawals to the cloud: a lane in `runtime.db`, appended in the transaction of the hold (architecture.md
 * 4). Each report is whole, so that a repeated or late one changes nothing there. Must not know who asked.
 */
import type { ApprovalReport } from '../../contracts/approvals/approval.ts';
import { putApproval } from '../../contracts/approvals/routes.ts';
import { iso } from '../../kit/clock/clock.ts';
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

export interface ReportsDeps {
  readonly openLanes: OpenReportLanes;
  readonly call: CallHome;
  readonly engineId: string;
  /** What its person calls a bot; null for one that there is not. */
  readonly botName?: (agentId: string) => string | null;
  readonly log: { warn(message: string, facts?: Record<string, unknown>): void };
}

export interface Reports {
  /** The hold as it stands, in the transaction that made or ended it. */
  queue(tx: Tx, hold: Hold): void;
  /** Ids of approvals whose question has not arrived yet. */
  waiting(): Promise<ReadonlySet<string>>;
  /** Why nothing arrives; null while all does. */
  trouble(): Promise<string | null>;
  /** Home can be reached again: what waits is sent at once. */
  wake(): void;
  start(): Promise<void>;
  close(): Promise<void>;
}

const home = 'home';
const ended = '.ended';

export function createReports({ openLanes, call, engineId, botName, log }: ReportsDeps): Reports {
  const lanes = openLanes(async (item, signal) => {
    const path = putApproval.path.replace(':id', item.id.replace(ended, ''));
    const { status } = await call({ method: putApproval.method, path, body: item.body, signal });
    if (status === 200) return { to: 'done' };
    // 401: our clock is off, or the signature was taken: signed anew the next time.
    if (status === 401 || status === 408 || status === 429 || status >= 500) {
      return { to: 'retry', reason: `the cloud answered ${status}` };
    }
    log.warn('The cloud refused an approval of this computer.', { id: item.id, status });
    return { to: 'dead', reason: `the cloud answered ${status}` };
  });

  return {
    queue(tx, hold) {
      const { agentId } = hold.question;
      const name = agentId === null ? null : (botName?.(agentId) ?? null);
      const named = name === null ? {} : { botName: name };
      const report: ApprovalReport = { ...hold.question, ...named, engineId, ledgerId: hold.ledgerId };
      if (hold.state === 'live') {
        lanes.append(tx, { lane: home, id: hold.id, body: report, deadline: hold.deadline });
      } else if (hold.state === 'withdrawn') {
        const withdrawn = { surface: hold.surface ?? 'engine', at: iso(hold.endedAt ?? 0) };
        // Kept longer than the question: a cloud that was away must not show a question that nobody asks any more.
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
