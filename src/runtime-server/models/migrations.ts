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
  {
    area: 'models',
    number: 4,
    name: 'spend of a day',
    sql: `
CREATE TABLE model_spend_day (
  day INTEGER NOT NULL,
  agent_id TEXT NOT NULL,
  model TEXT NOT NULL,
  requests INTEGER NOT NULL,
  input INTEGER NOT NULL,
  output INTEGER NOT NULL,
  micro_usd INTEGER NOT NULL,
  unpriced INTEGER NOT NULL,
  PRIMARY KEY (day, agent_id, model)
) STRICT, WITHOUT ROWID;
INSERT INTO model_spend_day
  SELECT at / 86400000, agent_id, model, COUNT(*), SUM(input + cached_input + cache_write), SUM(output),
    COALESCE(SUM(micro_usd), 0), SUM(micro_usd IS NULL)
  FROM model_spend GROUP BY 1, 2, 3;
CREATE TRIGGER model_spend_counted AFTER INSERT ON model_spend
  BEGIN INSERT INTO model_spend_day
    VALUES (NEW.at / 86400000, NEW.agent_id, NEW.model, 1, NEW.input + NEW.cached_input + NEW.cache_write, NEW.output,
      COALESCE(NEW.micro_usd, 0), NEW.micro_usd IS NULL)
    ON CONFLICT (day, agent_id, model) DO UPDATE SET requests = requests + 1, input = input + excluded.input,
      output = output + excluded.output, micro_usd = micro_usd + excluded.micro_usd, unpriced = unpriced + excluded.unpriced;
  END;
`,
  },
  {
    area: 'models',
    number: 5,
    name: 'spend of an account',
    sql: `
ALTER TABLE model_spend ADD COLUMN account TEXT;
CREATE TABLE model_spend_account_day (
  day INTEGER NOT NULL,
  account TEXT NOT NULL,
  requests INTEGER NOT NULL,
  input INTEGER NOT NULL,
  output INTEGER NOT NULL,
  micro_usd INTEGER NOT NULL,
  unpriced INTEGER NOT NULL,
  PRIMARY KEY (day, account)
) STRICT, WITHOUT ROWID;
INSERT INTO model_spend_account_day
  SELECT day, '', SUM(requests), SUM(input), SUM(output), SUM(micro_usd), SUM(unpriced) FROM model_spend_day GROUP BY 1;
CREATE TRIGGER model_spend_account_counted AFTER INSERT ON model_spend
  BEGIN INSERT INTO model_spend_account_day
    VALUES (NEW.at / 86400000, COALESCE(NEW.account, ''), 1, NEW.input + NEW.cached_input + NEW.cache_write, NEW.output,
      COALESCE(NEW.micro_usd, 0), NEW.micro_usd IS NULL)
    ON CONFLICT (day, account) DO UPDATE SET requests = requests + 1, input = input + excluded.input,
      output = output + excluded.output, micro_usd = micro_usd + excluded.micro_usd, unpriced = unpriced + excluded.unpriced;
  END;
`,
  },
];
