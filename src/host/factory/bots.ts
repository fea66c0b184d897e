/**
 * The bots of this computer's workspace, their prerequisites (secrets, homes, tokens) and the records of their work. The lowest parts of a factory:
 * they know no sends, runs or routes.
 */
import { createHash } from 'node:crypto';
import { createCapKeeper } from '../../kit/sandbox/caps.ts';
import { acpPlacement } from '../../runtime-server/acp-bots/placement.ts';
import { createAgentRuns } from '../../runtime-server/agent-runs/agent-runs.ts';
import { createAccounts } from '../../runtime-server/agents/accounts/accounts.ts';
import { createSignIns } from '../../runtime-server/agents/accounts/sign-ins.ts';
import { createAccountSwitching } from '../../runtime-server/agents/accounts/switching.ts';
import { createBotCaps } from '../../runtime-server/agents/bot-caps.ts';
import { createBotHomes } from '../../runtime-server/agents/bot-homes.ts';
import { createBotNetworks } from '../../runtime-server/agents/bot-networks.ts';
import { createBotSandboxes } from '../../runtime-server/agents/bot-sandboxes.ts';
import { createNeeds } from '../../runtime-server/agents/needs.ts';
import type { Placements } from '../../runtime-server/agents/placement.ts';
import { createRegistry, type Registry } from '../../runtime-server/agents/registry.ts';
import { createRestarts } from '../../runtime-server/agents/restarts.ts';
import { terminalPlacement } from '../../runtime-server/agents/terminal/placement.ts';
import { askedOfAgent } from '../../runtime-server/approvals/holds.ts';
import { createBotEvents } from '../../runtime-server/events/bot-events.ts';
import { hostedPlacement } from '../../runtime-server/hosted-bots/placement.ts';
import { vendorPlacement } from '../../runtime-server/messaging/vendor/placement.ts';
import { createSandboxes } from '../../runtime-server/sandboxes/index.ts';
import { createTickets } from '../../runtime-server/tickets/tickets.ts';
import { createHolds } from '../../runtime-server/usage/holds.ts';
import { createVault } from '../../runtime-server/vault/vault.ts';
import { usageOf } from './connector-port.ts';
import type { FactoryDeps } from './deps.ts';

const placements: Placements = {
  terminal: terminalPlacement,
  hosted: hostedPlacement,
  vendor: vendorPlacement,
  acp: acpPlacement,
};

export type Bots = ReturnType<typeof createBots>;

export function createBots(deps: FactoryDeps) {
  const vault = createVault({ ...deps, sealer: deps.vaultSealer });
  const tickets = createTickets(deps);
  const agentRuns = createAgentRuns({
    ...deps,
    usageOf: (tx, id) => usageOf(deps.hosted.models.spent(tx, null, 0, id)),
  });
  const homes = createBotHomes(deps);
  const keeper = createCapKeeper(capGroupOf(deps.home));
  const network = createSandboxes({ ...deps, keysOf: vault.keysOf, seedOf: vault.seedOf });
  const networks = createBotNetworks({ openNetwork: network.open, removeLeft: network.removeLeft, ...deps });
  const sandboxes = createBotSandboxes({ ...deps, caps: keeper, networks });
  const accounts = createAccounts(deps);
  const restarts = createRestarts({
    ...deps,
    accounts,
    homes,
    tokens: deps.botTokens,
    secrets: vault.secrets,
    sandboxes,
    enabled: deps.restartBots !== false,
  });
  const holds = createHolds();
  const caps = createBotCaps({ ...deps, keeper });
  const registry = createRegistry({
    ...deps,
    ...{ restarts, placements },
    shownHeld: holds.shown,
    endedOver: caps.endedOver,
  });
  const signIns = createSignIns({ ...deps, accounts, registry, homes });
  const switching = createAccountSwitching({ ...deps, accounts, registry });
  deps.directory.add(registry);
  /** Tells the person of bots of this registry that need them. */
  const followNeeds = (bots: Registry) =>
    createNeeds({
      ...deps,
      registry: bots,
      events: createBotEvents({ events: deps.events, registry: bots }),
      asks: askedOfAgent,
    });
  return {
    vault,
    tickets,
    agentRuns,
    homes,
    /** The way out of sandboxes that have no network. */
    network,
    accounts,
    signIns,
    switching,
    sandboxes,
    networks,
    caps,
    restarts,
    holds,
    placements,
    registry,
    events: createBotEvents({ events: deps.events, registry }),
    followNeeds,
    needs: followNeeds(registry),
  };
}

/** Two runtimes on one computer have groups of their own. */
function capGroupOf(home: string): string {
  return `gantry-bots-${createHash('sha256').update(home).digest('hex').slice(0, 8)}`;
}
