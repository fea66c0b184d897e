/** The routes of a factory, each bound to the part that answers it, and the owners of what they name. */
import { AppError } from '../../contracts/common/errors.ts';
import { factoryRoutes, readProgress } from '../../contracts/factory/routes.ts';
import { createLocalCall } from '../../kit/http/local-call.ts';
import { type BoundRoute, bind, type OwnerLookup, type OwnerLookups, type Principal } from '../../kit/http/types.ts';
import { createGit } from '../../kit/process/git.ts';
import { acpPlacement } from '../../runtime-server/acp-bots/placement.ts';
import { conversationRoutesOf } from '../../runtime-server/acp-bots/routes.ts';
import { accountRoutes } from '../../runtime-server/agents/accounts/routes.ts';
import { createAdopting } from '../../runtime-server/agents/adopt/index.ts';
import { adoptingRoutes } from '../../runtime-server/agents/adopt/routes.ts';
import { agentImageRoutes } from '../../runtime-server/agents/images.ts';
import { directs, namedAgent } from '../../runtime-server/agents/lookups.ts';
import { agentRoutes } from '../../runtime-server/agents/routes.ts';
import { sandboxTryRoutes } from '../../runtime-server/agents/sandbox-try.ts';
import { teamRoutes } from '../../runtime-server/agents/team-routes.ts';
import { createDemo } from '../../runtime-server/agents/workspace/demo.ts';
import { examine } from '../../runtime-server/agents/workspace/doctor.ts';
import { workspaceRoutes } from '../../runtime-server/agents/workspace/routes.ts';
import { worktreeRoutes } from '../../runtime-server/agents/worktrees/routes.ts';
import { gateRoutes } from '../../runtime-server/approvals/gate.ts';
import { createDrain } from '../../runtime-server/messaging/drain.ts';
import { orchestrationRoutes } from '../../runtime-server/messaging/routes.ts';
import { readThread, threadConcerns } from '../../runtime-server/messaging/store/threads.ts';
import type { Conversations } from '../../runtime-server/panes/pane-transcript.ts';
import { createParties, type Parties } from '../../runtime-server/parties/parties.ts';
import { policyRuleRoutes } from '../../runtime-server/policy/rule-routes.ts';
import { createQuickRuns } from '../../runtime-server/quick-runs/index.ts';
import { quickRunRoutes } from '../../runtime-server/quick-runs/routes.ts';
import { fileRoutes } from '../../runtime-server/reading/files.ts';
import { searchRoutes } from '../../runtime-server/reading/search.ts';
import { waitRoutes } from '../../runtime-server/reading/wait.ts';
import { whyRoutes } from '../../runtime-server/reading/why/index.ts';
import { createReports, type Reports } from '../../runtime-server/reports/index.ts';
import { trustRoutes } from '../../runtime-server/trust/routes.ts';
import { createWorkEngine } from '../../runtime-server/work-engine/index.ts';
import { readTemplate } from '../../runtime-server/workflows/template/read.ts';
import { botSandboxCheck } from '../runtime-checks.ts';
import type { Bots } from './bots.ts';
import type { FactoryDeps } from './deps.ts';
import type { Messaging } from './messaging.ts';
import type { Teams } from './teams.ts';
import type { Work } from './work.ts';

/** All parts of a factory. */
interface FactoryParts {
  readonly bots: Bots;
  readonly messaging: Messaging;
  readonly work: Work;
  readonly teams: Teams;
}

/** Parts that define their own routes and say who may see what those name. */
function partsWithRoutes(deps: FactoryDeps, { bots, messaging, work, teams }: FactoryParts, parties: Parties) {
  const { registry, vault, tickets, agentRuns } = bots;
  const workEngine = createWorkEngine({
    ...deps,
    parties,
    tickets: tickets.writer,
    events: bots.events,
    registry,
    views: teams.views,
    tell: messaging.tellBot,
    threads: messaging.threads,
    send: (request, sender) => messaging.sends.send(request, sender, undefined),
    directs: (team, from, to) => directs(work.folder.get(team)?.file ?? null, from, to),
    git: createGit(),
    runner: {
      read: (text, id) => {
        const read = readTemplate(text, id, 'json');
        if (read.ok) return read.template;
        const said = read.problems.slice(0, 5).map((one) => `${one.path === '' ? 'It' : one.path}: ${one.message}`);
        throw new AppError('usage', `The template has problems: ${said.join(' ')}`, 'Fix it, then send it again.');
      },
      start: (request, by, template, also) => work.workflows.runs.start(request, by, template, also),
    },
  });
  return [
    work.workflows,
    workEngine,
    vault.part({ parties, registry }),
    tickets.part(parties),
    agentRuns.part(parties),
    work.schedules,
  ];
}

export function openRoutes(
  deps: FactoryDeps,
  all: FactoryParts,
): { readonly routes: readonly BoundRoute[]; readonly owners: OwnerLookups; readonly reports: Reports } {
  const { store, ledger, clock, timers } = deps;
  const { registry, sandboxes } = all.bots;
  const { sends, threads, lanes, deliverer } = all.messaging;
  const { folder, worktrees, setup, hosted, acp, metering, quickTeams, workflows } = all.work;
  const { views, remote, sizes, teams, peers } = all.teams;
  const parties = createParties({ registry });
  const parts = partsWithRoutes(deps, all, parties);

  const quickRuns = createQuickRuns({
    ...deps,
    git: createGit(),
    quickTeams,
    folder,
    teams,
    registry,
    tokens: deps.botTokens,
    worktrees,
    setup,
    workflows,
    models: deps.hosted.models,
    sandboxes,
  });

  const conversations: Conversations = {
    transcript: (id, after) => (registry.find(id)?.placement === acpPlacement ? acp : hosted).transcript(id, after),
    // A hosted bot's is read from its beginning.
    capture: async (id, lines) => (registry.find(id)?.placement === acpPlacement ? acp.capture(id, lines) : null),
  };
  const routes = peers.routing.open([
    ...parts.flatMap((part) => part.routes),
    ...metering.routes,
    ...gateRoutes({
      approvals: deps.approvals,
      policy: deps.policy,
      timers,
      addressOf: (agentId) => registry.find(agentId)?.address ?? null,
    }),
    ...policyRuleRoutes({
      workspace: deps.workspace,
      trust: deps.trust,
      actionOf: async (id) => (await deps.approvals.get(id))?.action,
      asked: async () =>
        (await deps.approvals.asked()).flatMap(({ id, action }) => (action === null ? [] : [{ id, action }])),
    }),
    ...agentImageRoutes({ home: deps.home, find: registry.find }),
    ...agentRoutes({ ...deps, registry, views, remote: remote.panes, sizes, conversations }),
    ...conversationRoutesOf({ registry, acp, hosted }),
    ...sandboxTryRoutes({
      ...deps,
      registry,
      teams,
      sandboxes: all.bots.sandboxes,
      accounts: all.bots.accounts,
      homes: all.bots.homes,
      secrets: all.bots.vault.secrets,
    }),
    ...accountRoutes({ accounts: all.bots.accounts, signIns: all.bots.signIns, registry }),
    ...teamRoutes({ teams, progress: deps.progress }),
    ...trustRoutes({ trust: deps.trust, taken: () => teams.refresh() }),
    ...adoptingRoutes(createAdopting({ ...deps, registry, folder, teams })),
    ...peers.ownRoutes,
    ...worktreeRoutes({ worktrees }),
    ...fileRoutes({ registry, worktrees, home: deps.home }),
    ...quickRunRoutes(quickRuns),
    ...searchRoutes({ store, workspace: deps.workspace, parties }),
    bind(readProgress, ({ principal, params }) => ({
      body: { progress: deps.progress.read(principal, params.progressKey) },
    })),
    ...deps.modelRoutes,
    ...whyRoutes({
      store,
      ledger,
      workspace: deps.workspace,
      findAgent: (name) => namedAgent(registry, views, name),
      leaseOf: workflows.leases.leaseOf,
      waitingFile: (team) => (folder.get(team)?.waits === true ? `.gantry/teams/${team}/team.yaml` : null),
    }),
    ...waitRoutes({
      store,
      timers,
      workspace: deps.workspace,
      findAgent: (name) => namedAgent(registry, views, name),
      moved: [workflows.onMoved, (listener) => registry.onState(({ agentId }) => listener(agentId))],
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
        const hostChecks = async () => [
          ...peers.checks(),
          ...((await deps.hostChecks?.()) ?? []),
          await botSandboxCheck(all.bots.sandboxes),
        ];
        return examine({ ...deps, models: deps.hosted.models, hostChecks });
      },
    }),
  ]);
  const owners = peers.routing.owners(ownersIn(deps, all, parts, quickRuns));
  const reports = createReports({
    ...deps,
    tokens: deps.botTokens,
    call: createLocalCall({ routes, owners }),
    bots: () => registry.members().map(({ id }) => id),
    findBot: registry.find,
    tellBot: all.messaging.tellBot,
    readerOf: async (threadId) => (await store.read((tx) => readThread(tx, threadId)))?.channel?.peer ?? null,
    note: workflows.verbs.note,
  });
  const mounted = [...routes, ...reports.routes];
  const missing = factoryRoutes.filter((route) => !mounted.some((bound) => bound.route.op === route.op));
  if (missing.length > 0) throw new Error(`Routes without a handler: ${missing.map((route) => route.op).join(', ')}.`);
  return { routes: mounted, owners, reports };
}

/** Everything here is one person's; a bot also sees only the threads that it is in. */
function ownersIn(
  { store, ownerId }: Pick<FactoryDeps, 'store' | 'ownerId'>,
  { bots: { registry }, teams: { teams } }: FactoryParts,
  parts: ReturnType<typeof partsWithRoutes>,
  quickRuns: ReturnType<typeof createQuickRuns>,
): OwnerLookups {
  const mine = (principal: Principal) => principal.userId === ownerId;
  const ofParts = parts.flatMap((part) =>
    Object.entries(part.owners).map(([noun, owns]): [string, OwnerLookup] => [
      noun,
      (principal, id) => mine(principal) && owns(principal, id),
    ]),
  );
  return {
    ...Object.fromEntries(ofParts),
    agent: (principal, id) => mine(principal) && registry.find(id) !== null,
    team: (principal, name) => mine(principal) && teams.exists(name),
    'quick run': (principal, id) => mine(principal) && quickRuns.has(id),
    thread: (principal, id) =>
      mine(principal) &&
      store.read((tx) =>
        principal.agentId === undefined ? readThread(tx, id) !== null : threadConcerns(tx, id, principal.agentId),
      ),
  };
}
