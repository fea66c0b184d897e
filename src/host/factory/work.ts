/** The bots' work and its places: worktrees, runs, hosted bots that work on them, and the usage of all. */
import { availableParallelism } from 'node:os';
import { composeAcp } from '../../runtime-server/acp-bots/compose.ts';
import { createTeamFolder } from '../../runtime-server/agents/team-file/folder.ts';
import { createWorktrees } from '../../runtime-server/agents/worktrees/index.ts';
import { worktreeBot } from '../../runtime-server/agents/worktrees/worktree-bot.ts';
import { askedOfAgent } from '../../runtime-server/approvals/holds.ts';
import { titleOf } from '../../runtime-server/events/bot-events.ts';
import { isTurn } from '../../runtime-server/harness/interrupt.ts';
import { composeHosted } from '../../runtime-server/hosted-bots/compose.ts';
import { followTeams } from '../../runtime-server/hosted-bots/placement.ts';
import { toDelivery } from '../../runtime-server/messaging/model.ts';
import { listDeliveries } from '../../runtime-server/messaging/store/deliveries.ts';
import { createQuickTeams } from '../../runtime-server/quick-runs/index.ts';
import { createWorkNotes } from '../../runtime-server/reports/work-notes.ts';
import { composeMetering } from '../../runtime-server/usage/compose.ts';
import { costsOfRun } from '../../runtime-server/usage/costs.ts';
import { hostedWork } from '../../runtime-server/workflows/hosted-work.ts';
import { createWorkflows } from '../../runtime-server/workflows/index.ts';
import { composeSchedules } from '../../runtime-server/workflows/schedules/compose.ts';
import { shippedTemplates } from '../../runtime-server/workflows/shipped.ts';
import { createBotWatch } from '../../runtime-server/workflows/watch.ts';
import { workEvents } from '../../runtime-server/workflows/work-events.ts';
import { createWorkforce } from '../../runtime-server/workflows/workforce.ts';
import { composeSetup, setupRuns } from '../../runtime-server/workflows/worktree-setup.ts';
import type { Bots } from './bots.ts';
import type { FactoryDeps } from './deps.ts';
import type { Messaging } from './messaging.ts';

/** Deliveries that a node's page shows, newest first. */
const deliveriesOfPage = 200;

export type Work = ReturnType<typeof createWork>;

export function createWork(deps: FactoryDeps, bots: Bots, messaging: Messaging) {
  const { registry, vault, agentRuns, holds, events, switching } = bots;
  const { models } = deps.hosted;
  const quickTeams = createQuickTeams({
    ...deps,
    isLive: (team) => registry.members(team).some((member) => member.live),
  });
  const folder = quickTeams.beside(createTeamFolder(deps));
  const worktrees = createWorktrees({ ...deps, findBot: (id) => worktreeBot(registry.find(id)) });
  const setup = composeSetup({ ...deps, registry, worktrees, secrets: vault.secrets });
  const heard = workEvents(events);
  const noteWork = createWorkNotes({ ...deps, find: registry.find });
  const workflows = createWorkflows({
    ...deps,
    shippedTemplates: shippedTemplates(),
    workforce: createWorkforce({ folder, registry, workspace: deps.workspace, userHome: deps.userHome }),
    dispatch(to, text, more) {
      const { traces } = deps;
      if (traces === undefined) return messaging.tell(to, text, more);
      // Work for a step belongs to the span of that step, no matter who started it.
      const step = traces.ofNode(more.nodeId) ?? traces.carry();
      return traces.within(step, () => messaging.tell(to, text, more));
    },
    agentRuns: {
      begin: agentRuns.writer.begin,
      end: (tx, id, end) => void agentRuns.writer.end(tx, id, end),
    },
    events: {
      ...heard,
      ended(tx, run, failed, id) {
        heard.ended(tx, run, failed, id);
        tx.afterCommit(() => setup.ended(run.dagId));
      },
    },
    overBudget: (address) => holds.overBudget(registry.find(address)?.id ?? address),
    places: { ...worktrees, setUp: setup.ensure },
    watch: createBotWatch({ ...deps, registry, silences: holds.silences, places: worktrees, asks: askedOfAgent }),
    handed(address, node) {
      noteWork(address, node);
      const bot = registry.find(address);
      if (bot !== null) deps.traces?.handed(bot.id, node.nodeId);
    },
    place: setup.place,
    approvals: deps.approvals,
    costsOf: (dagId) => deps.store.read((tx) => costsOfRun(tx, deps.workspace, dagId)),
    async stopBot(address, node) {
      const member = registry.find(address);
      const bot = member === null ? null : registry.bot(member.id);
      return bot === null ? false : bot.cancelWork('The run was cancelled.', node);
    },
    async endTurn(address, node, why) {
      const member = registry.find(address);
      const bot = member === null ? null : registry.bot(member.id);
      if (bot === null || (await bot.cancelWork(why, node)) || !isTurn(bot.state().state)) return true;
      // A terminal was interrupted once, and something on its screen may have taken the key.
      return bot.placement.inTerminal && (await bot.interrupt(why)).ended;
    },
    onSpent: models.onSpent,
    deliveriesOf: (nodeId) =>
      deps.store.read((tx) => listDeliveries(tx, { nodeId, limit: deliveriesOfPage }).map(toDelivery)),
    slots: Math.max(4, 2 * availableParallelism()),
  });
  setup.begin(setupRuns(workflows));
  const offMoved = messaging.deliverer.onMoved((record) => {
    if (record.nodeId !== null) workflows.delivered(toDelivery(record));
  });
  const hosted = composeHosted({
    ...deps,
    models,
    tools: deps.hosted.tools,
    sends: messaging.sends,
    nodes: hostedWork(workflows, (address) => registry.find(address)?.id ?? address),
    registry,
    worktrees,
    setUp: setup.ensure,
    runs: {
      begin: agentRuns.writer.begin,
      end: (tx, id, end) => {
        const bot = agentRuns.writer.end(tx, id, end);
        if (bot === null) return;
        const title = titleOf(end.output ?? end.error ?? '');
        events.emit(tx, bot, { type: 'agent.run.completed', id, data: { runId: id, status: end.status, title } });
      },
    },
    openSecrets: vault.secrets.open,
  });
  followTeams({ attach: hosted.attach, registry });
  const acp = composeAcp({
    ...deps,
    homes: bots.homes,
    tokens: deps.botTokens,
    secrets: vault.secrets,
    sandboxes: bots.sandboxes,
    follow: bots.caps.follow,
    worktrees,
    setUp: setup.ensure,
    registry,
    sends: messaging.sends,
  });
  const metering = composeMetering({
    ...deps,
    models,
    holds,
    registry,
    botEvents: events,
    nodes: workflows.limits,
    accounts: switching,
    async tell(address, text, idempotencyKey) {
      await messaging.tell(address, text, { idempotencyKey });
    },
  });
  const offTaken = messaging.deliverer.onTaken((agentId) => {
    deps.traces?.taken(agentId);
    metering.taken(agentId);
  });
  return {
    folder,
    quickTeams,
    worktrees,
    setup,
    workflows,
    hosted,
    acp,
    metering,
    schedules: composeSchedules({ ...deps, workflows, botEvents: events, registry }),
    off() {
      offMoved();
      offTaken();
    },
  };
}
