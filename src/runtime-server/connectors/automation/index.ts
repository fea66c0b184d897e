/**
 * Automation of one computer: rules of subscriptions, and the jobs that they make of events. Composes its parts; the host gives it bots,
 * schemas and approvals, and its routes the subscriptions. Must not know connectors' servers or the cloud.
 */

import type { BoundRoute } from '../../../kit/http/types.ts';
import type { Ledger } from '../../../kit/ledger/ledger.ts';
import type { Approvals } from '../../approvals/index.ts';
import type { Base } from '../../base/base.ts';
import type { AutomationPort, FactoryPort, Schemas, SubscriptionLookup } from '../ports.ts';
import { createDispatch } from './dispatch.ts';
import { createJobs } from './jobs.ts';
import { createQuestions } from './questions.ts';
import { automationRoutes } from './routes.ts';
import { createRules } from './rules.ts';
import { runsOfEvents, withJobs } from './store.ts';

export { automationMigrations } from './migrations.ts';

export interface AutomationArea extends AutomationPort {
  routes(subscriptions: SubscriptionLookup): readonly BoundRoute[];
  /** Before anything is dispatched: what ran when Gantry ended is interrupted. */
  start(): Promise<void>;
  close(): Promise<void>;
}

export function createAutomation(
  deps: Pick<Base, 'store' | 'clock' | 'timers' | 'ids'> &
    FactoryPort & {
      readonly ledger: Pick<Ledger, 'append'>;
      readonly log: { warn(message: string, facts?: Readonly<Record<string, unknown>>): void };
      readonly schemas: Pick<Schemas, 'check'>;
      readonly approvals: Pick<Approvals, 'ask' | 'withdraw'>;
      /** Whether there is such a connector. */
      readonly connector: (id: string) => boolean;
    },
): AutomationArea {
  const { bots } = deps;
  /** Called when a job has moved, from the start on. */
  const listeners = new Set<() => void>();
  const moved = () => {
    for (const listener of listeners) listener();
  };
  const jobs = createJobs({ ...deps, moved });
  const rules = createRules({ ...deps, jobs, moved });
  const questions = createQuestions({ ...deps, jobs, nameOf: (id) => bots.find(id)?.name ?? id });
  const dispatch = createDispatch({ ...deps, jobs });
  let looking: Promise<void> | null = null;
  let lookAgain = false;
  /** Events may come by the thousand: one look serves all that moved before it. */
  const look = () => {
    lookAgain = true;
    looking ??= (async () => {
      while (lookAgain) {
        lookAgain = false;
        await questions.look();
      }
    })()
      .catch((error: unknown) =>
        deps.log.warn('Runs waiting for a person could not be read.', { error: String(error) }),
      )
      .finally(() => {
        looking = null;
      });
  };

  return {
    checkDefault: rules.checkDefault,
    saveDefault: rules.saveDefault,
    matching: rules.matching,
    take: jobs.take,
    runsOf(tx, subscriptionId, eventIds) {
      const runs = runsOfEvents(tx, subscriptionId, eventIds);
      const grouped = Map.groupBy(runs, (run) => run.eventId);
      return new Map([...grouped].map(([id, of]) => [id, of.map(({ eventId: _, ...run }) => run)]));
    },
    withRuns: withJobs,
    ended: rules.removeAll,
    routes: (subscriptions) => automationRoutes({ ...deps, subscriptions, rules, jobs, abort: dispatch.abort }),
    async start() {
      await dispatch.recover();
      listeners.add(look).add(dispatch.wake);
      moved();
    },
    async close() {
      questions.close();
      await dispatch.close();
      await looking;
    },
  };
}
