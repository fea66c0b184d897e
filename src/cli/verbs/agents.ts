/** `gantry agents …`: lists, inspects and controls bots. */
import { AppError } from '../../contracts/common/errors.ts';
import { type Agent, limitWords, runsInPane } from '../../contracts/factory/agent.ts';
import { type Action, optionalText, text, words } from '../command.ts';
import { computerWords } from '../computer-names.ts';
import { verb } from '../route-verb.ts';
import { facts, table } from '../table.ts';
import { ago, count, inCell, lasting, localTimes, oneLine, spoken } from '../words.ts';
import { botId, findAgent } from './find-agent.ts';

export const list = verb('listAgents', {
  words: async (answer, context, input) => {
    const team = optionalText(input, 'team');
    if (answer.agents.length === 0) {
      return [
        team === undefined ? 'No bots yet.' : `The team ${JSON.stringify(team)} has no bots here.`,
        `See the teams of the workspace: ${context.names.gantry} teams ls`,
        `Or try the demo: ${context.names.gantry} teams demo`,
      ].join('\n');
    }
    // Only where one runs on another computer.
    const elsewhere = answer.agents.some((agent) => agent.runner !== 'local');
    const named = elsewhere ? await computerWords(context) : String;
    const rows = answer.agents.map((agent) => [
      agent.address,
      agent.state === 'offline' ? 'offline' : spoken(agent.state) + (agent.stale ? ' (stale)' : ''),
      lasting(agent.since, context.now()),
      agent.queueDepth === 0 ? '-' : String(agent.queueDepth),
      agent.binding.harness ?? agent.binding.type,
      ...(elsewhere ? [agent.runner === 'local' ? 'here' : named(agent.machine)] : []),
      oneLine(localTimes(agent.stateReason ?? ''), 200),
    ]);
    const heads = ['bot', 'state', 'for', 'queue', 'harness', ...(elsewhere ? ['on'] : []), 'reason'];
    const body = table(heads, rows, context.output.width);
    const waiting = answer.agents.filter((agent) => agent.state === 'needs_you');
    const hints = [
      answer.engine.running
        ? null
        : `Terminals cannot be read: ${inCell(answer.engine.error ?? 'The reason is unknown.')} This is the last known state.`,
      waiting[0] === undefined
        ? null
        : `${count(waiting.length, 'bot')} waiting for you. Look: ${context.names.gantry} ${lookAt(waiting[0])}`,
      answer.agents.every((agent) => agent.state === 'offline')
        ? `Start them with: ${context.names.gantry} teams up ${inCell(answer.agents[0]?.team ?? '')}`
        : null,
    ];
    return [body, ...hints.filter((hint) => hint !== null)].join('\n');
  },
});

/** A hosted bot or an ACP agent has no terminal to attach to; what it asks is among the approvals. */
function lookAt(agent: Agent): string {
  const { type, harness } = agent.binding;
  if (type !== 'hosted' && (harness === undefined || runsInPane(harness))) return `agents attach ${agent.address}`;
  return agent.stateReason?.startsWith('asks:') === true ? 'workspace approvals' : `why ${agent.address}`;
}

export const show = verb('getAgent', {
  fields: { id: botId },
  words: (agent, { now }) => described(agent, now()),
});

function described(agent: Agent, now: number): string {
  return facts([
    ['Bot', `${agent.address}${agent.name === agent.slug ? '' : ` (${agent.name})`}`],
    ['Id', agent.id],
    ['Role', agent.role],
    ['Harness', agent.binding.harness ?? agent.binding.type],
    ['Sandbox', agent.sandbox ?? null],
    ['Limits', limits(agent)],
    ['Refused', refused(agent)],
    ['State', `${spoken(agent.state)}, for ${lasting(agent.since, now)}${staleWords(agent)}`],
    ['Reason', agent.stateReason === null ? null : localTimes(agent.stateReason)],
    ['Step', agent.currentNode === null ? null : `${agent.currentNode.title} (${agent.currentNode.nodeId})`],
    ['Proof', agent.proof.total === 0 ? null : `${agent.proof.proven} of ${agent.proof.total}`],
    ['Queue', agent.queueDepth === 0 ? 'empty' : count(agent.queueDepth, 'message')],
    ['Terminal', agent.pane === null ? 'none' : agent.pane.id],
    ['Computer', `${agent.machine} (${agent.runner})`],
  ]);
}

function limits({ caps = [] }: Agent): string | null {
  return caps.length === 0 ? null : caps.map(limitWords).join('; ');
}

/** Connections out of its sandbox. */
function refused({ refused: all = [] }: Agent): string | null {
  const lines = all.map(({ destination, why, times }) => {
    const often = times === 1 ? '' : `, ${times} times`;
    return `${destination ?? 'a connection'}${often} (${localTimes(why)})`;
  });
  return lines.length === 0 ? null : lines.join('; ');
}

function staleWords({ stale, runner }: Agent): string {
  if (!stale) return '';
  return runner === 'local' ? ' (stale: terminals cannot be read)' : ' (stale: as last seen)';
}

export const capture = verb('captureAgent', { fields: { id: botId }, words: (answer) => answer.text });

export const transcript: Action = async (context, input) => {
  const { factory } = await context.connect();
  const agent = await findAgent(factory, text(input, 'bot'), context.names);
  let cursor = optionalText(input, 'cursor');
  const chunks: { at: string; text: string }[] = [];
  // A live pane always has a next cursor: an empty page is the end for now.
  for (;;) {
    const page = await factory.agentTranscript({ params: { id: agent.id }, query: { cursor } });
    chunks.push(...page.chunks);
    const done = page.next === null || page.chunks.length === 0 || page.next === cursor;
    if (page.next !== null || done) cursor = page.next ?? undefined;
    if (done) break;
  }
  context.output.result({ chunks, next: cursor ?? null }, () => chunks.map((chunk) => chunk.text).join(''));
  return undefined;
};

export const screen: Action = async (context, input) => {
  const { factory } = await context.connect();
  const agent = await findAgent(factory, text(input, 'bot'), context.names);
  const answer = await factory.agentScreen({ params: { id: agent.id } });
  if (context.output.json) {
    context.output.result(answer, () => '');
    return undefined;
  }
  const { drawScreen } = await import('../attach/draw.ts');
  const colour = context.terminal.stdout.isTTY === true && (context.env.NO_COLOR ?? '') === '';
  const drawn = await drawScreen(answer, colour);
  context.output.result(answer, () => drawn, { drawn: true });
  return undefined;
};

export const input: Action = async (context, given) => {
  const body = { text: words(given, 'text').join(' ') || undefined, keys: [...words(given, 'key')] };
  if (body.text === undefined && body.keys.length === 0) {
    throw new AppError('usage', 'Neither text nor keys were given.', 'Give text after the bot, --key, or both.');
  }
  const { factory } = await context.connect();
  const agent = await findAgent(factory, text(given, 'bot'), context.names);
  if (given.options.dryRun === true) {
    const plan = { agent: agent.address, pane: agent.pane?.id ?? null, ...body };
    context.output.result({ dryRun: true, plan }, () =>
      agent.pane === null
        ? `${agent.address} has no live terminal: nothing could be typed.`
        : `Would type ${JSON.stringify(body.text ?? '')}${body.keys.length > 0 ? `, then press ${inCell(body.keys.join(' '))}` : ''} into ${agent.address}.`,
    );
    return undefined;
  }
  const answer = await factory.agentInput({
    params: { id: agent.id },
    body: { text: body.text, keys: body.keys.length > 0 ? body.keys : undefined },
  });
  context.output.result(answer, () => `Typed into ${agent.address}.`);
  return undefined;
};

export const explain: Action = async (context, input) => {
  const { factory } = await context.connect();
  const agent = await findAgent(factory, text(input, 'bot'), context.names);
  const answer = await factory.explainAgent({ params: { id: agent.id } });
  context.output.result(answer, () => {
    const head = facts([
      ['Bot', agent.address],
      ['State', spoken(answer.state)],
      ['Reason', answer.stateReason],
      ['Harness', answer.harness],
      ['Rules', answer.ruleset],
    ]);
    const steps = table(
      ['when', 'source', 'rule', 'says', 'changed', 'evidence'],
      answer.steps.map((step) => [
        ago(step.at, context.now()),
        step.source,
        step.rule,
        spoken(step.claim),
        step.decided ? 'yes' : '-',
        oneLine(step.evidence, 200),
      ]),
      context.output.width,
    );
    const bottom = answer.bottom.map((row) => `  | ${inCell(row)}`).join('\n');
    const waits = answer.approvals.map((id) => `Waits for an answer: gantry workspace approve ${id}, or reject`);
    return [
      head,
      ...waits,
      answer.steps.length === 0 ? 'No evidence yet.' : steps,
      `Bottom of the screen\n${bottom}`,
    ].join('\n\n');
  });
  return undefined;
};
