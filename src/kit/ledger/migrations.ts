/** Tables of the ledger. `ledger_head` is separate from the chain so that rows missing at its end are noticed, too. */
import type { Migration } from '../store/store.ts';

export const ledgerMigrations: readonly Migration[] = [
  {
    area: 'ledger',
    number: 1,
    name: 'ledger',
    sql: `
      CREATE TABLE ledger (
        seq INTEGER PRIMARY KEY,
        at INTEGER NOT NULL,
        actor TEXT NOT NULL,
        surface TEXT NOT NULL,
        type TEXT NOT NULL,
        subject TEXT NOT NULL,
        idem_key TEXT,
        body TEXT NOT NULL,
        prev_hash TEXT NOT NULL,
        hash TEXT NOT NULL
      ) STRICT;
      CREATE UNIQUE INDEX ledger_idem_key ON ledger (idem_key) WHERE idem_key IS NOT NULL;
      CREATE INDEX ledger_type ON ledger (type, seq);
      CREATE TABLE ledger_head (one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL, hash TEXT NOT NULL) STRICT;
      CREATE TRIGGER ledger_extends BEFORE INSERT ON ledger
        WHEN EXISTS (SELECT 1 FROM ledger_head WHERE seq <> NEW.seq - 1 OR hash <> NEW.prev_hash)
        BEGIN SELECT RAISE(ABORT, 'the ledger only grows at its end'); END;
      CREATE TRIGGER ledger_grown AFTER INSERT ON ledger
        BEGIN INSERT INTO ledger_head VALUES (1, NEW.seq, NEW.hash)
          ON CONFLICT (one) DO UPDATE SET seq = NEW.seq, hash = NEW.hash; END;
      CREATE TRIGGER ledger_unchanged BEFORE UPDATE ON ledger
        BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
      CREATE TRIGGER ledger_kept BEFORE DELETE ON ledger
        BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
    `,
  },
  {
    area: 'ledger',
    number: 2,
    name: 'found by subject and by actor',
    sql: `
      CREATE INDEX ledger_subject ON ledger (subject, seq);
      CREATE INDEX ledger_actor ON ledger (actor, seq);
    `,
  },
];
