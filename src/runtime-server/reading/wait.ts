/** Waits for the state of a bot, a step or a run. Reads only; what moves them says that they have moved. */
import { AppError } from '../../contracts/common/errors.ts';
import { maxHeldSeconds } from '../../contracts/common/waiting.ts';
import { type Agent, agentStates } from '../../contracts/factory/agent.ts';
import { nodeCauses, nodeStatuses } from '../../contracts/factory/node.ts';
import { waitFor } from '../../contracts/factory/wait-routes.ts';
import { runStatuses } from '../../contracts/factory/workflow.ts';
import type { Timers } from '../../kit/clock/timers.ts';
import { createLongPolls, type Facts, statesOf, waitForState } from '../../kit/http/long-polls.ts';
import { type BoundRoute, bind } from '../../kit/http/types.ts';
import type { Store } from '../../kit/store/store.ts';
import { isClosed, isEnded } from '../workflows/model.ts';
import { findStep, type RunState, runState, type StepState, stepState } from '../workflows/store/states.ts';

/** What has moved: the id of a bot, a node or a run. Returns a function that unsubscribes. */
type OnMoved = (listener: (id: string) => void) => () => void;

interface WaitDeps {
  readonly store: Pick<Store, 'read'>;
  readonly timers: Timers;
  readonly workspace: string;
  /** By id, address, or a short name that only one bot has. */
  readonly findAgent: (name: string) => Agent | null;
  readonly moved: readonly OnMoved[];
}

/** The thing that an id names: the key of its changes, and its state now. */
interface Thing {
  readonly key: string;
  readonly kind: 'bot' | 'step' | 'run';
  readonly read: () => Promise<Facts>;
}

const known = { bot: agentStates, step: nodeStatuses, run: runStatuses };
const usual = { bot: ['idle', 'done'], step: ['done'], run: ['done', 'degraded'] };

export function waitRoutes(deps: WaitDeps): BoundRoute[] {
  const polls = createLongPolls(deps);
  for (const on of deps.moved) on(polls.changed);
  return [
    bind(waitFor, async ({ principal, params: { id }, query, signal }) => {
      const { key, kind, read } = await find(deps, id, query.run ?? null);
      const wanted = statesOf(query.for, kind, known[kind], usual[kind]);
      const ms = (query.seconds ?? maxHeldSeconds) * 1000;
      return { body: await waitForState(polls, wanted, { principal, key, ms, signal, read }) };
    }),
  ];
}

async function find(deps: WaitDeps, id: string, dagId: string | null): Promise<Thing> {
  const { store, workspace, findAgent } = deps;
  const agent = dagId === null ? findAgent(id) : null;
  if (agent !== null) {
    const read = async () => ofBot(findAgent(agent.id) ?? gone(id, dagId));
    return { key: agent.id, kind: 'bot', read };
  }
  const run = dagId === null ? await store.read((tx) => runState(tx, workspace, id)) : null;
  if (run !== null) {
    const read = () => store.read((tx) => ofRun(runState(tx, workspace, id) ?? gone(id, dagId)));
    return { key: id, kind: 'run', read };
  }
  const step = (await store.read((tx) => findStep(tx, workspace, id, dagId))) ?? gone(id, dagId);
  const read = () => store.read((tx) => ofStep(stepState(tx, workspace, step) ?? gone(id, dagId)));
  return { key: step.nodeId, kind: 'step', read };
}

function ofBot({ id, address, state, stateReason }: Agent): Facts {
  const ended = state === 'failed' || state === 'offline';
  return { kind: 'bot', id, title: address, state, cause: null, reason: stateReason, ended };
}

function ofRun({ dagId, title, status }: RunState): Facts {
  return { kind: 'run', id: dagId, title, state: status, cause: null, reason: null, ended: isEnded(status) };
}

function ofStep({ nodeId, title, status, cause, detail }: StepState): Facts {
  // A step behind a failed one never begins by itself; one at its gate may.
  const ended = isClosed(status) || (status === 'blocked' && cause !== 'gate');
  return { kind: 'step', id: nodeId, title, state: status, cause, reason: detail ?? nodeCauses[cause], ended };
}

function gone(id: string, dagId: string | null): never {
  throw new AppError(
    'not_found',
    `There is no bot, step or run ${JSON.stringify(id)}${dagId === null ? '' : ` in the run ${dagId}`}.`,
    'Give the address of a bot or the full id; for a step, also name its run.',
  );
}
