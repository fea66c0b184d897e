/** Bots that a person's other computers brought here. Owns the composition of its parts; the factory shares the services that run its own bots. */

import type { DoctorCheck } from '../../contracts/common/doctor-check.ts';
import type { BoundRoute } from '../../kit/http/types.ts';
import { type RunOptions, type RunResult, runProcess } from '../../kit/process/run-process.ts';
import { createBring } from './bring.ts';
import { createClones } from './clone.ts';
import type { CrewDeps } from './crew.ts';
import { createCrews } from './crews.ts';
import { createGuestRouting, type GuestRouting, type GuestRoutingDeps } from './guest-routing.ts';
import { guestRoutes } from './own-routes.ts';
import type { RemotePanes } from './remote/panes.ts';
import { peerRoutes } from './routes.ts';

export { createTicketAuthenticator, type TicketFacts } from './authenticator.ts';
export { peerMigrations } from './store.ts';

interface Peers {
  /** For the person at this computer. */
  readonly ownRoutes: readonly BoundRoute[];
  /** For tickets, on the peer port and the link's stream `peer`. */
  readonly routes: readonly BoundRoute[];
  readonly routing: GuestRouting;
  /** For `doctor`: the person at this computer sees that others' bots run. */
  checks(): DoctorCheck[];
  start(): Promise<void>;
  stopAll(): Promise<void>;
  close(): void;
}

export function createPeers(
  deps: CrewDeps &
    Omit<GuestRoutingDeps, 'crews'> & {
      /** The environment that git is run with. */
      readonly env: Readonly<Record<string, string | undefined>>;
      /** How git is run for what other computers bring; by default as any child. */
      readonly runGit?: ((options: RunOptions) => Promise<RunResult>) | undefined;
      /** A guest has none, and asks by the same routes as who has. */
      readonly remote: RemotePanes;
    },
): Peers {
  const crews = createCrews(deps);
  const mark = () => deps.ids.next('new').toLowerCase();
  const clones = createClones({ run: deps.runGit ?? runProcess, timers: deps.timers, env: deps.env, mark });
  const bring = createBring({ ...deps, crews, clones, mark });
  const offMoved = deps.deliverer.onMoved(({ agentId }) => {
    const crew = agentId === null ? null : crews.ofAgent(agentId);
    if (crew !== null) crews.touch(crew.user);
  });
  return {
    routes: peerRoutes({
      ...deps,
      crews,
      bring: async (user, name, request, by, onProgress) => {
        try {
          return await bring(user, name, request, by, onProgress);
        } finally {
          crews.touch(user);
        }
      },
      tokens: deps.botTokens,
      engineId: deps.ledger.engineId,
    }),
    ownRoutes: guestRoutes(crews),
    routing: createGuestRouting({ ...deps, crews }),
    checks() {
      const live = crews.all().flatMap((crew) => crew.registry.members().filter((member) => member.live));
      if (live.length === 0) return [];
      const names = live.map((member) => member.address).join(', ');
      const detail = `Started here from another computer of yours: ${names}. Stop them there, or with \`gantry stop --all\`.`;
      return [{ name: 'Bots from elsewhere', group: 'workspace', state: 'ok', version: null, detail, fix: null }];
    },
    start: () => crews.start(),
    stopAll: () => crews.stopAll(),
    close() {
      offMoved();
      crews.close();
    },
  };
}
