/** `gantry admin keys`: everybody's API keys, and how the first key with the scope admin is created. */
import { AppError } from '../../contracts/common/errors.ts';
import { type Scope, scopes } from '../../contracts/common/route.ts';
import type { AdminKey } from '../../contracts/identity/admin.ts';
import { type Input, text, words } from '../command.ts';
import { listed } from '../table.ts';
import { toolsIn } from '../tools/new-key.ts';
import { oneLine } from '../words.ts';
import { byAction, word } from './action.ts';
import { adminVerb } from './connect.ts';

const ls = adminVerb('adminListKeys', {
  words: (answer, context) =>
    listed(context, answer.keys, 'There are no keys.', {
      id: (key) => key.id,
      user: (key) => key.userId,
      begins: (key) => `${key.prefix}…`,
      state: (key) => state(key, context.now()),
      'last used': (key) => key.lastUsedAt ?? 'never used',
      scopes: (key) => key.scopes.join(' ') + (key.resource === null ? '' : ` only at ${key.resource}`),
      tools: (key) => key.tools?.names.join(' ') ?? 'all',
      name: (key) => oneLine(key.name, 40),
    }),
});

const create = adminVerb('adminCreateKey', {
  fields: { userId: 'user', expiresInDays: 'days', scopes: scopesOf, tools: toolsIn },
  words: (answer, _context, input) =>
    'dryRun' in answer
      ? `Would make a key for ${text(input, 'user')} with ${words(input, 'scope').join(' ')}.`
      : `${answer.secret}\n\nThis is the key ${answer.key.id}. It is not shown again.`,
});

const revoke = adminVerb('adminRevokeKey', {
  fields: { id: (input) => word(input, 'key') },
  words: (answer, _context, input) => {
    const id = word(input, 'key');
    return 'dryRun' in answer ? `Would revoke ${id} (${answer.plan.name}).` : `Revoked ${id} (${answer.name}).`;
  },
});

export const keys = byAction({ ls, create, revoke });

function scopesOf(input: Input): Scope[] {
  const given = words(input, 'scope').map(scopeOf);
  if (given.length > 0) return given;
  throw new AppError('usage', '--scope is missing.', `Use: ${scopes.join(', ')}.`);
}

function scopeOf(given: string): Scope {
  const scope = scopes.find((name) => name === given);
  if (scope !== undefined) return scope;
  throw new AppError('usage', `There is no scope ${JSON.stringify(given)}.`, `Use: ${scopes.join(', ')}.`);
}

function state({ revokedAt, expiresAt }: AdminKey, now: number): string {
  if (revokedAt !== null) return `revoked ${revokedAt}`;
  if (expiresAt === null) return 'live';
  return Date.parse(expiresAt) <= now ? `expired ${expiresAt}` : `live until ${expiresAt}`;
}
