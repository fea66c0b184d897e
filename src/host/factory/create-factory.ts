/**
 * The factory of one computer: agents, teams, sends, deliveries, threads, events. Owns the composition of its parts; the host
 * gives it store, panes, harnesses and time.
 */
import { toolBotOf } from '../../runtime-server/agents/tool-bot.ts';
import { createChannelPort } from '../../runtime-server/messaging/channel-port.ts';
import { createLibrary } from '../../runtime-server/reading/library.ts';
import { createBots } from './bots.ts';
import { createConnectorPort } from './connector-port.ts';
import type { FactoryDeps } from './deps.ts';
import type { Factory } from './factory.ts';
import { createMessaging } from './messaging.ts';
import { openRoutes } from './routes.ts';
import { createTeams } from './teams.ts';
import { createWork } from './work.ts';

export function createFactory(deps: FactoryDeps): Factory {
  const { panes } = deps;
  const bots = createBots(deps);
  const messaging = createMessaging(deps, bots);
  const work = createWork(deps, bots, messaging);
  const teams = createTeams(deps, bots, messaging, work);
  const { reports, ...mounted } = openRoutes(deps, { bots, messaging, work, teams });

  const { registry, vault, restarts, needs } = bots;
  const { workflows, hosted, acp, metering, schedules } = work;
  const { remote, peers } = teams;
  const livePanes = () => panes.list().filter((pane) => pane.alive);
  return {
    ...mounted,
    peerRoutes: peers.routes,
    async start() {
      await hosted.recover();
      await acp.recover();
      await bots.accounts.load();
      await needs.start();
      await registry.start();
      await remote.start();
      await work.quickTeams.load();
      await teams.teams.start();
      await peers.start();
      await metering.load();
      await messaging.lanes.start();
      await workflows.start();
      await reports.start();
      metering.start();
      await schedules.start();
      await hosted.tellInterrupted();
      await acp.tellUnanswered();
      bots.networks.start();
      bots.caps.start();
      restarts.begin();
    },
    connectors: createConnectorPort({
      ...deps,
      registry,
      homes: bots.homes,
      tickets: bots.tickets.writer,
      agentRuns: bots.agentRuns.writer,
      openSecrets: vault.secrets.open,
      events: bots.events,
      tell: messaging.tellBot,
      held: bots.holds.held,
    }),
    channels: createChannelPort({ ...deps, ...messaging, registry, events: bots.events }),
    library: createLibrary({ ...deps, workflows, agentRuns: bots.agentRuns.reader }),
    toolBots: {
      isBot: (agentId) => registry.find(agentId) !== null,
      async bot(agentId) {
        const member = registry.find(agentId);
        return member === null ? null : toolBotOf(member, deps.workspace, vault.secrets.open);
      },
      called: (agentId, tool, input) => registry.bot(agentId)?.activity?.called(tool, input),
    },
    stepLeases: () => workflows.leases.leaseFigures(),
    botStates: () => registry.members().map(({ placement, shown }) => (placement.shows ?? shown).state),
    liveBots: () => livePanes().length,
    async stopAll() {
      const names = new Set(registry.members().map((member) => member.team));
      const by = { actor: deps.ownerId, surface: 'engine' };
      await Promise.all([...names].map((name) => teams.teams.down(name, by, { here: true })));
      await peers.stopAll();
      await Promise.all(livePanes().map((pane) => panes.kill(pane.id)));
    },
    async close() {
      restarts.close();
      bots.caps.close();
      bots.networks.close();
      await bots.network.end();
      await reports.close();
      work.off();
      needs.close();
      await metering.close();
      await schedules.close();
      await workflows.close();
      await hosted.close();
      await acp.close();
      messaging.offGate();
      teams.teams.close();
      peers.close();
      await messaging.lanes.close();
      registry.close();
      remote.close();
      messaging.offTokens();
    },
  };
}
