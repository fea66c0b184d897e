/**
 * Composition root of the runtime: store, ledger, panes, factory and the engine's listeners, started in this order and
 * closed in the reverse order. Bots live in the pane host and outlive the runtime.
 */

import { randomBytes } from 'node:crypto';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Link } from '../cloud-api/link/link.ts';
import { createLocalLink } from '../cloud-api/link/local-link.ts';
import type { DoctorCheck } from '../contracts/common/doctor-check.ts';
import { harnesses as agentPrograms } from '../contracts/factory/agent.ts';
import type { Clock } from '../kit/clock/clock.ts';
import { createEgressMeter } from '../kit/egress/egress-metrics.ts';
import { createBotTokens } from '../kit/http/bot-tokens.ts';
import type { DispatcherOptions } from '../kit/http/dispatcher.ts';
import { createHttpMeter } from '../kit/http/http-meter.ts';
import { createOwnerAuthenticator, localUserId, proofOf } from '../kit/http/principals.ts';
import type { Ids } from '../kit/ids/ids.ts';
import type { Log } from '../kit/log/log.ts';
import { metricsRoute } from '../kit/metrics/route.ts';
import { programCommand } from '../kit/process/programs.ts';
import { createSealer } from '../kit/secrets/sealer.ts';
import { newToken } from '../kit/secrets/token-file.ts';
import type { Telemetry } from '../kit/telemetry/telemetry.ts';
import { createBotDirectory } from '../runtime-server/agents/bot-directory.ts';
import { createBotMemory } from '../runtime-server/agents/bot-memory.ts';
import { upIn } from '../runtime-server/agents/store/teams.ts';
import { writtenFiles } from '../runtime-server/agents/workspace/demo.ts';
import type { PreparedWorkspace } from '../runtime-server/agents/workspace/prepare-workspace.ts';
import { accountsIn } from '../runtime-server/harness/accounts.ts';
import { createHarnesses } from '../runtime-server/harness/index.ts';
import type { ComputerUseSettings, ModelSettings } from '../runtime-server/models/index.ts';
import { createPolicy } from '../runtime-server/policy/index.ts';
import { createWorkspaceTrust } from '../runtime-server/trust/index.ts';
import { readSteps } from '../runtime-server/workflows/template/read.ts';
import { type Closing, createClosing } from './closing.ts';
import type { DataFolder } from './data-folder.ts';
import { openEngineListeners } from './engine-server.ts';
import { createFactory } from './factory/create-factory.ts';
import { harnessProcesses } from './harness-processes.ts';
import type { HomeLink } from './home-link.ts';
import { createHomeQueue } from './home-queue.ts';
import { createPeerHome } from './peer-home.ts';
import { peerPortCheck, runtimeChecks } from './runtime-checks.ts';
import { createRuntimeConnectors } from './runtime-connectors.ts';
import { openRuntimeCore } from './runtime-core.ts';
import { createRuntimeHands, createRuntimeRuns } from './runtime-hands.ts';
import { createRuntimeHome } from './runtime-home.ts';
import { createSpendMetrics, runtimeMetrics } from './runtime-metrics.ts';
import { createRuntimeModels } from './runtime-models.ts';
import { createRuntimePanes, readable } from './runtime-panes.ts';
import { createRuntimeServers } from './runtime-servers.ts';
import { createRuntimeTools } from './runtime-tools.ts';
import type { Settings } from './settings.ts';
import { spoolMetrics } from './spool-metrics.ts';

export interface RuntimeOptions {
  readonly folder: DataFolder;
  /** 0 = any free one. */
  readonly port: number;
  /** Port of the listener for other computers; 0 = any free one. */
  readonly peerPort: number;
  /** Prepares the workspace. Called once port and socket are bound, so that a start that fails there leaves nothing behind. */
  readonly workspace: () => Promise<PreparedWorkspace>;
  /** Address of the cloud in the same process: home while this computer is not paired. Null without one. */
  readonly homeCloud: () => { readonly host: string; readonly port: number } | null;
  /** The person's environment; bots inherit from it. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly telemetry: Telemetry;
  readonly limits?: DispatcherOptions['limits'];
  readonly answers?: DispatcherOptions['answers'];
  /** `models` of settings.json. */
  readonly models?: ModelSettings | undefined;
  /** `computerUse` of settings.json. */
  readonly computerUse?: ComputerUseSettings | undefined;
  /** `panes` of settings.json. */
  readonly panes?: Settings['panes'] | undefined;
  /** Yes to all that waits, if it has this hash. */
  readonly trust?: string | undefined;
  readonly hostChecks?: () => Promise<readonly DoctorCheck[]>;
}

export interface Runtime {
  readonly port: number;
  readonly url: string;
  readonly workspace: PreparedWorkspace;
  readonly notices: readonly string[];
  /** How an embedded cloud API reaches this runtime. Its credential is new at each start and only in memory. */
  readonly link: Link;
  /** Which cloud is home now, the pairing with it and the link to it. */
  readonly homeLink: Pick<HomeLink, 'home' | 'pairing' | 'connection' | 'routes' | 'rest'>;
  /** Questions that wait for their person, as this computer holds them. */
  questions(): Promise<readonly { readonly id: string; readonly title: string }[]>;
  /** Signs between this computer and the cloud of the same process, in both directions. */
  readonly device: { readonly computerId: string; readonly userId: string; readonly token: string };
  /** Takes up what runs and answers from now on. Call once everything else is up. */
  start(): Promise<void>;
  liveBots(): number;
  /** Files that say what may run and wait for their person's yes, and the hash of them all. */
  waiting(): { readonly files: readonly string[]; readonly hash: string | null };
  /** Names of the teams that their person started and did not stop. */
  teamsUp(): Promise<string[]>;
  /** Ends event streams with a last event: before the cloud API closes, which passes them on. */
  endStreams(): void;
  /** Ends the servers, and the pane host too when no bot is live; `stopBots` ends the bots first. */
  close(options?: { stopBots?: boolean }): Promise<void>;
}

/** Within the 5 s of the whole, together with the cloud API. */
const closeLimitMs = 3_000;
const programs: ReadonlySet<string> = new Set(agentPrograms);

/** Fails with `transport` when the port is taken, and with what the store says of a damaged or foreign database. */
export async function createRuntime(options: RuntimeOptions): Promise<Runtime> {
  const { log } = options;
  const closing = createClosing({
    limitMs: closeLimitMs,
    onFault: (step, fault) => log.error('The runtime did not close cleanly.', { step, fault }),
  });
  try {
    return await compose(options, closing);
  } catch (error) {
    await closing.close();
    throw error;
  }
}

async function compose(options: RuntimeOptions, closing: Closing): Promise<Runtime> {
  const { folder, clock, log, env, telemetry } = options;
  const { places, ownerToken, computer } = folder;
  const listeners = await openEngineListeners(places, options.port, closing);
  const workspace = await options.workspace();
  const { core, store, rows, traces, metrics: coreMetrics } = await openRuntimeCore(options, workspace.path, closing);
  const spending = createSpendMetrics();
  const meter = createHttpMeter();
  const egress = createEgressMeter(['tools']);
  const botTokens = await createBotTokens({ store, clock, userId: localUserId, random: randomBytes });

  const directory = createBotDirectory();
  const { homeLink, held, outbox, phone, deviceToken } = await createRuntimeHome({
    ...core,
    folder,
    embedded: options.homeCloud,
    botName: directory.nameOf,
  });
  const { approvals } = held;
  const { panes, begun } = createRuntimePanes({ ...core, settings: options.panes });

  const cutShort: string[] = [];
  const trust = await createWorkspaceTrust({ ...core, readSteps });
  // What Gantry has just written for the person is as they would have it.
  await trust.sayYes(await writtenFiles(workspace.path, workspace.written), { actor: 'owner', surface: 'start' });
  closing.add('trust', () => trust.close());
  const policy = createPolicy({ workspace: workspace.path, trust, log });
  const webOrigin = () => homeLink.home.current().cloudUrl ?? '';
  const linkToken = newToken();
  const servers = createRuntimeServers({
    ...core,
    listeners,
    homeLink,
    authenticators: [createOwnerAuthenticator(ownerToken), botTokens.authenticator, homeLink.device],
    linkToken,
    peerPort: options.peerPort,
    meter,
    traceOf: traces.ofBot,
    limits: options.limits,
    answers: options.answers,
  });
  const harnesses = createHarnesses({
    panes,
    clock,
    memory: await createBotMemory(store, log),
    approvals,
    policy,
    trust,
    processes: harnessProcesses,
    env,
    home: homedir(),
    accounts: accountsIn(core.home),
  });
  const tools = createRuntimeTools({ ...core, policy, approvals, webOrigin, port: listeners.port, egress });
  const hands = createRuntimeHands({
    ...core,
    policy,
    approvals,
    webOrigin,
    ownPorts: () =>
      [listeners.port, servers.peers()?.port ?? null, options.homeCloud()?.port ?? null].filter(
        (port) => port !== null,
      ),
  });
  const { models, modelRoutes } = await createRuntimeModels({
    ...core,
    models: options.models,
    computerUse: options.computerUse,
    spent(tx, spend) {
      outbox.spent(tx, spend);
      spending.count(tx, spend);
      // Gantry's own requests have spans of their own.
      if (programs.has(spend.wire)) traces.request(tx, spend);
    },
  });
  const runs = createRuntimeRuns({ ...core, hands, models });
  const factory = createFactory({
    ...core,
    directory,
    modelRoutes,
    events: outbox,
    openLanes: (worker) => core.openLanes({ ...worker, name: 'sends', failed: 'A queued send failed.' }),
    panes,
    harnesses,
    userHome: homedir(),
    ownerId: localUserId,
    botTokens,
    webOrigin,
    vaultSealer: createSealer({ masterKey: folder.masterKey, purpose: 'vault' }),
    urlFile: places.url,
    gantry: programCommand('cli'),
    prove: (challenge) => proofOf(ownerToken, challenge),
    policy,
    trust,
    channelOut: phone.out,
    approvals,
    sandbox: tools.sandbox,
    hosted: { models, tools: tools.registry },
    peerHome: createPeerHome(homeLink.home),
    queue: createHomeQueue(homeLink.home),
    random: Math.random,
    traces: { ...traces, within: telemetry.within, carry: telemetry.carry },
    restartBots: options.panes?.restartBots,
    hostChecks: async () => [
      ...(await runtimeChecks({
        panes,
        store,
        rows,
        policy,
        sandbox: tools.sandbox,
        trust,
        cutShort,
        env,
        models,
        places,
      })),
      ...homeLink.checks(),
      ...peerPortCheck(servers.peers()),
      ...((await options.hostChecks?.()) ?? []),
    ],
  });
  closing.add('factory', () => factory.close());

  const connectors = createRuntimeConnectors({ ...core, tools, homeLink, approvals, outbox, factory });

  const metrics = runtimeMetrics({
    ...core,
    states: () => factory.botStates(),
    panes: () => panes.list(),
    stepLeases: () => factory.stepLeases(),
    pairing: () => homeLink.pairing.status(),
    parts: [
      telemetry.metrics,
      meter.metrics,
      coreMetrics,
      spending.metrics,
      egress.metrics,
      hands.metrics,
      spoolMetrics(join(places.run, 'bots'), clock),
    ],
  });
  let trustNote: string | null = null;
  return {
    port: listeners.port,
    url: listeners.url,
    workspace,
    get notices() {
      return [...store.notices, ...cutShort, ...(trustNote === null ? [] : [trustNote])];
    },
    waiting: () => ({ files: trust.waiting(), hash: trust.show().hash }),
    homeLink,
    questions: () => approvals.live(),
    device: { computerId: computer.id, userId: localUserId, token: deviceToken },
    link: createLocalLink({
      computerId: computer.id,
      path: places.engineSocket,
      token: linkToken,
      since: clock.now(),
    }),
    async start() {
      // Attaches to running bots at once; the factory handles a host that does not come up.
      await readable(panes);
      begun();
      await homeLink.load();
      // Comes before the askers: questions that nobody can ask again end first.
      await approvals.start();
      await outbox.start();
      // Before anything reads the folder, and before a yes to all that waits in it.
      for (const note of await tools.sandbox.recover()) {
        log.warn('A command was cut short when Gantry was killed.', { note });
        cutShort.push(note);
      }
      if (options.trust !== undefined) trustNote = await trust.answerAll(options.trust);
      trust.start();
      await tools.start();
      await hands.start();
      await runs.start();
      await factory.start();
      // Before the minute is over in which questions are asked again, and once bots are known.
      const wire = tools.wire(factory);
      await wire.start();
      await connectors.start();
      await phone.start();
      rows.start();
      servers.open({
        routes: [
          ...factory.routes,
          ...held.routes,
          ...homeLink.routes,
          ...wire.routes,
          ...hands.routes,
          ...runs.routes,
          ...connectors.routes,
          ...phone.routes(factory.channels),
          metricsRoute(metrics, log),
        ],
        owners: { ...factory.owners, ...runs.owners },
        peerRoutes: factory.peerRoutes,
      });
    },
    liveBots: () => factory.liveBots(),
    teamsUp: () => store.read((tx) => upIn(tx, workspace.path)),
    endStreams: () => servers.endStreams(),
    async close({ stopBots = false } = {}) {
      if (stopBots) {
        await factory.stopAll().catch((fault) => log.error('Not every bot could be stopped.', { fault }));
      }
      await closing.close();
    },
  };
}
