/** Workflows on a real store, ledger and workspace; bots are played by the test, time moves by hand where a test says so. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { AppError } from '../../../src/contracts/common/errors.ts';
import type { Delivery } from '../../../src/contracts/factory/delivery.ts';
import type { NodeCard, NodeStatus } from '../../../src/contracts/factory/node.ts';
import type { NodeLease } from '../../../src/contracts/factory/node-lease.ts';
import type { Flow, RunStarted } from '../../../src/contracts/factory/workflow.ts';
import { runtimeMigrations } from '../../../src/host/runtime-migrations.ts';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { systemTimers } from '../../../src/kit/clock/timers.ts';
import { createIds } from '../../../src/kit/ids/ids.ts';
import { createLedger } from '../../../src/kit/ledger/create-ledger.ts';
import { ledgerMigrations } from '../../../src/kit/ledger/migrations.ts';
import { openStore } from '../../../src/kit/store/open-store.ts';
import { factoryMigrations } from '../../../src/runtime-server/agents/migrations.ts';
import type {
  BotWatch,
  Dispatch,
  DispatchTo,
  EndTurn,
  GateApprovals,
  StopBot,
  WorkerBot,
  Workforce,
  WorkPlaces,
  WorkTeam,
} from '../../../src/runtime-server/workflows/deps.ts';
import { createWorkflows, type Workflows } from '../../../src/runtime-server/workflows/index.ts';
import { workflowMigrations } from '../../../src/runtime-server/workflows/migrations.ts';
import { scheduleMigrations } from '../../../src/runtime-server/workflows/schedules/index.ts';
import type { Caller } from '../../../src/runtime-server/workflows/verbs.ts';
import type { WorkQueue } from '../../../src/runtime-server/workflows/worker-steps/calls.ts';
import type { TestClock } from '../../support/test-clock.ts';
import { everythingAgreed } from '../../support/trust.ts';

export const owner = { actor: 'user_local', surface: 'cli' };
export const person: Caller = { ...owner, address: null };
export const bot = (address: string): Caller => ({ actor: address, surface: 'bot', address });

export interface Sent extends Dispatch {
  readonly to: string;
  readonly text: string;
}

export function worker(slug: string, team: string, more: Partial<WorkerBot> = {}): WorkerBot {
  const address = `${slug}@${team}`;
  return {
    slug,
    address,
    agentId: `agent_${slug}_${team}`,
    role: null,
    harness: 'shell',
    bindingType: 'terminal',
    ...more,
  };
}

export function workforceOf(...teams: WorkTeam[]): Workforce {
  return {
    teams: () => teams.map((team) => team.name),
    team(name) {
      const team = teams.find((one) => one.name === name);
      if (team === undefined) throw new AppError('not_found', `There is no team "${name}".`, 'See the teams.');
      return team;
    },
    inTerminal: (address) =>
      teams.flatMap((team) => team.bots).find((one) => one.address === address && one.bindingType === 'terminal')
        ?.agentId ?? null,
    addressOf: (id) => teams.flatMap((team) => team.bots).find((one) => one.agentId === id)?.address ?? null,
  };
}

export interface WorldOptions {
  /** Default: none. */
  readonly deliveriesOf?: (nodeId: string) => Promise<Delivery[]>;
  readonly folder?: string;
  readonly workforce?: Workforce;
  /** Default: verified at once. */
  readonly dispatch?: (sent: Sent) => Promise<Delivery> | Delivery;
  /** As it stands, with every call: keys are not remembered. */
  readonly rawDispatch?: DispatchTo;
  readonly clock?: TestClock;
  readonly slots?: number;
  readonly places?: WorkPlaces;
  readonly approvals?: GateApprovals;
  readonly watch?: BotWatch;
  readonly stopBot?: StopBot;
  readonly endTurn?: EndTurn;
  /** Default: none. */
  readonly queue?: WorkQueue;
  /** Its store has all tables of a runtime, and `spend` writes what bots use. */
  readonly counts?: boolean;
}

export interface World extends Workflows {
  readonly folder: string;
  readonly sent: Sent[];
  /** What its person would hear of. */
  readonly told: readonly string[];
  readonly store: Awaited<ReturnType<typeof openStore>>;
  readonly ledger: Awaited<ReturnType<typeof createLedger>>;
  template(id: string, template: Record<string, unknown>): void;
  run(template: string, more?: Record<string, unknown>): Promise<RunStarted>;
  /** The run once it has no node that works or waits for the engine. */
  settled(dagId: string): Promise<Flow>;
  until(dagId: string, holds: (flow: Flow) => boolean): Promise<Flow>;
  node(dagId: string, step: string): Promise<NodeCard>;
  leaseOf(nodeId: string): NodeLease | null;
  /** The bot made a request for the step. */
  spend(
    step: { dagId: string; nodeId: string },
    agentId: string,
    used: { usd?: number; tokens?: number },
  ): Promise<void>;
  stop(): Promise<void>;
  /** Nothing more is written from one moment to the next, as by kill −9. */
  crash(how?: { leaveProcesses: boolean }): Promise<void>;
}

let deliveries = 0;

export function delivery(sent: Sent, state: Delivery['state'] = 'verified', id?: string): Delivery {
  deliveries += 1;
  const evidence = state === 'verified' ? 'hook' : null;
  const { to, dagId, nodeId } = sent;
  return {
    id: id ?? `delivery_${deliveries}`,
    to,
    via: 'pane',
    state,
    evidence,
    dagId,
    nodeId,
    at: new Date().toISOString(),
  };
}

export function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-workflows-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export async function openWorld(options: WorldOptions = {}): Promise<World> {
  const folder = options.folder ?? scratch();
  const workspace = join(folder, 'workspace');
  mkdirSync(join(workspace, '.gantry', 'templates'), { recursive: true });
  mkdirSync(join(folder, 'shipped'), { recursive: true });
  const clock = options.clock ?? systemClock;
  const timers = options.clock ?? systemTimers;
  const store = await openStore({
    file: join(folder, 'runtime.db'),
    migrations: options.counts
      ? runtimeMigrations
      : [...ledgerMigrations, ...factoryMigrations, ...workflowMigrations, ...scheduleMigrations],
    clock,
  });
  const ids = createIds(clock);
  const ledger = await createLedger({ store, clock, ids });
  const sent: Sent[] = [];
  const byKey = new Map<string, Promise<Delivery>>();
  const warnings: string[] = [];
  const told: string[] = [];
  const spenders = new Set<(agentId: string) => void>();
  const workflows = createWorkflows({
    trust: everythingAgreed,
    store,
    ledger,
    clock,
    timers,
    ids,
    log: { warn: (message, facts) => warnings.push(`${message} ${JSON.stringify(facts)}`) },
    workspace,
    shippedTemplates: join(folder, 'shipped'),
    env: process.env,
    workforce: options.workforce ?? workforceOf(),
    dispatch:
      options.rawDispatch ??
      (async (to, text, dispatch) => {
        const known = byKey.get(dispatch.idempotencyKey);
        if (known !== undefined) return known;
        const one = { to, text, ...dispatch };
        sent.push(one);
        const answer = Promise.resolve(options.dispatch?.(one) ?? delivery(one));
        byKey.set(dispatch.idempotencyKey, answer);
        return answer;
      }),
    places: options.places ?? {
      takeUp: async () => {},
      setUp: async () => 'ready' as const,
      has: () => false,
      folderOf: () => null,
      patchOf: async () => null,
    },
    approvals: options.approvals ?? null,
    watch: options.watch,
    stopBot: options.stopBot,
    endTurn: options.endTurn,
    queue: options.queue,
    onSpent(listener) {
      spenders.add(listener);
      return () => spenders.delete(listener);
    },
    agentRuns: { begin() {}, end() {} },
    events: {
      needsUser: (_tx, _run, { title, cause, detail }) => void told.push(`${title} needs a person: ${detail ?? cause}`),
      ended: (_tx, { title, status }) => void told.push(`${title} is ${status}`),
    },
    deliveriesOf: options.deliveriesOf ?? (async () => []),
    slots: options.slots ?? 8,
    ownerId: owner.actor,
  });
  await workflows.start();
  let stopped = false;
  const stop = async () => {
    if (stopped) return;
    stopped = true;
    await workflows.close();
    await store.close();
    if (warnings.length > 0) throw new Error(`Workflows warned: ${warnings.join('\n')}`);
  };
  onTestFinished(stop);
  const crash = async (how = { leaveProcesses: false }) => {
    stopped = true;
    await store.close();
    if (!how.leaveProcesses) await workflows.close(0);
    else onTestFinished(() => workflows.close(0));
  };

  const until = async (dagId: string, holds: (flow: Flow) => boolean): Promise<Flow> => {
    const end = performance.now() + 20_000;
    while (true) {
      const flow = await workflows.pages.flow(dagId);
      if (holds(flow)) return flow;
      if (performance.now() > end) {
        throw new Error(
          `The run did not come so far: ${flow.status} ${flow.nodes.map((one) => `${one.stepId}=${one.status}(${one.cause}: ${one.detail})`).join(' ')}`,
        );
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };
  const resting: readonly NodeStatus[] = ['new', 'needs_you', 'done', 'failed', 'blocked', 'skipped', 'cancelled'];

  return {
    ...workflows,
    folder,
    sent,
    told,
    store,
    ledger,
    template(id, template) {
      writeFileSync(join(workspace, '.gantry', 'templates', `${id}.json`), JSON.stringify(template));
    },
    async run(template, more = {}) {
      const answer = await workflows.runs.start({ template, projectId: 'p', ...more }, owner);
      if ('dryRun' in answer) throw new Error('a dry run');
      return answer;
    },
    until,
    settled: (dagId) =>
      until(dagId, (flow) => flow.nodes.every((node) => resting.includes(node.status)) && flow.status !== 'running'),
    async spend({ dagId, nodeId }, agentId, { usd, tokens = 0 }) {
      const id = ids.next('spend');
      await store.write((tx) => {
        tx.run(
          `INSERT INTO engine_agent_run (id, workspace, bot_id, source_kind, source_ref, status, started_at)
           VALUES (?, ?, ?, 'workflow', ?, 'running', ?)`,
          id,
          workspace,
          agentId,
          `${dagId}/${nodeId}`,
          clock.now(),
        );
        tx.run(
          `INSERT INTO model_spend (id, at, agent_id, run_id, wire, model, input, cached_input, cache_write, output, micro_usd)
           VALUES (?, ?, ?, ?, 'anthropic', 'm', ?, 0, 0, 0, ?)`,
          id,
          clock.now(),
          agentId,
          id,
          tokens,
          usd === undefined ? null : Math.round(usd * 1e6),
        );
      });
      for (const listener of spenders) listener(agentId);
    },
    node: async (dagId, step) => (await workflows.pages.node(dagId, step)).card,
    leaseOf: workflows.leases.leaseOf,
    stop,
    crash,
  };
}

/** `{a: {command}, b: {after: ['a']}}` → steps. */
export function steps(given: Record<string, Record<string, unknown>>): Record<string, unknown> {
  return {
    steps: Object.entries(given).map(([id, step]) => ({
      id,
      ...(step.executor === undefined ? { command: 'true' } : {}),
      ...step,
    })),
  };
}

export function statuses(flow: Flow): Record<string, string> {
  return Object.fromEntries(flow.nodes.map((node) => [node.stepId, node.status]));
}
