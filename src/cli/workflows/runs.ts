/** `gantry workflows run|watch|cancel`. */
import { AppError, exitCode } from '../../contracts/common/errors.ts';
import type { NodeCard } from '../../contracts/factory/node.ts';
import type { Flow, RunStatus } from '../../contracts/factory/workflow.ts';
import { type Action, type Context, type Input, integer, optionalText, text, words } from '../command.ts';
import type { FactoryClient } from '../connect.ts';
import { verb } from '../route-verb.ts';
import { table } from '../table.ts';
import { count, spoken } from '../words.ts';
import { runBudget } from './budgets.ts';
import { nodeTable, why } from './show-nodes.ts';

export const run = verb('startRun', {
  fields: {
    params: paramsOf,
    campaignId: 'campaign',
    projectId: 'project',
    budget: runBudget,
  },
  words: (answer, { names, output }) => {
    if ('dryRun' in answer) {
      const rows = answer.plan.nodes.map((one) => [one.stepId, one.executor, one.title]);
      const steps = table(['step', 'by', 'what'], rows, output.width);
      return `${steps}\nNothing was started: this is what would happen in ${answer.plan.campaignId}.`;
    }
    const watching = `${names.gantry} workflows watch ${answer.dagId}`;
    return `Run ${answer.dagId} has started (${count(answer.nodes.length, 'step')}, ${answer.campaignId}).\nWatch it: ${watching}`;
  },
});

/** The run that a schedule starts. */
export const requestOf = (input: Input) => ({
  template: text(input, 'template'),
  intent: optionalText(input, 'intent'),
  params: paramsOf(input),
  campaignId: optionalText(input, 'campaign'),
  projectId: optionalText(input, 'project'),
  team: optionalText(input, 'team'),
  preset: optionalText(input, 'preset'),
});

function paramsOf(input: Input): Record<string, string> | undefined {
  const given = words(input, 'param');
  if (given.length === 0) return undefined;
  return Object.fromEntries(
    given.map((pair) => {
      const at = pair.indexOf('=');
      if (at > 0) return [pair.slice(0, at), pair.slice(at + 1)];
      throw new AppError('usage', `--param ${JSON.stringify(pair)} is not name=value.`, 'Give --param name=value.');
    }),
  );
}

export const exitOf: Record<RunStatus, number> = {
  running: exitCode.timeout,
  needs_you: exitCode.needs_person,
  done: 0,
  degraded: 0,
  failed: exitCode.refused,
  cancelled: exitCode.refused,
};

export const watch: Action = async (context, input) => {
  const dagId = text(input, 'run');
  const seconds = integer(input, 'for', 0, 86_400);
  const { factory } = await context.connect();
  const flow = await follow(context, factory, dagId, seconds);
  context.output.result(flow, () => `${nodeTable(context, flow.nodes)}\n${rests(context, flow)}`);
  return exitOf[flow.status];
};

const restWords: Record<RunStatus, string> = {
  running: 'The run is still going.',
  needs_you: 'The run needs you.',
  done: 'The run is done.',
  degraded: 'The run is done, without all of its steps.',
  failed: 'The run has failed.',
  cancelled: 'The run is cancelled.',
};

export function rests(context: Context, flow: Flow): string {
  if (flow.status !== 'needs_you') return restWords[flow.status];
  const { gantry } = context.names;
  const atGate = flow.nodes.some((node) => node.needsYou && node.gate?.state === 'waiting');
  const next = atGate ? `Answer: ${gantry} workspace approvals` : `See why: ${gantry} why ${flow.dagId}`;
  return `${restWords.needs_you} ${next}`;
}

/** Prints moves as events tell of them; answers the run when it rests or the time is over. */
export async function follow(
  context: Context,
  factory: FactoryClient,
  dagId: string,
  seconds: number | undefined,
): Promise<Flow> {
  const read = () => factory.getFlow({ params: { dagId } });
  let flow = await read();
  if (flow.status !== 'running' || seconds === 0) return flow;
  let wake = () => {};
  let over = false;
  const stream = factory.factoryEvents(
    {},
    {
      onEvent: (event) => {
        const { data } = event.data as { data?: { dagId?: unknown } };
        if (data?.dagId === dagId) wake();
      },
      onState: () => wake(),
    },
  );
  const stop = () => {
    over = true;
    wake();
  };
  process.once('SIGINT', stop);
  const timer = seconds === undefined ? null : setTimeout(stop, seconds * 1000);
  try {
    while (!over) {
      const woken = new Promise<void>((resolve) => {
        wake = resolve;
      });
      // Asked after each wake: what happened between the reading and the stream is not missed.
      const next = await read();
      for (const line of moved(flow.nodes, next.nodes)) context.output.note(line);
      flow = next;
      if (flow.status !== 'running') break;
      await woken;
    }
  } finally {
    stream.close();
    process.off('SIGINT', stop);
    if (timer !== null) clearTimeout(timer);
  }
  return flow;
}

function moved(before: readonly NodeCard[], now: readonly NodeCard[]): string[] {
  const known = new Map(before.map((card) => [card.nodeId, `${card.status} ${card.cause} ${card.attempt}`]));
  return now
    .filter((card) => known.get(card.nodeId) !== `${card.status} ${card.cause} ${card.attempt}`)
    .map((card) => `${card.stepId}: ${spoken(card.status)}, ${why(card)}`);
}

export const cancel = verb('cancelRun', {
  fields: { dagId: 'run' },
  words: (answer, context) => {
    if ('dryRun' in answer) {
      const { cancels, ends } = answer.plan;
      return `Would cancel ${count(cancels.length, 'step')} and end ${count(ends.length, 'step')} at work.`;
    }
    const rest = answer.status === 'running' ? 'The run is being cancelled.' : rests(context, answer);
    return `${nodeTable(context, answer.nodes)}\n${rest}`;
  },
});
