/** `gantry orchestration …`: messages, deliveries, queues and threads. */
import { exitCode } from '../../contracts/common/errors.ts';
import { agentStates } from '../../contracts/factory/agent.ts';
import {
  type Delivery,
  type DeliveryEvidence,
  type DeliveryState,
  isUnanswered,
  lastWords,
  partyWords,
  type SendPlan,
  type Thread,
} from '../../contracts/factory/delivery.ts';
import type { Report } from '../../contracts/factory/report-routes.ts';
import { type Context, type Input, optionalText, text } from '../command.ts';
import { byOption, verb } from '../route-verb.ts';
import { listed, moreAt } from '../table.ts';
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
  acp: 'the agent',
};

/** `verified by its transcript: …`, `queued: the bot is working` */
function inWords(delivery: Delivery): string {
  const by = delivery.evidence === null ? '' : ` by ${witness[delivery.evidence]}`;
  return `${spoken(delivery.state)}${by}${delivery.detail === undefined ? '' : `: ${inCell(reason(delivery.detail))}`}`;
}

/** `You → tester@shop: run the tests · verified by its hook`; without the sender or words where the reader may not see them. */
function sentence(delivery: Delivery): string {
  const { from, to, firstWords } = delivery;
  const parties = from === undefined ? `to ${to}` : `${partyWords(from)} → ${partyWords(to)}`;
  return `${parties}${firstWords === undefined ? '' : `: ${firstWords}`} · ${inWords(delivery)}`;
}

/** Why it waits. A reason that begins with a state's wire word gets the word that a person says. */
function reason(detail: string): string {
  const [, word, rest] = /^([a-z_]+)(?:: (.*))?$/s.exec(detail) ?? [];
  const state = agentStates.find((one) => one === word);
  if (state === undefined) return detail;
  return `the bot ${state === 'needs_you' ? 'needs you' : `is ${spoken(state)}`}${rest === undefined ? '' : `: ${rest}`}`;
}

const textField = (input: Input, context: Context) => textOrStdin(context, input);

function sent(answer: Delivery | SendPlan, { names }: Context): string {
  if ('dryRun' in answer) {
    const { plan } = answer;
    return [
      `Would send to ${plan.to} via ${spoken(plan.via)}.`,
      `Would record: ${inCell(plan.records.join(', ')) || 'nothing'}`,
      ...(plan.ifQueued === undefined ? [] : [`If it is queued: ${inCell(plan.ifQueued.join(', '))}`]),
    ].join('\n');
  }
  const hint = answer.state === 'unconfirmed' ? `\nLook at the bot: ${names.gantry} agents screen ${answer.to}` : '';
  return `${answer.to}: ${inWords(answer)} (${answer.id})${hint}`;
}

const exit = (answer: Delivery | SendPlan) => ('dryRun' in answer ? 0 : exitOf[answer.state]);

export const send = verb('sendMessage', {
  fields: {
    text: textField,
    // A channel is a thread already.
    threadId: (input) => (text(input, 'to').startsWith('channel:') ? undefined : optionalText(input, 'thread')),
    dagId: 'dag',
    nodeId: 'node',
    idempotencyKey: 'key',
  },
  words: sent,
  exit,
});

export const reply = verb('sendMessage', {
  fields: {
    to: (input) => {
      const thread = text(input, 'thread');
      return thread.startsWith('channel:') ? thread : `channel:${thread}`;
    },
    text: textField,
    idempotencyKey: 'key',
  },
  words: sent,
  exit,
});

export const deliveries = verb('listDeliveries', {
  words: (answer, context, input) => {
    const agent = optionalText(input, 'agent');
    const to = agent === undefined ? '' : ` to ${agent}`;
    const none = `No deliveries${to}. Send one: ${context.names.gantry} orchestration send <bot@team> "Hello"`;
    const columns = {
      when: (one: Delivery) => ago(one.at, context.now()),
      message: (one: Delivery) => oneLine(sentence(one), 300),
      delivery: (one: Delivery) => one.id,
    };
    return listed(context, answer.deliveries, none, columns, answer.nextCursor);
  },
});

export const reports = verb('listReports', {
  words: (answer, context) =>
    listed(
      context,
      answer.reports,
      'No bot has reported anything.',
      {
        when: (one: Report) => ago(one.takenAt, context.now()),
        bot: (one: Report) => one.agentId,
        report: (one: Report) => one.op,
        step: (one: Report) => one.nodeId ?? '',
        outcome: (one: Report) => oneLine(one.why === null ? one.outcome : `${one.outcome}: ${one.why}`, 300),
      },
      answer.nextCursor,
    ),
});

export const drain = verb('drainQueue', {
  fields: { agent: 'bot' },
  words: ({ dryRun, tried, left }) => {
    const tries = dryRun === true ? 'Would try' : 'Tried';
    const what = tried.length === 0 ? 'Nothing is queued' : `${tries} ${count(tried.length, 'message')}`;
    return `${what}; ${left} left in the queue.`;
  },
});

const createThread = verb('createThread', {
  fields: { title: 'create' },
  words: (answer, { names }) =>
    'dryRun' in answer
      ? `Would open the thread ${JSON.stringify(answer.plan.title)}.`
      : `Thread ${answer.id} is open. Write to it: ${names.gantry} orchestration reply ${answer.id} "…"`,
});

/** Messages come newest first; a person reads downwards. */
const conversation = verb('listMessages', {
  fields: { id: 'thread' },
  words: ({ messages, nextCursor }, { now }) => {
    const lines = messages.map((one) => `${one.from} → ${one.to}, ${ago(one.at, now())}\n${inset(one.text)}`);
    return (lines.reverse().join('\n') || 'No messages in this thread.') + moreAt(nextCursor);
  },
});

const listThreads = verb('listThreads', {
  words: async ({ threads, nextCursor }, context) => {
    const { factory } = await context.connect();
    const { agents } = threads.length === 0 ? { agents: [] } : await factory.listAgents({ query: {} });
    const addresses = new Map(agents.map((agent) => [agent.id, agent.address]));
    const none = `No threads yet. Open one: ${context.names.gantry} orchestration threads --create <title> --bot <bot>`;
    const columns = {
      thread: (one: Thread) => one.id,
      'last message': (one: Thread) => ago(one.lastMessageAt, context.now()),
      bot: (one: Thread) => (one.botId === null ? '-' : (addresses.get(one.botId) ?? one.botId)),
      title: (one: Thread) => oneLine(one.title, 60),
      'last words': (one: Thread) =>
        `${isUnanswered(one) ? 'unanswered · ' : ''}${oneLine(lastWords(one) ?? 'no messages yet', 200)}`,
    };
    return listed(context, threads, none, columns, nextCursor);
  },
});

export const threads = byOption({ create: createThread, thread: conversation }, listThreads);
