/**
 * The engine's own routes as a bot from another computer sees them: its hooks and verbs work on its own crew, and nothing of this computer's
 * workspace exists for it. Must not know what a route does.
 */
import { AppError } from '../../contracts/common/errors.ts';
import { getWorkspace, listDeliveries } from '../../contracts/factory/routes.ts';
import { type BoundRoute, bind, type OwnerLookup, type OwnerLookups, type Principal } from '../../kit/http/types.ts';
import type { Lanes } from '../../kit/lane/lane.ts';
import { agentRoutes } from '../agents/routes.ts';
import { teamRoutes } from '../agents/team-routes.ts';
import { gateRoutes } from '../approvals/gate.ts';
import type { Approvals } from '../approvals/index.ts';
import type { Base } from '../base/base.ts';
import type { ProgressBook } from '../base/progress.ts';
import type { Deliverer } from '../messaging/deliverer.ts';
import { createDrain } from '../messaging/drain.ts';
import { orchestrationRoutes } from '../messaging/routes.ts';
import { readThread, threadConcerns } from '../messaging/store/threads.ts';
import type { PaneEngine } from '../panes/pane-engine.ts';
import type { SizeOwners } from '../panes/size-owners.ts';
import type { Policy } from '../policy/index.ts';
import type { Crew } from './crew.ts';
import type { Crews } from './crews.ts';
import type { RemotePanes } from './remote/panes.ts';

export interface GuestRoutingDeps extends Pick<Base, 'store' | 'ledger' | 'clock' | 'timers'> {
  readonly progress: ProgressBook;
  readonly panes: PaneEngine;
  readonly approvals: Approvals;
  readonly policy: Policy;
  /** hex HMAC-SHA256 of the challenge under the owner's token. */
  readonly prove: (challenge: string) => string;
  readonly computerId: string;
  readonly crews: Pick<Crews, 'ofAgent'>;
  /** Whether it is a bot of this computer's workspace. */
  readonly isOwn: (agentId: string) => boolean;
  readonly deliverer: Deliverer;
  readonly lanes: Lanes;
  readonly sizes: SizeOwners;
  readonly remote: RemotePanes;
}

export interface GuestRouting {
  /** The same routes; those that bots may call go to the crew of a guest that calls. */
  open(routes: readonly BoundRoute[]): BoundRoute[];
  owners(owners: OwnerLookups): OwnerLookups;
}

export function createGuestRouting(deps: GuestRoutingDeps): GuestRouting {
  /** The routes that each crew answers itself, by operation. Created with a crew's first call. */
  const made = new WeakMap<Crew, ReadonlyMap<string, BoundRoute['handler']>>();
  const handlersOf = (crew: Crew) => {
    const known = made.get(crew) ?? new Map(crewRoutes(deps, crew).map(({ route, handler }) => [route.op, handler]));
    made.set(crew, known);
    return known;
  };
  const crewOf = ({ kind, agentId }: Principal): Crew | null =>
    kind === 'bot' && agentId !== undefined ? deps.crews.ofAgent(agentId) : null;

  /** A guest whose crew could not be restored must not pass for a bot of this workspace. */
  const refuseNobody = ({ kind, agentId = '' }: Principal) => {
    if (kind !== 'bot' || deps.isOwn(agentId)) return;
    throw new AppError('refused', 'This bot is not in a team of this computer.', 'Start its team again.');
  };

  const open = (bound: BoundRoute): BoundRoute => {
    if (!bound.route.auth.includes('bot')) return bound;
    return {
      ...bound,
      handler: (context, sink) => {
        const crew = crewOf(context.principal);
        if (crew === null) {
          refuseNobody(context.principal);
          return bound.handler(context, sink);
        }
        const handler = handlersOf(crew).get(bound.route.op);
        if (handler !== undefined) return handler(context, sink);
        throw new AppError(
          'refused',
          `${bound.route.method} ${bound.route.path} is for bots of this computer's workspace, but this bot was started by another computer.`,
          'Ask on the computer that started it.',
        );
      },
    };
  };

  return {
    open: (routes) => routes.map(open),
    owners: (owners) =>
      Object.fromEntries(
        Object.entries(owners).map(([noun, owns]): [string, OwnerLookup] => [
          noun,
          (principal, id) => {
            const crew = crewOf(principal);
            return crew === null ? owns(principal, id) : crewOwns(deps, crew, principal, noun, id);
          },
        ]),
      ),
  };
}

function crewOwns(deps: GuestRoutingDeps, crew: Crew, { agentId = '' }: Principal, noun: string, id: string) {
  if (noun === 'agent') return crew.registry.find(id) !== null;
  if (noun === 'team') return id === crew.team;
  if (noun !== 'thread') return false;
  return deps.store.read((tx) => readThread(tx, id) !== null && threadConcerns(tx, id, agentId));
}

function crewRoutes(deps: GuestRoutingDeps, crew: Crew): BoundRoute[] {
  const { registry } = crew;
  const { ledger, clock } = deps;
  const never = () => {
    throw new Error('A guest was taken for a bot without a terminal.');
  };
  return [
    ...agentRoutes({ ...deps, registry, views: crew.views, conversations: { transcript: never, capture: never } }),
    ...teamRoutes({ teams: crew.teams, progress: deps.progress }),
    ...gateRoutes({ ...deps, addressOf: (agentId) => registry.find(agentId)?.address ?? null }),
    ...orchestrationRoutes({
      ...deps,
      registry,
      sends: crew.sends,
      drain: createDrain({ ...deps, registry }),
      threads: crew.threads,
      events: { ledger, clock, onState: registry.onState },
    }).filter(({ route }) => route.op !== listDeliveries.op),
    bind(getWorkspace, () => ({
      body: { path: crew.root, computerId: deps.computerId, engineId: ledger.engineId, demo: false, writable: true },
    })),
  ];
}
