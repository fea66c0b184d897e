/** Teams of this computer and of others, as their person starts and stops them, and how bots are shown. */
import { createAgentViews } from '../../runtime-server/agents/agent-views.ts';
import { createTeamService } from '../../runtime-server/agents/team-service.ts';
import { laneOf } from '../../runtime-server/messaging/model.ts';
import { createSizeOwners } from '../../runtime-server/panes/size-owners.ts';
import { createPeers } from '../../runtime-server/peers/index.ts';
import { createRemote, noHome } from '../../runtime-server/peers/remote/index.ts';
import type { Bots } from './bots.ts';
import type { FactoryDeps } from './deps.ts';
import type { Messaging } from './messaging.ts';
import type { Work } from './work.ts';

export type Teams = ReturnType<typeof createTeams>;

export function createTeams(deps: FactoryDeps, bots: Bots, { lanes, deliverer, followTokens }: Messaging, work: Work) {
  const { registry, placements, homes, sandboxes, accounts, caps, network, vault, followNeeds } = bots;
  const limitsOf = (agentId: string) => ({ ...caps.of(agentId), ...network.refusedOf(agentId) });
  const views = createAgentViews({
    ...deps,
    registry,
    queueDepth: (agentId) => lanes.depth(laneOf(agentId)),
    workOf: work.workflows.workOf,
    limitsOf,
  });
  const remote = createRemote({ ...deps, home: deps.peerHome ?? noHome, registry });
  const sizes = createSizeOwners();
  return {
    views,
    remote,
    sizes,
    teams: createTeamService({
      ...deps,
      registry,
      views,
      folder: work.folder,
      tokens: deps.botTokens,
      homes,
      worktrees: work.worktrees,
      setUp: (address) =>
        void work.setup.ensure(address).catch((error: unknown) => {
          deps.log.warn(`The worktree of ${address} is not set up.`, { error: String(error) });
        }),
      secrets: vault.secrets,
      sandboxes,
      accounts,
      abroad: remote.abroad,
      models: deps.hosted.models,
    }),
    peers: createPeers({
      ...deps,
      isOwn: (agentId) => registry.find(agentId) !== null,
      directory: deps.directory,
      placements,
      sandboxes,
      limitsOf,
      deliverer,
      lanes,
      sizes,
      followTokens,
      followNeeds,
      remote: remote.panes,
    }),
  };
}
