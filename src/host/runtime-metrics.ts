/** The figures of a runtime: read when they are scraped, from memory or along an index. Labels have only values from closed lists. */
import { statfsSync } from 'node:fs';
import { agentStates } from '../contracts/factory/agent.ts';
import type { LocalPairing } from '../contracts/link/local-pairing.ts';
import type { Clock } from '../kit/clock/clock.ts';
import { createCounter } from '../kit/metrics/counters.ts';
import type { Metric } from '../kit/metrics/metric.ts';
import { processMetrics } from '../kit/metrics/process-metrics.ts';
import type { Store, Tx } from '../kit/store/store.ts';
import { waitingSince } from '../runtime-server/approvals/index.ts';
import type { Models } from '../runtime-server/models/index.ts';
import { liveLeases } from '../runtime-server/work-engine/leases.ts';
import type { LeaseFigures } from '../runtime-server/workflows/silence.ts';
import { openSteps } from '../runtime-server/workflows/store/runs.ts';
import { agesOf, oldestOf } from './metric-ages.ts';
import { packageVersion } from './places.ts';

export function runtimeMetrics(deps: {
  readonly store: Pick<Store, 'read'>;
  readonly clock: Clock;
  readonly home: string;
  readonly workspace: string;
  readonly states: () => readonly string[];
  readonly panes: () => readonly { readonly alive: boolean }[];
  readonly stepLeases: () => LeaseFigures;
  readonly pairing: () => LocalPairing;
  readonly parts: readonly (readonly Metric[])[];
}): readonly Metric[] {
  const { store, clock, home, workspace } = deps;
  const asked = () => store.read(waitingSince);
  return [
    ...processMetrics('runtime', packageVersion()),
    ...deps.parts.flat(),
    {
      name: 'gantry_bots',
      help: 'Bots of this computer, by state.',
      kind: 'gauge',
      read: () => counted(agentStates, deps.states(), 'state'),
    },
    {
      name: 'gantry_panes',
      help: 'Terminals, by whether their program runs.',
      kind: 'gauge',
      read: () =>
        counted(
          ['alive', 'ended'],
          deps.panes().map(({ alive }) => (alive ? 'alive' : 'ended')),
          'state',
        ),
    },
    {
      name: 'gantry_approvals_waiting',
      help: 'Approvals that wait for their person, by how long they have waited.',
      kind: 'gauge',
      read: async () => agesOf(await asked(), clock.now()),
    },
    {
      name: 'gantry_approvals_oldest_seconds',
      help: 'How long the oldest approval has waited.',
      kind: 'gauge',
      read: async () => oldestOf(await asked(), clock.now()),
    },
    {
      name: 'gantry_steps',
      help: 'Steps of runs that have not ended, by status.',
      kind: 'gauge',
      read: async () =>
        (await store.read((tx) => openSteps(tx, workspace))).map(({ status, n }) => ({ labels: { status }, value: n })),
    },
    {
      name: 'gantry_step_leases',
      help: 'Steps that a bot or a watched command is at work on, by the state of their lease. run_out: silent, and a person is needed.',
      kind: 'gauge',
      read: () => Object.entries(deps.stepLeases().states).map(([state, value]) => ({ labels: { state }, value })),
    },
    {
      name: 'gantry_step_leases_oldest_seconds',
      help: 'How long the most silent bot or watched command at work has not been heard of, without the time that its lease was paused.',
      kind: 'gauge',
      read: () => deps.stepLeases().quietestMs / 1000,
    },
    {
      name: 'gantry_leases',
      help: 'Files and other things that bots have leased.',
      kind: 'gauge',
      read: () => store.read((tx) => liveLeases(tx, workspace, clock.now())),
    },
    {
      name: 'gantry_link_up',
      help: '1 while this computer is linked to its cloud. Absent while it is not paired.',
      kind: 'gauge',
      read() {
        const { link } = deps.pairing();
        return link === undefined ? [] : [{ value: link.linked ? 1 : 0 }];
      },
    },
    {
      name: 'gantry_disk_free_bytes',
      help: 'Free space on the disk of the data folder.',
      kind: 'gauge',
      read() {
        const { bavail, bsize } = statfsSync(home);
        return bavail * bsize;
      },
    },
  ];
}

/** Each of a closed list, also those of which there are none: a query should find 0, and not nothing. */
function counted(all: readonly string[], found: readonly string[], label: string) {
  return all.map((one) => ({ labels: { [label]: one }, value: found.filter((other) => other === one).length }));
}

/** What the requests to models cost since this process began. A model is named if its price is known; the others come from transcripts and share a name. */
export function createSpendMetrics() {
  const tokens = createCounter('gantry_model_tokens_total', 'Tokens of requests to models, by model and kind.');
  const dollars = createCounter('gantry_model_dollars_total', 'Cost of requests to models whose price is known.');
  const requests = createCounter('gantry_model_requests_total', 'Requests to models.');
  // A query should find 0, and not nothing, before the first request.
  requests.add({ model: 'other' }, 0);
  dollars.add({ model: 'other' }, 0);
  for (const kind of ['input', 'output']) tokens.add({ model: 'other', kind }, 0);
  type Spent = Parameters<Models['note']>[1];
  return {
    metrics: [requests, tokens, dollars],
    /** Call it in the transaction that records the request. */
    count(tx: Pick<Tx, 'afterCommit'>, { model, usage, microUsd }: Spent): void {
      tx.afterCommit(() => {
        const labels = { model: microUsd === null ? 'other' : model.replace(/-(\d{8}|\d{4}-\d{2}-\d{2})$/, '') };
        requests.add(labels);
        tokens.add({ ...labels, kind: 'input' }, usage.input);
        tokens.add({ ...labels, kind: 'output' }, usage.output);
        if (microUsd !== null) dollars.add(labels, microUsd / 1e6);
      });
    },
  };
}
