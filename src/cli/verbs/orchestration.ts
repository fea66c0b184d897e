/** `gantry orchestration …`: messages, deliveries, queues and threads. */
import { exitCode } from '../../contracts/common/errors.ts';
import { agentStates } from '../../contracts/factory/agent.ts';
import type { Delivery, DeliveryEvidence, DeliveryState, Message, Thread } from '../../contracts/factory/delivery.ts';
import { type Action, type Context, flag, type Input, integer, optionalFlag, optionalText, text } from '../command.ts';
import { table } from '../table.ts';
import { textOrStdin } from '../text.ts';
import { ago, count, inCell, inset, oneLine, spoken } from '../words.ts';

/** The exit code of a send: an unconfirmed delivery exits as a time-out, a failed one as a transport fault. */
const exitOf: Record<DeliveryState, number> = {
  accepted: 0,
  queued: 0,
  verified: 0,
  best_effort: 0,
  unconfirmed: exitCode.timeout,
  failed: exitCode.transport,
};

const witness: Readonly<Record<DeliveryEvidence, string>> = {
  hook: 'its hook',
  transcript: 'its transcript',
  composer: 'its composer',
  exec: 'the program itself',
  model: 'the model',
};

/** `verified by its transcript: …`, `queued: the bot is working` */
function inWords(delivery: Delivery): string {
  const by = delivery.evidence === null ? '' : ` by ${witness[delivery.evidence]}`;
  return `${spoken(delivery.state)}${by}${delivery.detail === undefined ? '' : `: ${inCell(reason(delivery.detail))}`}`;
}

/** Why it waits. A reason that begins with a state's wire word gets the word that a person says. */
function reason(detail: string): string {
  const [, word, rest] = /^([a-z_]+)(?:: (.*))?$/s.exec(detail) ?? [];
  const state = agentStates.find((one) => one === word);
  if (state === undefined) return detail;
  return `the bot ${state === 'needs_you' ? 'needs you' : `is ${spoken(state)}`}${rest === undefined ? '' : `: ${rest}`}`;
}

export const send: Action = async (context, input) => deliver(context, input, text(input, 'to'));

export const reply: Action = async (context, input) => {
  const thread = text(input, 'thread');
  return deliver(context, input, thread.startsWith('channel:') ? thread : `channel:${thread}`);
};

async function deliver(context: Context, input: Input, to: string): Promise<number> {
  const message = await textOrStdin(context, input);
  const { factory } = await context.connect();
  const threadId = to.startsWith('channel:') ? undefined : optionalText(input, 'thread');
  const answer = await factory.sendMessage({
    body: {
      to,
      text: message,
      queue: optionalFlag(input, 'queue'),
      threadId,
      dagId: optionalText(input, 'dag'),
      nodeId: optionalText(input, 'node'),
      idempotencyKey: optionalText(input, 'key'),
      raw: flag(input, 'raw') || undefined,
      dryRun: flag(input, 'dryRun') || undefined,
    },
  });
  if ('dryRun' in answer) {
    const { plan } = answer;
    context.output.result(answer, () =>
      [
        `Would send to ${plan.to} by ${spoken(plan.via)}.`,
        `Would record: ${inCell(plan.records.join(', ')) || 'nothing'}`,
        ...(plan.ifQueued === undefined ? [] : [`If it must be queued: ${inCell(plan.ifQueued.join(', '))}`]),
      ].join('\n'),
    );
    return 0;
  }
  context.output.result(answer, () => {
    const hint =
      answer.state === 'unconfirmed' ? `\nLook at the bot: ${context.names.gantry} agents screen ${answer.to}` : '';
    return `${answer.to}: ${inWords(answer)} (${answer.id})${hint}`;
  });
  return exitOf[answer.state];
}

export const deliveries: Action = async (context, input) => {
  const limit = integer(input, 'limit', 1, 200);
  const { factory } = await context.connect();
  const agent = optionalText(input, 'agent');
  const answer = await factory.listDeliveries({
    query: {
      agent,
      thread: optionalText(input, 'thread'),
      node: optionalText(input, 'node'),
      limit,
      cursor: optionalText(input, 'cursor'),
    },
  });
  context.output.result(answer, () => {
    if (answer.deliveries.length === 0) {
      return `No deliveries${agent === undefined ? '' : ` to ${agent}`}. Send one: ${context.names.gantry} orchestration send <bot@team> "Hello"`;
    }
    const rows = answer.deliveries.map((one) => [
      ago(one.at, context.now()),
      one.to,
      spoken(one.via),
      one.id,
      oneLine(inWords(one), 300),
    ]);
    return table(['when', 'to', 'via', 'delivery', 'state'], rows, context.output.width) + more(answer.nextCursor);
  });
  return undefined;
};

function more(cursor: string | null): string {
  return cursor === null ? '' : `\nThere are more: --cursor ${cursor}`;
}

export const drain: Action = async (context, input) => {
  const { factory } = await context.connect();
  const answer = await factory.drainQueue({
    body: { agent: optionalText(input, 'bot'), dryRun: flag(input, 'dryRun') || undefined },
  });
  context.output.result(answer, () => {
    const verb = answer.dryRun === true ? 'Would try' : 'Tried';
    const tried = answer.tried.length === 0 ? 'Nothing is queued' : `${verb} ${count(answer.tried.length, 'message')}`;
    return `${tried}; ${answer.left} left in the queue.`;
  });
  return undefined;
};

export const threads: Action = async (context, input) => {
  const title = optionalText(input, 'create');
  if (title !== undefined) return createThread(context, input, title);
  const page = { limit: integer(input, 'limit', 1, 200), cursor: optionalText(input, 'cursor') };
  const { factory } = await context.connect();
  const id = optionalText(input, 'thread');
  if (id === undefined) {
    const answer = await factory.listThreads({ query: { bot: optionalText(input, 'bot'), ...page } });
    const { agents } =
      context.output.json || answer.threads.length === 0 ? { agents: [] } : await factory.listAgents({ query: {} });
    const addresses = new Map(agents.map((agent) => [agent.id, agent.address]));
    context.output.result(answer, () => threadTable(context, answer.threads, addresses) + more(answer.nextCursor));
  } else {
    const answer = await factory.listMessages({ params: { id }, query: page });
    context.output.result(answer, () => conversation(answer.messages, context.now()) + more(answer.nextCursor));
  }
  return undefined;
};

function threadTable(context: Context, list: readonly Thread[], addresses: ReadonlyMap<string, string>): string {
  if (list.length === 0)
    return `No threads yet. Open one: ${context.names.gantry} orchestration threads --create <title> --bot <bot>`;
  const rows = list.map((one) => [
    one.id,
    ago(one.lastMessageAt, context.now()),
    one.botId === null ? '-' : (addresses.get(one.botId) ?? one.botId),
    oneLine(one.title, 200),
  ]);
  return table(['thread', 'last message', 'bot', 'title'], rows, context.output.width);
}

/** Messages come newest first; a person reads downwards. */
function conversation(list: readonly Message[], now: number): string {
  if (list.length === 0) return 'No messages in this thread.';
  return [...list]
    .reverse()
    .map((one) => `${one.from} → ${one.to}, ${ago(one.at, now)}\n${inset(one.text)}`)
    .join('\n');
}

async function createThread(context: Context, input: Input, title: string): Promise<undefined> {
  const { factory } = await context.connect();
  const answer = await factory.createThread({
    body: { title, bot: optionalText(input, 'bot'), dryRun: flag(input, 'dryRun') || undefined },
  });
  context.output.result(answer, () =>
    'dryRun' in answer
      ? `Would open the thread ${JSON.stringify(answer.plan.title)}.`
      : `Thread ${answer.id} is open. Write in it: ${context.names.gantry} orchestration reply ${answer.id} "…"`,
  );
  return undefined;
}
