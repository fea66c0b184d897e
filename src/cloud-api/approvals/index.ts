/**
 * Approvals of every area: the one table, its routes and the lane that delivers answers. Owns their composition; the host passes in the store and the
 * way to a computer.
 */
import { listApprovals, putApproval, resolveApproval, waitForApproval } from '../../contracts/approvals/routes.ts';
import type { Clock } from '../../kit/clock/clock.ts';
import type { Timers } from '../../kit/clock/timers.ts';
import { surfaceOf } from '../../kit/http/principals.ts';
import { type BoundRoute, bind, type OwnerLookups } from '../../kit/http/types.ts';
import type { SharedStore } from '../../kit/store/shared-store.ts';
import { type CallRuntime, createAnswers, type OpenAnswerLanes } from './answers.ts';
import { type ApprovalService, createApprovalService, type EmitApprovalEvent } from './service.ts';
import { createApprovalStore } from './store.ts';
import { createApprovalWaits } from './wait.ts';

export { approvalMigrations } from './migrations.ts';
export type { Answerable, ApprovalService } from './service.ts';

/** An approval is shown this long after its last moment to be answered; the ledger of its computer keeps the record. */
const retentionMs = 90 * 24 * 60 * 60_000;

interface Approvals {
  readonly routes: readonly BoundRoute[];
  readonly owners: OwnerLookups;
  readonly service: ApprovalService;
  /** The computer answers again: sends its waiting rows at once. */
  wake(computerId: string): void;
  /** Removes what is older than the retention. */
  forgetOld(now: number): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
}

export function createApprovals(deps: {
  readonly store: SharedStore;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly openLanes: OpenAnswerLanes;
  readonly call: CallRuntime;
  readonly events: EmitApprovalEvent;
  readonly log: { warn(message: string, facts?: Record<string, unknown>): void };
}): Approvals {
  const store = createApprovalStore(deps.store);
  const answers = createAnswers({ ...deps, store });
  const service = createApprovalService({
    store,
    answers,
    events: deps.events,
    clock: deps.clock,
    shared: deps.store.engine === 'postgres',
  });
  const waits = createApprovalWaits({ service, timers: deps.timers });
  return {
    service,
    owners: { approval: (principal, id) => service.owns(principal.userId, id) },
    routes: [
      bind(listApprovals, async ({ principal, query }) => ({
        body: { approvals: await service.list({ userId: principal.userId, ...query }) },
      })),
      bind(resolveApproval, async ({ principal, params: { id }, body: { decision, note, dryRun } }) => {
        if (dryRun === true) {
          const { title } = await service.check(id, principal.userId);
          return { body: { dryRun: true as const, plan: { id, title, decision } } };
        }
        const by = { userId: principal.userId, surface: surfaceOf(principal) };
        return { body: await service.resolve(id, { decision, note: note ?? null, ...by }) };
      }),
      bind(waitForApproval, async ({ principal, params: { id }, query, signal }) => ({
        body: await waits.wait({ principal, id, states: query.for, seconds: query.seconds, signal }),
      })),
      bind(putApproval, async ({ principal, params, body }) => ({
        body: await service.put(params.id, body, {
          userId: principal.userId,
          // The authenticator of devices always names the computer that signed.
          computerId: principal.computerId ?? '',
        }),
      })),
    ],
    wake: (computerId) => answers.wake(computerId),
    forgetOld: (now) => store.forget(now - retentionMs),
    start: () => answers.start(),
    close() {
      waits.close();
      service.close();
      return answers.close();
    },
  };
}
