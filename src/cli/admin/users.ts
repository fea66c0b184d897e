/** `gantry admin users`: people of a Gantry, their plans, and shutting them out. */
import { AppError } from '../../contracts/common/errors.ts';
import type { AdminUser } from '../../contracts/identity/admin.ts';
import { type Plan, plans } from '../../contracts/identity/plan.ts';
import { type Action, type Context, flag, type Input } from '../command.ts';
import { facts, table } from '../table.ts';
import { clockTime, oneLine } from '../words.ts';
import { actionOf, word } from './action.ts';
import { type AdminClient, connectAdmin } from './connect.ts';

const actions = ['ls', 'show', 'plan', 'disable', 'enable'] as const;

export const users: Action = async (context, input) => {
  const action = actionOf(input, actions);
  const admin = connectAdmin(context, input);
  if (action === 'ls') return list(context, admin);
  const id = word(input, 'user');
  if (action === 'show') return show(context, admin, id);
  if (action === 'plan') return change(context, admin, input, id, { plan: planOf(word(input, 'plan')) });
  return change(context, admin, input, id, { disabled: action === 'disable' });
};

async function list(context: Context, admin: AdminClient): Promise<undefined> {
  const answer = await admin.adminListUsers();
  context.output.result(answer, () => {
    if (answer.users.length === 0) return 'Nobody has signed in yet.';
    const rows = answer.users.map((user) => [
      user.id,
      oneLine(user.name, 40),
      user.email ?? '',
      user.plan,
      state(user),
    ]);
    return table(['id', 'name', 'mail', 'plan', 'state'], rows, context.terminal.stdout.columns ?? 0);
  });
  return undefined;
}

async function show(context: Context, admin: AdminClient, id: string): Promise<undefined> {
  const answer = await admin.adminGetUser({ params: { id } });
  const { user, sessions, keys } = answer;
  context.output.result(answer, () =>
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
  );
  return undefined;
}

async function change(
  context: Context,
  admin: AdminClient,
  input: Input,
  id: string,
  what: { plan?: Plan; disabled?: boolean },
): Promise<undefined> {
  const dryRun = flag(input, 'dryRun') || undefined;
  const answer = await admin.adminChangeUser({ params: { id }, body: { ...what, dryRun } });
  context.output.result(answer, () => {
    if ('dryRun' in answer)
      return `Would set ${id} to plan ${answer.plan.plan}, ${answer.plan.disabled ? 'disabled' : 'enabled'}.`;
    return `${oneLine(answer.name, 200)} has the plan ${answer.plan} and is ${answer.disabledAt === null ? 'enabled' : 'disabled'}.`;
  });
  return undefined;
}

function planOf(given: string): Plan {
  const plan = plans.find((name) => name === given);
  if (plan !== undefined) return plan;
  throw new AppError('usage', `There is no plan ${JSON.stringify(given)}.`, `Use one of: ${plans.join(', ')}.`);
}

function state(user: AdminUser): string {
  return user.disabledAt === null ? 'enabled' : `disabled since ${clockTime(user.disabledAt)}`;
}
