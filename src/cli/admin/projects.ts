/** `gantry admin projects` and `gantry admin prices`: who may spend, on what, and how much. */
import { AppError } from '../../contracts/common/errors.ts';
import type { AdminProject } from '../../contracts/identity/admin.ts';
import { type Input, optionalText } from '../command.ts';
import { listed } from '../table.ts';
import { oneLine } from '../words.ts';
import { byAction, word } from './action.ts';
import { adminVerb } from './connect.ts';

const listProjects = adminVerb('adminListProjects', {
  words: (answer, context) =>
    listed(context, answer.projects, 'There are no projects.', {
      id: (one) => one.id,
      user: (one) => one.userId,
      'hosted driver': (one) => (one.hostedDriverEnabled ? 'on' : 'off'),
      'spend cap in cents': (one) => (one.spendCapCents === null ? 'none' : String(one.spendCapCents)),
      name: (one) => oneLine(one.name, 60),
    }),
});

const fields = {
  id: (input: Input) => word(input, 'project'),
  hostedDriverEnabled: (input: Input) => onOrOff(input, 'hostedDriver', '--hosted-driver'),
  spendCapCents: (input: Input) => centsOrNone(input, 'spendCapCents', '--spend-cap-cents'),
};

function inWords(answer: AdminProject | { dryRun: true; plan: Record<string, unknown> }): string {
  return 'dryRun' in answer ? `Would become: ${line(answer.plan as unknown as AdminProject)}` : line(answer);
}

export const projects = byAction({
  ls: listProjects,
  create: adminVerb('adminCreateProject', { fields: { ...fields, userId: 'user' }, words: inWords }),
  set: adminVerb('adminChangeProject', { fields, words: inWords }),
});

function line({ id, name, userId, hostedDriverEnabled, spendCapCents }: AdminProject): string {
  const cap = spendCapCents === null ? 'no spend cap' : `a spend cap of ${spendCapCents} cents`;
  const title = name === id ? id : `${id} (${oneLine(name, 60)})`;
  return `${title} of ${userId}: hosted driver ${hostedDriverEnabled ? 'on' : 'off'}, ${cap}.`;
}

const listPrices = adminVerb('adminListPrices', {
  words: (answer, context) =>
    listed(context, answer.prices, 'No price is set.', {
      name: (one) => one.name,
      cents: (one) => String(one.cents),
      'set at': (one) => one.updatedAt,
    }),
});

function priceOf(input: Input): number {
  const given = word(input, 'cents');
  if (/^\d{1,9}(\.\d{1,6})?$/.test(given)) return Number(given);
  const fact = `${JSON.stringify(given)} is not a price.`;
  throw new AppError('usage', fact, 'Give cents, such as 2.5; six decimals at most.');
}

const setPrice = adminVerb('adminSetPrice', {
  fields: { name: (input) => word(input, 'name'), cents: priceOf },
  words: (answer, _context, input) => {
    const name = word(input, 'name');
    return 'dryRun' in answer
      ? `Would set ${name} to ${word(input, 'cents')} cents.`
      : `${name} costs ${answer.cents} cents.`;
  },
});

export const prices = byAction({ ls: listPrices, set: setPrice });

function onOrOff(input: Input, name: string, option: string): boolean | undefined {
  const value = optionalText(input, name);
  if (value === undefined) return undefined;
  if (value === 'on' || value === 'off') return value === 'on';
  throw new AppError('usage', `${option} is ${JSON.stringify(value)}.`, 'Give on or off.');
}

function centsOrNone(input: Input, name: string, option: string): number | null | undefined {
  const value = optionalText(input, name);
  if (value === undefined) return undefined;
  if (value === 'none') return null;
  if (/^\d{1,12}$/.test(value)) return Number(value);
  throw new AppError('usage', `${option} is ${JSON.stringify(value)}.`, 'Give whole cents, or none.');
}
