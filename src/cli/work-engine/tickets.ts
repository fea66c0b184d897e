/** `gantry workspace tickets|triggers`, `gantry agents runs`. */
import { AppError } from '../../contracts/common/errors.ts';
import { type Context, flag, optionalText } from '../command.ts';
import { byOption, verb } from '../route-verb.ts';
import { listed } from '../table.ts';
import { ago, inCell, inset, oneLine } from '../words.ts';

/** People read addresses; JSON keeps ids. */
async function addressesOf(context: Context, rows: readonly unknown[]): Promise<ReadonlyMap<string, string>> {
  if (rows.length === 0) return new Map();
  const { factory } = await context.connect();
  const { agents } = await factory.listAgents({ query: {} });
  return new Map(agents.map((agent) => [agent.id, agent.address]));
}

const listTickets = verb('listTickets', {
  fields: { status: (input) => (flag(input, 'all') ? undefined : 'open') },
  words: async (answer, context) => {
    const addresses = await addressesOf(context, answer.tickets);
    return listed(
      context,
      answer.tickets,
      'No tickets.',
      {
        ticket: (one) => one.id,
        when: (one) => ago(one.createdAt, context.now()),
        bot: (one) => addresses.get(one.botId) ?? one.botId,
        from: (one) => one.source.kind,
        status: (one) => one.status,
        title: (one) => oneLine(one.title, 200),
      },
      answer.nextCursor,
    );
  },
});

/** Marks text from outside, so that it cannot pass for Gantry's. */
const showTicket = verb('getTicket', {
  fields: { id: 'ticket' },
  words: ({ title, status, source, createdAt, data }, { now }) => {
    const from = inCell(`${source.kind} ${source.ref}`);
    const came = inset(JSON.stringify(data, null, 2));
    return `${inCell(title)} (${status})\nFrom ${from}, ${ago(createdAt, now())}. Original content:\n${came}`;
  },
});

const closeTicket = verb('closeTicket', {
  fields: { id: 'ticket' },
  words: (answer) => ('dryRun' in answer ? `Would close ${answer.plan.id}.` : `${answer.id} is closed.`),
});

export const tickets = byOption({ ticket: byOption({ close: closeTicket }, showTicket) }, listTickets);

const listTriggers = verb('listTriggers', {
  words: async (answer, context) => {
    const addresses = await addressesOf(context, answer.triggers);
    return listed(context, answer.triggers, 'No triggers. Make one: --create <title> --bot <bot>', {
      trigger: (one) => one.id,
      bot: (one) => addresses.get(one.botId) ?? one.botId,
      tickets: (one) => String(one.tickets),
      'last used': (one) => (one.lastUsedAt === null ? 'never' : ago(one.lastUsedAt, context.now())),
      title: (one) => oneLine(one.title, 200),
    });
  },
});

const createTrigger = verb('createTrigger', {
  fields: {
    title: 'create',
    botId: (input) => {
      const bot = optionalText(input, 'bot');
      if (bot === undefined) throw new AppError('usage', 'A trigger needs a bot.', 'Give --bot <bot>.');
      return bot;
    },
  },
  words: (answer) =>
    'dryRun' in answer
      ? `Would make a trigger for ${answer.plan.botId}.`
      : `Anything posted here becomes a ticket. This address is shown only once:\n${answer.url}`,
});

const removeTrigger = verb('removeTrigger', {
  fields: { id: 'remove' },
  words: (answer) => ('dryRun' in answer ? `Would remove ${answer.plan.id}.` : `${answer.removed.id} is removed.`),
});

export const triggers = byOption({ create: createTrigger, remove: removeTrigger }, listTriggers);

const listRuns = verb('listAgentRuns', {
  words: async (answer, context) => {
    const addresses = await addressesOf(context, answer.runs);
    return listed(
      context,
      answer.runs,
      'No records.',
      {
        run: (one) => one.id,
        began: (one) => ago(one.startedAt, context.now()),
        bot: (one) => addresses.get(one.botId) ?? one.botId,
        status: (one) => one.status,
        for: (one) => `${one.source.kind} ${one.source.ref}`,
      },
      answer.nextCursor,
    );
  },
});

const showRun = verb('getAgentRun', {
  fields: { id: 'run' },
  words: ({ id, status, source, output, error }) =>
    `${id}: ${status}, for ${source.kind} ${inCell(source.ref)}\n${inset(output ?? error ?? '')}`,
});

export const runs = byOption({ run: showRun }, listRuns);
