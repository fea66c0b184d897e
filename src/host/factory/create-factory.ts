/**
 * The factory of one computer: agents, teams, sends, deliveries, threads, events. Owns the composition of its parts; the host
 * gives it store, panes, harnesses and time.
 */
import { availableParallelism } from 'node:os';
import { AppError } from '../../contracts/common/errors.ts';
import type { Delivery, SendRequest } from '../../contracts/factory/delivery.ts';
import { factoryRoutes } from '../../contracts/factory/routes.ts';
import type { OwnerLookup, OwnerLookups, Principal } from '../../kit/http/types.ts';
import { createGit } from '../../kit/process/git.ts';
import { createAgentRuns } from '../../runtime-server/agent-runs/agent-runs.ts';
import { createAdopting } from '../../runtime-server/agents/adopt/index.ts';
import { adoptingRoutes } from '../../runtime-server/agents/adopt/routes.ts';
import { createBotHomes } from '../../runtime-server/agents/bot-homes.ts';
import { directs, namedAgent } from '../../runtime-server/agents/lookups.ts';
import { kindOf } from '../../runtime-server/agents/member.ts';
import { createNeeds } from '../../runtime-server/agents/needs.ts';
import { createRegistry, type Registry } from '../../runtime-server/agents/registry.ts';
import { createRestarts } from '../../runtime-server/agents/restarts.ts';
import { agentRoutes } from '../../runtime-server/agents/routes.ts';
import { createTeamFolder } from '../../runtime-server/agents/team-file/folder.ts';
import { teamRoutes } from '../../runtime-server/agents/team-routes.ts';
import { createTeamService } from '../../runtime-server/agents/team-service.ts';
import { createTokenEnds } from '../../runtime-server/agents/token-ends.ts';
import { toolBotOf } from '../../runtime-server/agents/tool-bot.ts';
import { createDemo } from '../../runtime-server/agents/workspace/demo.ts';
import { examine } from '../../runtime-server/agents/workspace/doctor.ts';
import { workspaceRoutes } from '../../runtime-server/agents/workspace/routes.ts';
import { createWorktrees } from '../../runtime-server/agents/worktrees/index.ts';
import { worktreeRoutes } from '../../runtime-server/agents/worktrees/routes.ts';
import { worktreeBot } from '../../runtime-server/agents/worktrees/worktree-bot.ts';
import { gateRoutes } from '../../runtime-server/approvals/gate.ts';
import { askedOfAgent } from '../../runtime-server/approvals/holds.ts';
import { createBotEvents, nameOf, titleOf } from '../../runtime-server/events/bot-events.ts';
import { composeHosted } from '../../runtime-server/hosted-bots/compose.ts';
import { createHosting } from '../../runtime-server/hosted-bots/placement.ts';
import { asWords, createChannelDoors } from '../../runtime-server/messaging/channel-doors.ts';
import { createDeliverer } from '../../runtime-server/messaging/deliverer.ts';
import { createDrain } from '../../runtime-server/messaging/drain.ts';
import { laneOf, toDelivery } from '../../runtime-server/messaging/model.ts';
import { orchestrationRoutes } from '../../runtime-server/messaging/routes.ts';
import { createSendService } from '../../runtime-server/messaging/send.ts';
import { listDeliveries } from '../../runtime-server/messaging/store/deliveries.ts';
import { readThread, threadConcerns } from '../../runtime-server/messaging/store/threads.ts';
import { createThreadService } from '../../runtime-server/messaging/thread-service.ts';
import { createSizeOwners } from '../../runtime-server/panes/size-owners.ts';
import { createParties } from '../../runtime-server/parties/parties.ts';
import { createPeers } from '../../runtime-server/peers/index.ts';
import { createRemote, noHome } from '../../runtime-server/peers/remote/index.ts';
import { createLibrary } from '../../runtime-server/reading/library.ts';
import { searchRoutes } from '../../runtime-server/reading/search.ts';
import { whyRoutes } from '../../runtime-server/reading/why/index.ts';
import { createTickets } from '../../runtime-server/tickets/tickets.ts';
import { trustRoutes } from '../../runtime-server/trust/routes.ts';
import { composeMetering } from '../../runtime-server/usage/compose.ts';
import { createVault } from '../../runtime-server/vault/vault.ts';
import { createWorkEngine } from '../../runtime-server/work-engine/index.ts';
import { hostedWork } from '../../runtime-server/workflows/hosted-work.ts';
import { createWorkflows } from '../../runtime-server/workflows/index.ts';
import { composeSchedules } from '../../runtime-server/workflows/schedules/compose.ts';
import { shippedTemplates } from '../../runtime-server/workflows/shipped.ts';
import { hasStep } from '../../runtime-server/workflows/store/runs.ts';
import { readTemplate } from '../../runtime-server/workflows/template/read.ts';
import { workEvents } from '../../runtime-server/workflows/work-events.ts';
import { createWorkforce } from '../../runtime-server/workflows/workforce.ts';
import { composeSetup } from '../../runtime-server/workflows/worktree-setup.ts';
import { createConnectorDoors, usageOf } from './connector-doors.ts';
import type { FactoryDeps } from './deps.ts';
import type { Factory } from './factory.ts';

/** Who hands nodes to bots, as the bot reads it. */
const engineSender = { caller: 'engine', surface: 'engine', name: 'Gantry', agentId: null, inPerson: false };
/** Deliveries that a node's page shows, newest first. */
const deliveriesOfPage = 200;

export function createFactory(deps: FactoryDeps): Factory {
  const { store, ledger, panes, clock, timers, ids, log } = deps;
  const vault = createVault({ ...deps, sealer: deps.vaultSealer });
  const tickets = createTickets(deps);
  const agentRuns = createAgentRuns({
    ...deps,
    usageOf: (tx, id) => usageOf(deps.hosted.models.spent(tx, null, 0, id)),
  });
  const homes = createBotHomes(deps);
  const restarts = createRestarts({
    ...deps,
    homes,
    tokens: deps.botTokens,
    secrets: vault.secrets,
    enabled: deps.restartBots !== false,
  });
  const registry = createRegistry({
    ...deps,
    restarts,
    queueDepth: (agentId) => lanes.depth(laneOf(agentId)),
    workOf: (address) => workflows.workOf(address),
    shownHeld: (agentId, own) => metering.shown(agentId, own),
  });
  const remote = createRemote({ ...deps, home: deps.peerHome ?? noHome, registry });
  /** Queues and hooks name a bot by its id, whoever brought it. */
  const everyBot = {
    find: (agentId: string) => registry.find(agentId) ?? peers.find(agentId),
    bot: (agentId: string) => registry.bot(agentId) ?? peers.bot(agentId),
  };
  const botEvents = createBotEvents({ events: deps.events, registry });
  const followNeeds = (bots: Registry) =>
    createNeeds({
      ...deps,
      registry: bots,
      events: createBotEvents({ events: deps.events, registry: bots }),
      asks: askedOfAgent,
    });
  const needs = followNeeds(registry);
  const metering = composeMetering({
    ...deps,
    models: deps.hosted.models,
    registry: () => registry,
    botEvents: () => botEvents,
    nodes: {
      limited: (address, why, waits) => workflows.limits.limited(address, why, waits),
      goOn: (address) => workflows.limits.goOn(address),
    },
    modelHold: (agentId) => hosting.bot(agentId)?.held() ?? null,
    async tell(address, text, idempotencyKey) {
      await tell(address, text, { idempotencyKey });
    },
    wake: (agentId) => lanes.wake(laneOf(agentId)),
  });
  const deliverer = createDeliverer({ store, ledger, panes, clock, registry: everyBot, limits: metering });
  const lanes = deps.openLanes(deliverer);
  const sends = createSendService({
    store,
    ledger,
    lanes,
    panes,
    clock,
    timers,
    ids,
    deliverer,
    registry,
    channelOut: deps.channelOut,
    hasStep: (tx, dagId, nodeId) => hasStep(tx, deps.workspace, dagId, nodeId),
    tickets: {
      open(tx, ticket) {
        const { id, opened } = tickets.writer.open(tx, ticket);
        const thread = ticket.threadId === null ? {} : { threadId: ticket.threadId };
        const data = { ...thread, ticketId: id, title: titleOf(ticket.title) };
        if (opened) botEvents.emit(tx, ticket.botId, { type: 'vendor.ticket.created', id, data });
      },
    },
  });
  const folder = createTeamFolder({ ...deps, workspace: deps.workspace, timers });
  const worktrees = createWorktrees({ ...deps, findBot: (id) => worktreeBot(registry.find(id)) });
  const setup = composeSetup({
    ...deps,
    registry,
    worktrees,
    workflows: () => workflows,
    secrets: vault.secrets,
  });
  const teams = createTeamService({
    ...deps,
    setUp: (address) =>
      void setup.ensure(address).catch((error: unknown) => {
        log.warn(`The worktree of ${address} is not set up.`, { error: String(error) });
      }),
    registry,
    folder,
    tokens: deps.botTokens,
    homes,
    worktrees,
    secrets: vault.secrets,
    abroad: remote.abroad,
    models: deps.hosted.models,
  });
  const hosted = composeHosted({
    ...deps,
    models: deps.hosted.models,
    tools: deps.hosted.tools,
    sends,
    nodes: hostedWork(
      () => workflows,
      (address) => registry.find(address)?.id ?? address,
    ),
    registry,
    worktrees,
    setUp: setup.ensure,
    runs: {
      begin: agentRuns.writer.begin,
      end: (tx, id, end) => {
        const bot = agentRuns.writer.end(tx, id, end);
        if (bot === null) return;
        const title = titleOf(end.output ?? end.error ?? '');
        botEvents.emit(tx, bot, { type: 'agent.run.completed', id, data: { runId: id, status: end.status, title } });
      },
    },
    openSecrets: vault.secrets.open,
  });
  const hosting = createHosting({ attach: hosted.attach, registry });
  const sizes = createSizeOwners();
  const offGate = registry.onGate((agentId) => lanes.wake(laneOf(agentId)));
  const followTokens = createTokenEnds({ tokens: deps.botTokens, wake: (id) => lanes.wake(laneOf(id)), log });
  const offState = followTokens(registry);
  const peers = createPeers({
    ...deps,
    isOwn: (agentId) => registry.find(agentId) !== null,
    deliverer,
    lanes,
    sizes,
    followTokens,
    followNeeds,
    remote: remote.panes,
  });

  const tell = async (to: string, text: string, more: Partial<SendRequest>): Promise<Delivery> => {
    const sent = await sends.send({ to, text: asWords(registry.find(to), text), ...more }, engineSender, undefined);
    if ('dryRun' in sent) throw new Error('A dispatch was answered as a dry run.');
    return sent;
  };
  const heard = workEvents(botEvents);
  const workflows = createWorkflows({
    ...deps,
    shippedTemplates: shippedTemplates(),
    workforce: createWorkforce({ folder, registry, workspace: deps.workspace, userHome: deps.userHome }),
    dispatch: tell,
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
    overBudget: (address) => metering.overBudget(registry.find(address)?.id ?? address),
    places: { ...worktrees, setUp: setup.ensure },
    place: setup.place,
    desk: deps.desk,
    async stopBot(address, node) {
      const member = registry.find(address);
      if (member === null) return false;
      const why = 'The run was cancelled.';
      const hostedBot = hosting.bot(member.id);
      if (hostedBot !== null) return (await hostedBot.interrupt(why, node)).ended;
      // An agent program still has to hear what became of its step.
      await registry.bot(member.id)?.interrupt(why);
      return false;
    },
    deliveriesOf: (nodeId) =>
      store.read((tx) => listDeliveries(tx, { nodeId, limit: deliveriesOfPage }).map(toDelivery)),
    slots: Math.max(4, 2 * availableParallelism()),
  });
  const schedules = composeSchedules({ ...deps, workflows, botEvents, registry });
  const offMoved = deliverer.onMoved((record) => {
    if (record.nodeId !== null) workflows.delivered(toDelivery(record));
  });

  const threads = createThreadService({ store, ledger, clock, ids, registry });
  /** The app of a vendor's bot finds the ticket itself. */
  const tellBot = async (agentId: string, text: string, idempotencyKey: string) => {
    const member = registry.find(agentId);
    if (member !== null && kindOf(member) !== 'vendor') await tell(member.address, text, { idempotencyKey });
  };
  const parties = createParties({ registry });
  const workEngine = createWorkEngine({
    ...deps,
    parties,
    tickets: tickets.writer,
    events: botEvents,
    registry,
    tell: tellBot,
    threads,
    send: (request, sender) => sends.send(request, sender, undefined),
    directs: (team, from, to) => directs(folder.get(team)?.file ?? null, from, to),
    git: createGit(),
    runner: {
      read: (text, id) => {
        const read = readTemplate(text, id, 'json');
        if (read.ok) return read.template;
        const said = read.problems.slice(0, 5).map((one) => `${one.path === '' ? 'It' : one.path}: ${one.message}`);
        throw new AppError('usage', `The template has problems: ${said.join(' ')}`, 'Mend it, then send it again.');
      },
      start: (request, by, template, also) => workflows.runs.start(request, by, template, also),
    },
  });

  /** Each with its doors, and with who may see what they name. */
  const parts = [
    workflows,
    workEngine,
    vault.part({ parties, registry }),
    tickets.part(parties),
    agentRuns.part(parties),
    schedules,
  ];
  const routes = peers.doors.open([
    ...parts.flatMap((part) => part.routes),
    ...metering.routes,
    ...gateRoutes({
      desk: deps.desk,
      policy: deps.policy,
      timers,
      addressOf: (agentId) => registry.find(agentId)?.address ?? null,
    }),
    ...agentRoutes({ ...deps, registry, remote: remote.panes, sizes, conversations: hosted }),
    ...teamRoutes({ teams }),
    ...trustRoutes({ trust: deps.trust, taken: () => teams.refresh() }),
    ...adoptingRoutes(createAdopting({ ...deps, registry, folder, teams })),
    ...peers.ownRoutes,
    ...worktreeRoutes({ worktrees }),
    ...searchRoutes({ store, workspace: deps.workspace }),
    ...deps.modelRoutes,
    ...whyRoutes({
      store,
      ledger,
      workspace: deps.workspace,
      findAgent: (name) => namedAgent(registry, name),
      waitingFile: (team) => (folder.get(team)?.waits === true ? `.gantry/teams/${team}/team.yaml` : null),
    }),
    ...orchestrationRoutes({
      store,
      registry,
      sends,
      drain: createDrain({ lanes, timers, store, deliverer, registry }),
      threads,
      events: { ledger, clock, onState: registry.onState },
    }),
    ...workspaceRoutes({
      ...deps,
      engineId: ledger.engineId,
      demo: createDemo({
        workspace: deps.workspace,
        trust: deps.trust,
        onAdded: () => {
          folder.refresh();
          return teams.refresh();
        },
      }),
      examine: () => {
        const hostChecks = async () => [...peers.checks(), ...((await deps.hostChecks?.()) ?? [])];
        return examine({ ...deps, models: deps.hosted.models, hostChecks });
      },
    }),
  ]);
  const missing = factoryRoutes.filter((route) => !routes.some((bound) => bound.route.op === route.op));
  if (missing.length > 0) throw new Error(`Routes without a handler: ${missing.map((route) => route.op).join(', ')}.`);

  const mine = (principal: Principal) => principal.userId === deps.ownerId;
  const owners: OwnerLookups = peers.doors.owners({
    ...Object.fromEntries(
      parts.flatMap((part) =>
        Object.entries(part.owners).map(([noun, owns]): [string, OwnerLookup] => [
          noun,
          (principal, id) => mine(principal) && owns(principal, id),
        ]),
      ),
    ),
    agent: (principal, id) => mine(principal) && registry.find(id) !== null,
    team: (principal, name) => mine(principal) && teams.exists(name),
    thread: (principal, id) =>
      mine(principal) &&
      store.read((tx) =>
        principal.agentId === undefined ? readThread(tx, id) !== null : threadConcerns(tx, id, principal.agentId),
      ),
  });

  const livePanes = () => panes.list().filter((pane) => pane.alive);
  return {
    routes,
    peerRoutes: peers.routes,
    owners,
    async start() {
      await hosted.recover();
      await needs.start();
      await registry.start();
      await remote.start();
      await teams.start();
      await peers.start();
      await metering.load();
      await lanes.start();
      await workflows.start();
      metering.start();
      await schedules.start();
      await hosted.tellInterrupted();
      restarts.begin();
    },
    connectors: createConnectorDoors({
      ...deps,
      registry,
      homes,
      hostedBot: hosting.bot,
      tickets: tickets.writer,
      agentRuns: agentRuns.writer,
      openSecrets: vault.secrets.open,
      events: botEvents,
      tell: tellBot,
      held: metering.held,
    }),
    channels: createChannelDoors({ ...deps, registry, sends, deliverer, events: botEvents }),
    library: createLibrary({ ...deps, workflows, agentRuns: agentRuns.reader }),
    toolBots: {
      isBot: (agentId) => registry.find(agentId) !== null,
      async bot(agentId) {
        const member = registry.find(agentId);
        return member === null ? null : toolBotOf(member, deps.workspace, vault.secrets.open);
      },
    },
    liveBots: () => livePanes().length,
    async stopAll() {
      const names = new Set(registry.members().map((member) => member.team));
      const by = { actor: deps.ownerId, surface: 'engine' };
      await Promise.all([...names].map((name) => teams.down(name, by, { here: true })));
      await peers.stopAll();
      await Promise.all(livePanes().map((pane) => panes.kill(pane.id)));
    },
    nameOf(agentId) {
      const member = everyBot.find(agentId);
      return member === null ? null : nameOf(member);
    },
    async close() {
      restarts.close();
      offMoved();
      needs.close();
      await metering.close();
      await schedules.close();
      await workflows.close();
      await hosted.close();
      offGate();
      teams.close();
      peers.close();
      await lanes.close();
      registry.close();
      remote.close();
      offState();
    },
  };
}
