/** `gantry workspace tickets|triggers`, `gantry agents runs`. */
import { AppError } from '../../contracts/common/errors.ts';
import { agentRunStatuses } from '../../contracts/factory/work-engine/agent-runs.ts';
import type { Ticket } from '../../contracts/factory/work-engine/tickets.ts';
import { type Action, type Context, flag, type Input, integer, optionalText } from '../command.ts';
import { table } from '../table.ts';
import { ago, inCell, inset, oneLine } from '../words.ts';

const dry = (input: Input) => flag(input, 'dryRun') || undefined;
const moreOf = (cursor: string | null) => (cursor === null ? '' : `\nThere are more: --cursor ${cursor}`);

/** People read addresses; JSON keeps ids. */
async function addressesOf(context: Context, rows: readonly unknown[]): Promise<ReadonlyMap<string, string>> {
  if (context.output.json || rows.length === 0) return new Map();
  const { factory } = await context.connect();
  const { agents } = await factory.listAgents({ query: {} });
  return new Map(agents.map((agent) => [agent.id, agent.address]));
}

export const tickets: Action = async (context, input) => {
  const id = optionalText(input, 'ticket');
  const { factory } = await context.connect();
  if (id !== undefined && flag(input, 'close')) {
    const answer = await factory.closeTicket({
      params: { id },
      body: { note: optionalText(input, 'note'), dryRun: dry(input) },
    });
    context.output.result(answer, () => ('dryRun' in answer ? `Would close ${id}.` : `${answer.id} is closed.`));
    return undefined;
  }
  if (id !== undefined) {
    const ticket = await factory.getTicket({ params: { id } });
    context.output.result(ticket, () => inWords(context, ticket));
    return undefined;
  }
  const answer = await factory.listTickets({
    query: {
      bot: optionalText(input, 'bot'),
      status: flag(input, 'all') ? undefined : 'open',
      limit: integer(input, 'limit', 1, 200),
      cursor: optionalText(input, 'cursor'),
    },
  });
  const addresses = await addressesOf(context, answer.tickets);
  context.output.result(answer, () => {
    if (answer.tickets.length === 0) return 'No tickets.';
    const rows = answer.tickets.map((one) => [
      one.id,
      ago(one.createdAt, context.now()),
      addresses.get(one.botId) ?? one.botId,
      one.source.kind,
      one.status,
      oneLine(one.title, 200),
    ]);
    return (
      table(['ticket', 'when', 'bot', 'from', 'status', 'title'], rows, context.output.width) +
      moreOf(answer.nextCursor)
    );
  });
  return undefined;
};

/** What came from outside is told apart from what Gantry says. */
function inWords(context: Context, ticket: Ticket): string {
  const from = `${ticket.source.kind} ${ticket.source.ref}`;
  const data = inset(JSON.stringify(ticket.data, null, 2));
  return `${inCell(ticket.title)} (${ticket.status})\nFrom ${inCell(from)}, ${ago(ticket.createdAt, context.now())}. What came, as it came:\n${data}`;
}

export const triggers: Action = async (context, input) => {
  const title = optionalText(input, 'create');
  if (title !== undefined) return create(context, input, title);
  const id = optionalText(input, 'remove');
  if (id !== undefined) return remove(context, input, id);
  const { factory } = await context.connect();
  const answer = await factory.listTriggers();
  const addresses = await addressesOf(context, answer.triggers);
  context.output.result(answer, () => {
    if (answer.triggers.length === 0) return 'No triggers. Make one: --create <title> --bot <bot>';
    const rows = answer.triggers.map((one) => [
      one.id,
      addresses.get(one.botId) ?? one.botId,
      String(one.tickets),
      one.lastUsedAt === null ? 'never' : ago(one.lastUsedAt, context.now()),
      oneLine(one.title, 200),
    ]);
    return table(['trigger', 'bot', 'tickets', 'last used', 'title'], rows, context.output.width);
  });
  return undefined;
};

async function create(context: Context, input: Input, title: string): Promise<undefined> {
  const botId = optionalText(input, 'bot');
  if (botId === undefined) throw new AppError('usage', 'A trigger needs a bot.', 'Give --bot <bot>.');
  const { factory } = await context.connect();
  const answer = await factory.createTrigger({ body: { botId, title, dryRun: dry(input) } });
  context.output.result(answer, () =>
    'dryRun' in answer
      ? `Would make a trigger for ${answer.plan.botId}.`
      : `Whatever is posted here becomes a ticket; the address is not shown again:\n${answer.url}`,
  );
  return undefined;
}

async function remove(context: Context, input: Input, id: string): Promise<undefined> {
  const { factory } = await context.connect();
  const query = { dryRun: flag(input, 'dryRun') ? '1' : undefined } as const;
  const answer = await factory.removeTrigger({ params: { id }, query });
  context.output.result(answer, () => ('dryRun' in answer ? `Would end ${id}.` : `${answer.removed.id} has ended.`));
  return undefined;
}

export const runs: Action = async (context, input) => {
  const id = optionalText(input, 'run');
  const { factory } = await context.connect();
  if (id !== undefined) {
    const one = await factory.getAgentRun({ params: { id } });
    context.output.result(
      one,
      () =>
        `${one.id}: ${one.status}, for ${one.source.kind} ${inCell(one.source.ref)}\n${inset(one.output ?? one.error ?? '')}`,
    );
    return undefined;
  }
  const asked = optionalText(input, 'status');
  const status = agentRunStatuses.find((one) => one === asked);
  if (asked !== undefined && status === undefined) {
    throw new AppError('usage', `${JSON.stringify(asked)} is no status.`, `Use ${agentRunStatuses.join(', ')}.`);
  }
  const answer = await factory.listAgentRuns({
    query: {
      bot: optionalText(input, 'bot'),
      status,
      limit: integer(input, 'limit', 1, 200),
      cursor: optionalText(input, 'cursor'),
    },
  });
  const addresses = await addressesOf(context, answer.runs);
  context.output.result(answer, () => {
    if (answer.runs.length === 0) return 'No records.';
    const rows = answer.runs.map((one) => [
      one.id,
      ago(one.startedAt, context.now()),
      addresses.get(one.botId) ?? one.botId,
      one.status,
      `${one.source.kind} ${one.source.ref}`,
    ]);
    return table(['run', 'began', 'bot', 'status', 'for'], rows, context.output.width) + moreOf(answer.nextCursor);
  });
  return undefined;
};
