/** The rule and job routes of subscriptions, at both mounts. The rules' or jobs' own part answers each. */
import { AppError } from '../../../contracts/common/errors.ts';
import type { Route } from '../../../contracts/common/route.ts';
import { twinOf } from '../../../contracts/connectors/mount.ts';
import * as table from '../../../contracts/connectors/rule.ts';
import { surfaceOf } from '../../../kit/http/principals.ts';
import { type BoundRoute, bind, type Context, type JsonHandler, type Principal } from '../../../kit/http/types.ts';
import type { Store, Tx } from '../../../kit/store/store.ts';
import type { ConnectorBots, ConnectorTickets, SubscriptionLookup, SubscriptionRef } from '../ports.ts';
import type { Jobs, Mover } from './jobs.ts';
import { pendingStates } from './model.ts';
import type { Rules } from './rules.ts';
import { type JobRecord, jobsIn, listJobs, movesOf, type Read, readJob, wireJob } from './store.ts';

const defaultLimit = 50;
type Verb = (tx: Tx, job: JobRecord, by: Mover) => JobRecord;

export function automationRoutes(deps: {
  readonly store: Store;
  readonly rules: Rules;
  readonly jobs: Jobs;
  readonly bots: Pick<ConnectorBots, 'list' | 'unenforceable'>;
  readonly tickets: Pick<ConnectorTickets, 'read'>;
  readonly subscriptions: SubscriptionLookup;
  /** Whether there is such a connector. */
  readonly connector: (id: string) => boolean;
  /** Asks the run of this job to stop. */
  readonly abort: (jobId: string) => void;
}): BoundRoute[] {
  const { store, rules, jobs, tickets } = deps;

  /** A live subscription of this connector. */
  const live = (tx: Read, { id, sid }: { id: string; sid: string }): SubscriptionRef =>
    deps.subscriptions.live(tx, id, sid) ?? unknown(id, sid);
  /** Live, or ended and with runs. */
  const known = (tx: Read, { id, sid }: { id: string; sid: string }): void => {
    if (!deps.subscriptions.known(tx, id, sid)) unknown(id, sid);
  };
  const unknown = (id: string, sid: string): never => {
    if (!deps.connector(id)) {
      const fact = `There is no connector ${id}.`;
      throw new AppError('not_found', fact, 'List the connectors.', { wireCode: 'connector_not_found' });
    }
    throw new AppError('not_found', `The connector has no subscription ${sid}.`, 'List its events.', {
      wireCode: 'subscription_not_found',
    });
  };
  const jobOf = (tx: Read, params: { id: string; sid: string; jid: string }): JobRecord => {
    known(tx, params);
    const job = readJob(tx, params.jid);
    if (job !== null && job.subscriptionId === params.sid) return job;
    throw noRun(params.jid);
  };
  /** Their routes differ only in name. */
  const verb = (route: Route & { readonly kind?: 'json' }, act: Verb): BoundRoute[] =>
    both(route as typeof table.approveJob, async ({ params, principal }) => {
      const { job, wire } = await store.write((tx) => {
        const moved = act(tx, jobOf(tx, params), moverOf(principal));
        return { job: moved, wire: wireJob(tx, moved, { output: true, tickets }) };
      });
      if (job.status === 'stopping') deps.abort(job.id);
      return { body: wire };
    });

  return [
    ...both(table.listAutomationBots, async ({ params }) => {
      if (!deps.connector(params.id)) unknown(params.id, '');
      const bots = deps.bots.list().map(({ id, name }) => ({ id, name, reason: deps.bots.unenforceable(id) }));
      return { body: { bots } };
    }),
    ...both(table.listRules, async ({ params }) => ({
      body: await store.read((tx) => ({ rules: rules.list(tx, live(tx, params).id) })),
    })),
    ...both(table.createRule, async ({ params, body, principal }) => {
      const subscription = await store.read((tx) => live(tx, params));
      await deps.subscriptions.advertised(params.id, params.sid);
      const made = await rules.create(subscription, body, moverOf(principal));
      return { status: 'dryRun' in made ? (200 as const) : (201 as const), body: made };
    }),
    ...both(table.changeRule, async ({ params, body, principal }) => {
      const subscription = await store.read((tx) => live(tx, params));
      return { body: await rules.change(subscription, params.rid, body, moverOf(principal)) };
    }),
    ...both(table.removeRule, async ({ params, query, principal }) => {
      const subscription = await store.read((tx) => live(tx, params));
      if (query.dryRun === true) {
        const pending = await store.read((tx) =>
          jobsIn(tx, pendingStates, rules.find(tx, subscription.id, params.rid).id).map(({ id }) => id),
        );
        return { status: 200 as const, body: { dryRun: true as const, plan: { cancels: pending } } };
      }
      await rules.remove(subscription, params.rid, moverOf(principal));
      return { status: 204 as const, body: undefined };
    }),
    ...both(table.listJobs, async ({ params, query }) => {
      const limit = query.limit ?? defaultLimit;
      const before = query.cursor === undefined ? null : cursorOf(query.cursor);
      const runs = await store.read((tx) => {
        known(tx, params);
        const found = listJobs(tx, params.sid, { status: query.status, rule: query.rule, before, limit: limit + 1 });
        return found.map((job) => wireJob(tx, job, { output: false, tickets }));
      });
      const shown = runs.slice(0, limit);
      return { body: { runs: shown, nextCursor: runs.length > limit ? (shown.at(-1)?.id ?? null) : null } };
    }),
    ...both(table.findJob, async ({ params: { jid } }) => ({
      body: await store.read((tx) => {
        const subscriptionId = readJob(tx, jid)?.subscriptionId;
        const connectorId = subscriptionId === undefined ? null : deps.subscriptions.connectorOf(tx, subscriptionId);
        if (subscriptionId === undefined || connectorId === null) throw noRun(jid);
        return { connectorId, subscriptionId };
      }),
    })),
    ...both(table.readJob, async ({ params }) => ({
      body: await store.read((tx) => wireJob(tx, jobOf(tx, params), { output: true, tickets })),
    })),
    ...both(table.listJobEvents, async ({ params }) => ({
      body: await store.read((tx) => ({ events: movesOf(tx, jobOf(tx, params).id) })),
    })),
    ...verb(table.approveJob, jobs.approve),
    ...verb(table.denyJob, (tx, job, by) => jobs.deny(tx, job, by, null)),
    ...verb(table.retryJob, jobs.retry),
    ...verb(table.stopJob, jobs.stop),
  ];
}

/** The same handler at both mounts: their routes differ only in path and name. */
function both<R extends Route & { kind?: 'json' }>(route: R, handler: JsonHandler<R>): BoundRoute[] {
  const twin = twinOf(route) as unknown as R;
  return [bind<R>(route, handler), bind<R>(twin, (context: Context<R>) => handler(context))];
}

const noRun = (id: string) =>
  new AppError('not_found', `There is no job ${id}.`, 'List the jobs of the subscription.', {
    wireCode: 'run_not_found',
  });

const moverOf = (principal: Principal): Mover => ({ actor: principal.userId, surface: surfaceOf(principal) });

function cursorOf(cursor: string): string {
  if (/^job_[0-9A-Z]{26}$/.test(cursor)) return cursor;
  throw new AppError(
    'usage',
    `"${cursor.slice(0, 60)}" is not a cursor of this list.`,
    'Use `nextCursor` of an answer.',
    {
      wireCode: 'bad_request',
    },
  );
}
