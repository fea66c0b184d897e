/**
 * Tokens of bots: weaker than their owner's, one for each agent, valid for as long as its pane, so that a bot misled by what it reads cannot act as
 * its owner. Stored as hashes, so that bots survive a restart of the runtime. First user: the factory. Must not know agents or panes.
 */
import { hash } from 'node:crypto';
import type { Scope } from '../../contracts/common/route.ts';
import { newToken } from '../secrets/token-file.ts';
import type { Migration, Store } from '../store/store.ts';
import { bearerOf } from './principals.ts';
import type { Authenticator, Principal } from './types.ts';

export const botTokenMigrations: readonly Migration[] = [
  {
    area: 'bot-tokens',
    number: 1,
    name: 'bot tokens',
    sql: `
CREATE TABLE bot_tokens (
  agent_id TEXT PRIMARY KEY,
  user_id TEXT NOT NULL,
  digest TEXT NOT NULL UNIQUE,
  minted_at INTEGER NOT NULL
) STRICT;
`,
  },
];

interface BotTokens {
  /** A new token for this agent; its former one is void once this resolves. */
  mint(agentId: string): Promise<string>;
  /** Voids the agent's token. Idempotent. */
  revoke(agentId: string): Promise<void>;
  readonly authenticator: Authenticator;
}

/** The scopes a bot may have; the route table's `auth` decides which routes it reaches. */
const botScopes: ReadonlySet<Scope> = new Set(['agents:read', 'bots:act']);
const prefix = 'gbot_';

interface TokenRow {
  agent_id: string;
  user_id: string;
  digest: string;
}

export async function createBotTokens({
  store,
  clock,
  userId,
  random,
}: {
  readonly store: Store;
  readonly clock: { now(): number };
  readonly userId: string;
  readonly random?: (bytes: number) => Buffer;
}): Promise<BotTokens> {
  const bots = new Map<string, Principal>();
  const digests = new Map<string, string>();
  const know = (agentId: string, user: string, digest: string) => {
    forget(agentId);
    bots.set(digest, { kind: 'bot', userId: user, scopes: botScopes, via: 'bot-token', agentId });
    digests.set(agentId, digest);
  };
  const forget = (agentId: string) => {
    const digest = digests.get(agentId);
    if (digest !== undefined) bots.delete(digest);
    digests.delete(agentId);
  };
  const rows = await store.read((tx) => tx.all<TokenRow>('SELECT agent_id, user_id, digest FROM bot_tokens'));
  for (const row of rows) know(row.agent_id, row.user_id, row.digest);

  return {
    async mint(agentId) {
      const token = prefix + newToken(random);
      const digest = hash('sha256', token, 'base64url');
      await store.write((tx) =>
        tx.run(
          'INSERT OR REPLACE INTO bot_tokens (agent_id, user_id, digest, minted_at) VALUES (?, ?, ?, ?)',
          agentId,
          userId,
          digest,
          clock.now(),
        ),
      );
      know(agentId, userId, digest);
      return token;
    },
    async revoke(agentId) {
      forget(agentId);
      await store.write((tx) => tx.run('DELETE FROM bot_tokens WHERE agent_id = ?', agentId));
    },
    authenticator: {
      name: 'bot-token',
      authenticate(request) {
        const bearer = bearerOf(request);
        if (bearer === null || !bearer.startsWith(prefix)) return null;
        // Looked up by its digest: nothing secret is compared byte by byte.
        return bots.get(hash('sha256', bearer, 'base64url')) ?? null;
      },
    },
  };
}
