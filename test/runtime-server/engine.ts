/**
 * A whole engine for tests: real database, ledger, lanes, pane host, harnesses and HTTP server on a loopback port.
 * `restart` stops the runtime's half and starts it again on the same data, while bots run on.
 */

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import type { ForwardedEvent } from '../../src/contracts/events/routes.ts';
import type { Agent } from '../../src/contracts/factory/agent.ts';
import { capabilities } from '../../src/contracts/link/knows.ts';
import { createFactory } from '../../src/host/factory/create-factory.ts';
import type { Factory } from '../../src/host/factory/factory.ts';
import { createPeerServer, type PeerPairing, type PeerServer } from '../../src/host/peer-server.ts';
import { runtimeMigrations } from '../../src/host/runtime-migrations.ts';
import { systemClock } from '../../src/kit/clock/clock.ts';
import { systemTimers, type Timers } from '../../src/kit/clock/timers.ts';
import { createBotTokens } from '../../src/kit/http/bot-tokens.ts';
import { createDispatcher } from '../../src/kit/http/dispatcher.ts';
import { createIdempotency } from '../../src/kit/http/idempotency.ts';
import {
  createLinkAuthenticator,
  createOwnerAuthenticator,
  linkHeaders,
  localUserId,
  proofOf,
} from '../../src/kit/http/principals.ts';
import { closeServer, createHttpServer, listenOnLoopback } from '../../src/kit/http/server.ts';
import { createIds } from '../../src/kit/ids/ids.ts';
import { createLanes } from '../../src/kit/lane/create-lanes.ts';
import { createLedger } from '../../src/kit/ledger/create-ledger.ts';
import type { Ledger } from '../../src/kit/ledger/ledger.ts';
import { programCommand } from '../../src/kit/process/programs.ts';
import { type RunOptions, type RunResult, runProcess } from '../../src/kit/process/run-process.ts';
import { createSealer } from '../../src/kit/secrets/sealer.ts';
import { openStore } from '../../src/kit/store/open-store.ts';
import { shareStore } from '../../src/kit/store/share-store.ts';
import type { Store } from '../../src/kit/store/store.ts';
import { type BotDirectory, createBotDirectory } from '../../src/runtime-server/agents/bot-directory.ts';
import { createBotMemory } from '../../src/runtime-server/agents/bot-memory.ts';
import type { OpenNetwork } from '../../src/runtime-server/agents/bot-networks.ts';
import { createHeldApprovals } from '../../src/runtime-server/approvals/index.ts';
import { createProgressBook } from '../../src/runtime-server/base/progress.ts';
import { createOutbox } from '../../src/runtime-server/events/outbox.ts';
import { accountsIn } from '../../src/runtime-server/harness/accounts.ts';
import type { ProcessRunner } from '../../src/runtime-server/harness/adapter.ts';
import { createHarnesses } from '../../src/runtime-server/harness/index.ts';
import { createModels, createStoredModels, type ModelSettings } from '../../src/runtime-server/models/index.ts';
import { createPaneEngine, type PaneSettings } from '../../src/runtime-server/panes/create-pane-engine.ts';
import type { PaneEngine } from '../../src/runtime-server/panes/pane-engine.ts';
import type { PeerHome } from '../../src/runtime-server/peers/remote/index.ts';
import type { ChannelOut } from '../../src/runtime-server/phone/index.ts';
import { createPolicy } from '../../src/runtime-server/policy/index.ts';
import { createToolServer, type ToolServerDeps } from '../../src/runtime-server/tool-server/index.ts';
import { createWorkspaceTrust } from '../../src/runtime-server/trust/index.ts';
import { readSteps } from '../../src/runtime-server/workflows/template/read.ts';
import { compileCache } from '../support/compile-cache.ts';
import { agreeToAll } from '../support/trust.ts';

export const ownerToken = 'owner-token-of-tests-0123456789abcdef';
const linkToken = 'link-token-of-tests-0123456789abcdef';
/** Somebody whom the cloud brings over its link: `browser`, `key`, … */
export const through = (surface: string) => ({
  token: linkToken,
  headers: { [linkHeaders.user]: localUserId, [linkHeaders.surface]: surface },
});
export const computerId = 'computer_01TEST';

const processes: ProcessRunner = {
  async run(command, { cwd, env, input, timeoutMs, signal }) {
    const ran = await runProcess({
      command,
      env,
      deadlineMs: timeoutMs,
      ...(signal === undefined ? {} : { signal }),
      ...(cwd === undefined ? {} : { cwd }),
      ...(input === null ? {} : { input }),
    });
    const timedOut = ran.ended === 'deadline';
    return { code: ran.exitCode, stdout: ran.stdout, stderr: ran.stderr, timedOut, stopped: ran.ended === 'aborted' };
  },
};

export interface Answer<T> {
  readonly status: number;
  readonly body: T;
}

export interface Engine {
  readonly home: string;
  readonly workspace: string;
  readonly url: string;
  readonly store: Store;
  readonly ledger: Ledger;
  readonly panes: PaneEngine;
  readonly factory: Factory;
  readonly directory: BotDirectory;
  /** While it is paired. */
  readonly peers: PeerServer | null;
  /** Events that reached the home cloud. */
  readonly told: readonly ForwardedEvent[];
  /** Where people answer in these tests. */
  readonly approvals: ReturnType<typeof createHeldApprovals>['approvals'];
  call<T = Record<string, never>>(
    method: string,
    path: string,
    body?: unknown,
    options?: { token?: string; headers?: Record<string, string> },
  ): Promise<Answer<T>>;
  /** Writes a file of the workspace by hand; before the next `call` its person says yes to it. */
  write(path: string, text: string): void;
  /** That person's yes at once, where something other than `call` comes next. */
  agree(): Promise<void>;
  /** Writes a file of the workspace that nobody says yes to. */
  slipIn(path: string, text: string): void;
  team(name: string, text: string): void;
  agent(address: string): Promise<Agent>;
  /** Waits until the agent shows this state. */
  until(address: string, state: string): Promise<Agent>;
  /** The token of a live bot, as its file holds it. */
  botToken(address: string): Promise<string>;
  restart(): Promise<void>;
  /** Only stops the runtime's half; `restart` brings it back. */
  stop(): Promise<void>;
}

export interface EngineOptions {
  /** Takes the end of the engine; by default it ends with the test. */
  readonly onEnd?: (end: () => Promise<void>) => void;
  readonly timers?: Timers;
  readonly recheckMs?: number;
  readonly panes?: PaneSettings;
  readonly models?: ModelSettings;
  /** For pauses between tries of a model; by default those of the engine. */
  readonly modelTimers?: Timers;
  /** This computer is paired: other computers reach it on its peer port. */
  readonly pairing?: PeerPairing;
  readonly computerId?: string;
  /** The way from here to other computers. */
  readonly peerHome?: PeerHome;
  /** Where threads with an outside channel send. */
  readonly channelOut?: ChannelOut;
  /** How git is run for what other computers bring. */
  readonly runGit?: (options: RunOptions) => Promise<RunResult>;
  /** For how long a call waits for a person; by default those of the engine. */
  readonly toolTimers?: Timers;
  /** What stands behind the tools, in place of what does. */
  readonly tools?: Partial<ToolServerDeps>;
  /** Whether bots start again when their pane host is gone. */
  readonly restartBots?: boolean;
  /** What decides where closed bots may connect. */
  readonly openNetwork?: OpenNetwork;
  /** Beside PATH, HOME and LANG. */
  readonly env?: Readonly<Record<string, string>>;
}

export async function startEngine(options: EngineOptions = {}): Promise<Engine> {
  const root = mkdtempSync(join(tmpdir(), 'gantry-factory-'));
  const home = join(root, 'home');
  const workspace = join(root, 'work');
  const userHome = join(root, 'user');
  for (const folder of [home, workspace, userHome, join(home, 'run')]) mkdirSync(folder, { mode: 0o700 });
  const env = { PATH: process.env.PATH ?? '', HOME: userHome, LANG: 'C.UTF-8', ...compileCache, ...options.env };

  const told: ForwardedEvent[] = [];
  const run = async () => {
    const clock = systemClock;
    const timers = options.timers ?? systemTimers;
    const ids = createIds(clock);
    const log = {
      info() {},
      warn: (message: string, facts?: unknown) => console.warn(message, facts),
      error: console.error,
    };
    const store = await openStore({
      file: join(home, 'runtime.db'),
      migrations: runtimeMigrations,
      clock,
    });
    const ledger = await createLedger({ store, clock, ids });
    const panes = createPaneEngine({
      home,
      command: programCommand('pane-host'),
      onError: console.error,
      settings: options.panes,
    });
    await panes.ready();
    const memory = await createBotMemory(store, log);
    const botTokens = await createBotTokens({ store, clock, userId: localUserId });
    const { approvals } = createHeldApprovals({
      knows: () => Promise.resolve(new Set(capabilities)),
      cloudAheadMs: () => 0,
      store,
      ledger,
      clock,
      timers,
      ids,
      log,
      ownerId: localUserId,
      openLanes: (send) => createLanes({ store, clock, name: 'cloud', send }),
      // A cloud that takes everything; people answer at the desk itself.
      call: async () => ({ status: 200, body: {} }),
    });
    const trust = await createWorkspaceTrust({ store, ledger, clock, timers, workspace, readSteps });
    const policy = createPolicy({ workspace, trust, log });
    const harnesses = createHarnesses({
      trust,
      panes,
      clock,
      memory,
      approvals,
      policy,
      processes,
      env,
      home: userHome,
      accounts: accountsIn(home),
    });
    const outbox = createOutbox({
      clock,
      log,
      openLanes: (send) => createLanes({ store, clock, name: 'events', send }),
      home: () => null,
      call: async ({ body }) => {
        told.push(...(body as { events: ForwardedEvent[] }).events);
        return { status: 200, body: { refused: [] } };
      },
    });
    const toolServer = createToolServer({
      policy,
      approvals: approvals,
      clock,
      timers: options.toolTimers ?? timers,
      env,
      freshName: () => ids.next('tmp'),
      hidden: [home],
      log,
      converter: null,
      ...options.tools,
    });
    const sealer = createSealer({ masterKey: 'master-key-of-tests-0123456789abcdef', purpose: 'models' });
    const endpoints = options.models?.endpoints;
    const storedModels = await createStoredModels({ store, ledger, sealer, clock, env, endpoints, log });
    const directory = createBotDirectory();
    const progress = createProgressBook({ clock });
    const factory = createFactory({
      directory,
      progress,
      events: outbox,
      approvals,
      policy,
      sandbox: toolServer.sandbox,
      trust,
      modelRoutes: storedModels.routes,
      hosted: {
        models: createModels({
          settings: { ...options.models, endpoints: storedModels.endpoints },
          env: storedModels.env,
          clock,
          timers: options.modelTimers ?? timers,
          random: () => 0,
        }),
        tools: (more) => toolServer.registry(more),
      },
      store,
      ledger,
      panes,
      harnesses,
      clock,
      timers,
      ids,
      log,
      workspace,
      home,
      userHome,
      computerId: options.computerId ?? computerId,
      random: () => 0.5,
      restartBots: options.restartBots,
      ...(options.peerHome === undefined ? {} : { peerHome: options.peerHome }),
      ...(options.openNetwork === undefined ? {} : { openNetwork: options.openNetwork }),
      ...(options.runGit === undefined ? {} : { runGit: options.runGit }),
      ...(options.channelOut === undefined ? {} : { channelOut: options.channelOut }),
      ownerId: localUserId,
      botTokens,
      webOrigin: () => 'http://127.0.0.1:3010',
      vaultSealer: createSealer({ masterKey: 'master-key-of-tests-0123456789abcdef', purpose: 'vault' }),
      urlFile: join(home, 'run', 'url'),
      gantry: programCommand('cli'),
      env,
      prove: (challenge) => proofOf(ownerToken, challenge),
      openLanes: (worker) =>
        createLanes({
          store,
          clock,
          name: 'sends',
          send: worker.send,
          gate: worker.gate,
          onExpired: worker.onExpired,
          ...(options.recheckMs === undefined ? {} : { recheckMs: options.recheckMs }),
        }),
    });
    const wire = toolServer.wire({
      ...factory.toolBots,
      library: factory.library,
      progress,
      ownerId: localUserId,
      workspace,
      store,
      ledger,
      ids,
      info: { name: 'gantry', version: '0.0.0' },
      inboxUrl: () => 'http://127.0.0.1:3010/inbox',
      log,
    });
    const dispatcher = createDispatcher({
      listener: { kind: 'tcp', origins: 'none' },
      authenticators: [
        createOwnerAuthenticator(ownerToken),
        createLinkAuthenticator(linkToken),
        botTokens.authenticator,
      ],
      routes: [...factory.routes, ...wire.routes],
      owners: factory.owners,
      ids,
      log,
      idempotency: createIdempotency(shareStore(store), clock),
      answers: 'throw',
      shape: 'factory',
    });
    const server = createHttpServer((request, response) => void dispatcher.handle(request, response));
    const port = await listenOnLoopback(server, 0, '--engine-port');
    const url = `http://127.0.0.1:${port}`;
    writeFileSync(join(home, 'run', 'url'), `${url}\n`, { mode: 0o600 });
    await approvals.start();
    await outbox.start();
    trust.start();
    await factory.start();
    await wire.start();
    const peers =
      options.pairing === undefined
        ? null
        : createPeerServer({
            routes: factory.peerRoutes,
            pairing: options.pairing,
            port: 0,
            clock,
            timers,
            ids,
            log,
            answers: 'throw',
          });
    const close = async () => {
      dispatcher.close('Gantry is stopping.');
      await peers?.close();
      await closeServer(server);
      await wire.close();
      await toolServer.close();
      await factory.close();
      trust.close();
      await approvals.close();
      await outbox.close();
      await panes.close();
      await store.close();
    };
    return { url, store, ledger, panes, approvals, directory, factory, peers, close };
  };

  let now = await run();
  /** What a test wrote by hand is agreed to before its next call. */
  let unasked = false;
  let stopped = false;
  (options.onEnd ?? onTestFinished)(async () => {
    if (stopped) now = await run();
    await now.factory.stopAll();
    await now.panes.stopHost({ force: true });
    await now.close();
    rmSync(root, { recursive: true, force: true });
  });

  const engine: Engine = {
    told,
    home,
    workspace,
    get url() {
      return now.url;
    },
    get store() {
      return now.store;
    },
    get approvals() {
      return now.approvals;
    },
    get ledger() {
      return now.ledger;
    },
    get panes() {
      return now.panes;
    },
    get factory() {
      return now.factory;
    },
    get directory() {
      return now.directory;
    },
    get peers() {
      return now.peers;
    },
    async agree() {
      unasked = false;
      await agreeToAll(`${now.url}/api/factory`, { authorization: `Bearer ${ownerToken}` });
    },
    async call(method, path, body, { token = ownerToken, headers = {} } = {}) {
      if (unasked && !path.startsWith('/workspace/trust')) await engine.agree();
      const response = await fetch(`${now.url}/api/factory${path}`, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      return { status: response.status, body: text === '' ? null : JSON.parse(text) };
    },
    write(path, text) {
      mkdirSync(dirname(join(workspace, path)), { recursive: true });
      writeFileSync(join(workspace, path), text);
      unasked = true;
    },
    slipIn(path, text) {
      mkdirSync(dirname(join(workspace, path)), { recursive: true });
      writeFileSync(join(workspace, path), text);
    },
    team(name, text) {
      engine.write(join('.gantry', 'teams', name, 'team.yaml'), text);
    },
    async agent(address) {
      return (await engine.call<Agent>('GET', `/agents/${encodeURIComponent(address)}`)).body;
    },
    until: (address, state) =>
      waitFor(
        () => engine.agent(address),
        (agent) => agent.state === state,
      ),
    async botToken(address) {
      const { id } = await engine.agent(address);
      return readFileSync(join(home, 'run', 'bots', id, 'token'), 'utf8').trim();
    },
    async restart() {
      if (!stopped) await now.close();
      stopped = false;
      now = await run();
    },
    async stop() {
      await now.close();
      stopped = true;
    },
  };
  return engine;
}

/** One engine for all tests of a file: each test makes teams of its own. */
export function sharedEngine(options: EngineOptions = {}): { readonly current: Engine } {
  let engine: Engine;
  let end = async () => {};
  beforeAll(async () => {
    engine = await startEngine({
      ...options,
      onEnd: (stop) => {
        end = stop;
      },
    });
  });
  afterAll(() => end());
  return {
    get current() {
      return engine;
    },
  };
}

/** Types a command that runs until it is stopped, and waits until it runs: a Ctrl-C that comes before stops nothing. */
export async function keepBusy(engine: Engine, address: string): Promise<void> {
  const began = join(engine.workspace, 'began');
  rmSync(began, { force: true });
  const text = `sh -c 'echo > ${began}; exec sleep 300'`;
  await engine.call('POST', `/agents/${address}/input`, { text, keys: ['Enter'] });
  await waitFor(() => existsSync(began), Boolean);
  await engine.until(address, 'working');
}

/** Asks again until the answer fits; fails with the last one after 45 s, which only a test that fails takes. */
export async function waitFor<T>(ask: () => Promise<T> | T, fits: (value: T) => boolean): Promise<T> {
  const end = Date.now() + 45_000;
  for (;;) {
    const value = await ask();
    if (fits(value)) return value;
    if (Date.now() > end) throw new Error(`Never came; last was ${JSON.stringify(value)}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
