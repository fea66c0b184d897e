/**
 * Tokens of bots: weaker than their owner's, one for each agent, valid for as long as its pane, so that a bot misled by what it reads cannot act as
 * its owner. Stored as hashes, so that bots survive a restart of the runtime. First user: the factory. Must not know agents or panes.
 */
import { hash } from 'node:crypto';
import type { Scope } from '../../contracts/common/route.ts';
import { newToken } from '../secrets/token-file.ts';
import type { Migration, Store, Tx } from '../store/store.ts';
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
  {
    area: 'bot-tokens',
    number: 2,
    name: 'ended bot tokens',
    sql: `
CREATE TABLE bot_token_ended (
  digest TEXT PRIMARY KEY,
  agent_id TEXT NOT NULL,
  ended_at INTEGER NOT NULL
) STRICT;
CREATE INDEX bot_token_ended_agent ON bot_token_ended (agent_id);
`,
  },
];

/** What a bot wrote before its token ended is taken for so long. Milliseconds. */
const endedRetentionMs = 30 * 24 * 60 * 60_000;

interface BotTokens {
  /** A new token for this agent; its former one is void once this resolves. */
  mint(agentId: string): Promise<string>;
  /** Voids the agent's token. Idempotent. */
  revoke(agentId: string): Promise<void>;
  readonly authenticator: Authenticator;
  /** The keys that may have signed a report of this agent: its token's, and those of its tokens that ended. */
  spoolKeys(agentId: string): Promise<readonly string[]>;
  /** The agent as a caller, also after its token has ended. */
  principalOf(agentId: string): Principal;
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
  const principal = (agentId: string, user: string): Principal => {
    return { kind: 'bot', userId: user, scopes: botScopes, via: 'bot-token', agentId };
  };
  /** Its reports may still lie in its spool. */
  const keepEnded = (tx: Tx, agentId: string) => {
    tx.run('DELETE FROM bot_token_ended WHERE ended_at < ?', clock.now() - endedRetentionMs);
    tx.run(
      'INSERT OR REPLACE INTO bot_token_ended (digest, agent_id, ended_at) SELECT digest, agent_id, ? FROM bot_tokens WHERE agent_id = ?',
      clock.now(),
      agentId,
    );
  };
  const know = (agentId: string, user: string, digest: string) => {
    forget(agentId);
    bots.set(digest, principal(agentId, user));
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
      await store.write((tx) => {
        keepEnded(tx, agentId);
        tx.run(
          'INSERT OR REPLACE INTO bot_tokens (agent_id, user_id, digest, minted_at) VALUES (?, ?, ?, ?)',
          agentId,
          userId,
          digest,
          clock.now(),
        );
      });
      know(agentId, userId, digest);
      return token;
    },
    async revoke(agentId) {
      forget(agentId);
      await store.write((tx) => {
        keepEnded(tx, agentId);
        tx.run('DELETE FROM bot_tokens WHERE agent_id = ?', agentId);
      });
    },
    async spoolKeys(agentId) {
      const sql = `SELECT digest FROM bot_tokens WHERE agent_id = ?
        UNION ALL SELECT digest FROM bot_token_ended WHERE agent_id = ? AND ended_at >= ?`;
      const since = clock.now() - endedRetentionMs;
      const found = await store.read((tx) => tx.all<{ digest: string }>(sql, agentId, agentId, since));
      return found.map(({ digest }) => digest);
    },
    principalOf: (agentId) => principal(agentId, userId),
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
