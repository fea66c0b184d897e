/** `gantry agents usage|limit|wait-out|go-on`: what bots use, how much they may, and who is held. */
import { AppError } from '../../contracts/common/errors.ts';
import type { Used } from '../../contracts/factory/spending-routes.ts';
import { type Action, flag, type Input, optionalText, text } from '../command.ts';
import { verb } from '../route-verb.ts';
import { table } from '../table.ts';
import { inCell, localTimes } from '../words.ts';
import { findAgent } from './find-agent.ts';

export const usage = verb('getSpending', {
  words: (answer, { names: { gantry }, output }) => {
    const rows = answer.bots
      .filter(({ month }) => month.requests > 0)
      .map(({ address, today, month }) => [address, dollars(today), tokens(today), dollars(month), tokens(month)]);
    const all = ['all', dollars(answer.today), tokens(answer.today), dollars(answer.month), tokens(answer.month)];
    const body =
      rows.length === 0
        ? 'Nothing was used this month.'
        : table(['bot', 'today', 'tokens', 'month', 'tokens'], [...rows, all], output.width);
    const limits = answer.limits.map(
      ({ subject, spentCents, dailyCents, reached }) =>
        `Limit of ${subject === '*' ? 'all bots' : inCell(subject)}: ${money(spentCents)} of ${money(dailyCents)} a day${reached ? ', reached' : ''}`,
    );
    const holds = answer.holds.map(({ agentId, reason }) => {
      const name = answer.bots.find((bot) => bot.agentId === agentId)?.address ?? agentId;
      return `${name} is held. ${inCell(localTimes(reason))} Let it continue: ${gantry} agents go-on ${name}`;
    });
    const unpriced =
      answer.unpricedModels.length === 0
        ? []
        : [
            `No price is known for ${inCell(answer.unpricedModels.join(', '))}: their tokens are counted, their cost is not.`,
          ];
    const off = answer.waitOut ? [] : ['Bots do not wait for usage limits to reset.'];
    return [body, ...limits, ...holds, ...unpriced, ...off].join('\n');
  },
});

/** Null takes the limit away. */
function dailyOf(input: Input): number | null {
  const daily = optionalText(input, 'daily');
  if ((daily === undefined) === !flag(input, 'none')) {
    throw new AppError('usage', 'Give either --daily or --none.', 'For example: --daily 5');
  }
  return daily === undefined ? null : centsOf(daily);
}

export const limit = verb('setSpendLimit', {
  fields: {
    subject: (input) => (text(input, 'subject') === 'all' ? '*' : text(input, 'subject')),
    dailyCents: dailyOf,
  },
  words: (answer, _context, input) => {
    const subject = text(input, 'subject');
    const said = (cents: number | null) => (cents === null ? 'no limit' : `${money(cents)} a day`);
    return 'dryRun' in answer
      ? `Nothing was changed: ${subject} would go from ${said(answer.plan.from)} to ${said(answer.plan.to)}.`
      : `${subject}: ${said(dailyOf(input))}.`;
  },
});

export const waitOut: Action = async (context, input) => {
  const wanted = text(input, 'on-or-off');
  if (wanted !== 'on' && wanted !== 'off') {
    throw new AppError('usage', `${JSON.stringify(wanted)} is neither on nor off.`, 'Give on or off.');
  }
  const on = wanted === 'on';
  if (flag(input, 'dryRun')) {
    context.output.result({ dryRun: true, plan: { waitOut: on } }, () => `Nothing was changed: it would be ${wanted}.`);
    return undefined;
  }
  const { factory } = await context.connect();
  const answer = await factory.setWaitOut({ body: { on } });
  context.output.result(answer, () =>
    on
      ? 'Bots wait for a usage limit to reset, then continue automatically.'
      : 'A bot that reaches a usage limit waits for you.',
  );
  return undefined;
};

export const goOn: Action = async (context, input) => {
  const { factory } = await context.connect();
  const agent = await findAgent(factory, text(input, 'bot'), context.names);
  const answer = await factory.letBotGoOn({
    params: { id: agent.id },
    body: { dryRun: flag(input, 'dryRun') || undefined },
  });
  context.output.result(answer, () => {
    if ('dryRun' in answer)
      return `Nothing was changed: ${agent.address} would continue. ${inCell(localTimes(answer.plan.hold.reason))}`;
    return answer.hold.kind === 'budget'
      ? `${agent.address} takes one more message.`
      : `${agent.address} tries again now.`;
  });
  return undefined;
};

function dollars(used: Used): string {
  return used.unpriced === 0 || used.cents > 0 ? money(used.cents) : 'unknown';
}

function tokens({ inputTokens, outputTokens }: Used): string {
  return inputTokens + outputTokens === 0 ? '-' : `${inputTokens} in, ${outputTokens} out`;
}

function money(cents: number): string {
  return cents > 0 && cents < 1 ? `$${(cents / 100).toPrecision(2)}` : `$${(cents / 100).toFixed(2)}`;
}

function centsOf(text: string): number {
  const plain = text.trim().replace(/^\$/, '');
  const cents = /^\d{1,7}(\.\d{1,2})?$/.test(plain) ? Math.round(Number(plain) * 100) : 0;
  if (cents > 0) return cents;
  throw new AppError(
    'usage',
    `--daily ${JSON.stringify(text)} is not an amount in dollars.`,
    'Give an amount such as 5 or 12.50.',
  );
}
