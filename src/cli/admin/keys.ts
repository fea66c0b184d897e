/** `gantry admin keys`: API keys of everybody; how the first key with the scope admin comes into the world. */
import { AppError } from '../../contracts/common/errors.ts';
import { type Scope, scopes } from '../../contracts/common/route.ts';
import type { AdminKey } from '../../contracts/identity/admin.ts';
import { type Action, type Context, flag, type Input, integer, optionalText, text, words } from '../command.ts';
import { table } from '../table.ts';
import { oneLine } from '../words.ts';
import { actionOf, word } from './action.ts';
import { type AdminClient, connectAdmin } from './connect.ts';

const longestLife = 3650;

export const keys: Action = async (context, input) => {
  const action = actionOf(input, ['ls', 'create', 'revoke'] as const);
  const admin = connectAdmin(context, input);
  if (action === 'ls') return list(context, input, admin);
  if (action === 'create') return create(context, input, admin);
  const id = word(input, 'key');
  const answer = await admin.adminRevokeKey({ params: { id }, query: flag(input, 'dryRun') ? { dryRun: '1' } : {} });
  context.output.result(answer, () =>
    'dryRun' in answer ? `Would revoke ${id} (${answer.plan.name}).` : `Revoked ${id} (${answer.name}).`,
  );
  return undefined;
};

async function list(context: Context, input: Input, admin: AdminClient): Promise<undefined> {
  const user = optionalText(input, 'user');
  const answer = await admin.adminListKeys({ query: user === undefined ? {} : { user } });
  context.output.result(answer, () => {
    if (answer.keys.length === 0) return 'There are no keys.';
    const now = context.now();
    const rows = answer.keys.map((key) => [
      key.id,
      key.userId,
      `${key.prefix}…`,
      state(key, now),
      key.lastUsedAt ?? 'never used',
      key.scopes.join(' ') + (key.resource === null ? '' : ` at ${key.resource} alone`),
      oneLine(key.name, 40),
    ]);
    const head = ['id', 'user', 'begins', 'state', 'last used', 'scopes', 'name'];
    return table(head, rows, context.terminal.stdout.columns ?? 0);
  });
  return undefined;
}

async function create(context: Context, input: Input, admin: AdminClient): Promise<undefined> {
  const body = {
    userId: text(input, 'user'),
    name: text(input, 'name'),
    scopes: words(input, 'scope').map(scopeOf),
    expiresInDays: integer(input, 'days', 1, longestLife),
    dryRun: flag(input, 'dryRun') || undefined,
  };
  if (body.scopes.length === 0) throw new AppError('usage', '--scope is missing.', `Use: ${scopes.join(', ')}.`);
  const answer = await admin.adminCreateKey({ body });
  context.output.result(answer, () => {
    if ('dryRun' in answer) return `Would make a key of ${body.userId} with ${body.scopes.join(' ')}.`;
    return `${answer.secret}\n\nThis is the key ${answer.key.id}. It is not shown again.`;
  });
  return undefined;
}

function scopeOf(given: string): Scope {
  const scope = scopes.find((name) => name === given);
  if (scope !== undefined) return scope;
  throw new AppError('usage', `There is no scope ${JSON.stringify(given)}.`, `Use: ${scopes.join(', ')}.`);
}

function state({ revokedAt, expiresAt }: AdminKey, now: number): string {
  if (revokedAt !== null) return `revoked ${revokedAt}`;
  if (expiresAt === null) return 'live';
  return Date.parse(expiresAt) <= now ? `ended ${expiresAt}` : `live until ${expiresAt}`;
}
