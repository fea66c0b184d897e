/** `gantry admin users`: a Gantry's people, their plans, and disabling their accounts. */
import { AppError } from '../../contracts/common/errors.ts';
import type { AdminUser } from '../../contracts/identity/admin.ts';
import { type Plan, plans } from '../../contracts/identity/plan.ts';
import type { Action, Input } from '../command.ts';
import { facts, listed } from '../table.ts';
import { clockTime, oneLine } from '../words.ts';
import { byAction, word } from './action.ts';
import { adminVerb } from './connect.ts';

const idOf = (input: Input) => word(input, 'user');

const ls = adminVerb('adminListUsers', {
  words: (answer, context) =>
    listed(context, answer.users, 'Nobody has signed in yet.', {
      id: (user) => user.id,
      name: (user) => oneLine(user.name, 40),
      mail: (user) => user.email ?? '',
      plan: (user) => user.plan,
      state,
    }),
});

const show = adminVerb('adminGetUser', {
  fields: { id: idOf },
  words: ({ user, sessions, keys }) =>
    facts([
      ['id', user.id],
      ['name', oneLine(user.name, 200)],
      ['mail', user.email],
      ['plan', user.plan],
      ['state', state(user)],
      ['signed in with', `${user.issuer} as ${oneLine(user.subject, 200)}`],
      ['since', user.createdAt],
      ['sign-ins', String(sessions)],
      ['keys', String(keys)],
    ]),
});

function change(plan: (input: Input) => Plan | undefined, disabled?: boolean): Action {
  return adminVerb('adminChangeUser', {
    fields: { id: idOf, plan, disabled: () => disabled },
    words: (answer, _context, input) =>
      'dryRun' in answer
        ? `Would set ${idOf(input)} to plan ${answer.plan.plan}, ${answer.plan.disabled ? 'disabled' : 'enabled'}.`
        : `${oneLine(answer.name, 200)} has the plan ${answer.plan} and is ${answer.disabledAt === null ? 'enabled' : 'disabled'}.`,
  });
}

const same = () => undefined;

export const users = byAction({
  ls,
  show,
  plan: change((input) => planOf(word(input, 'plan'))),
  disable: change(same, true),
  enable: change(same, false),
});

function planOf(given: string): Plan {
  const plan = plans.find((name) => name === given);
  if (plan !== undefined) return plan;
  throw new AppError('usage', `There is no plan ${JSON.stringify(given)}.`, `Use one of: ${plans.join(', ')}.`);
}

function state(user: AdminUser): string {
  return user.disabledAt === null ? 'enabled' : `disabled since ${clockTime(user.disabledAt)}`;
}
