/** Costs of models, one row a request. Times are milliseconds since the epoch, costs millionths of a dollar; null: unknown. */
import type { Migration } from '../../kit/store/store.ts';

export const modelMigrations: readonly Migration[] = [
  {
    area: 'models',
    number: 1,
    name: 'spend',
    sql: `
CREATE TABLE model_spend (
  id TEXT PRIMARY KEY,
  at INTEGER NOT NULL,
  agent_id TEXT NOT NULL,
  run_id TEXT,
  wire TEXT NOT NULL,
  model TEXT NOT NULL,
  input INTEGER NOT NULL,
  cached_input INTEGER NOT NULL,
  cache_write INTEGER NOT NULL,
  output INTEGER NOT NULL,
  micro_usd INTEGER
) STRICT;
CREATE INDEX model_spend_agent ON model_spend (agent_id, at);
CREATE INDEX model_spend_at ON model_spend (at);
`,
  },
  {
    area: 'models',
    number: 2,
    name: 'spend of a run',
    sql: `
CREATE INDEX model_spend_run ON model_spend (run_id) WHERE run_id IS NOT NULL;
`,
  },
  {
    area: 'models',
    number: 3,
    name: 'kept keys and servers',
    sql: `
CREATE TABLE model_place (
  name TEXT PRIMARY KEY,
  wire TEXT NOT NULL CHECK (wire IN ('anthropic', 'openai', 'google')),
  base_url TEXT,
  key_sealed TEXT,
  at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
`,
  },
];
