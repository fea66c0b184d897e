/**
 * The one table of all lanes of a store, and which process sends from a lane if several share it. `sending` is set while the head is out: if a start
 * finds it set, the outcome is unknown.
 */
import type { Migration } from '../store/store.ts';

export const laneMigrations: readonly Migration[] = [
  {
    area: 'lane',
    number: 1,
    name: 'lanes',
    sql: `
      CREATE TABLE lane_item (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        lanes TEXT NOT NULL,
        lane TEXT NOT NULL,
        id TEXT NOT NULL,
        body TEXT NOT NULL,
        at INTEGER NOT NULL,
        deadline INTEGER,
        attempts INTEGER NOT NULL DEFAULT 0,
        sending INTEGER NOT NULL DEFAULT 0 CHECK (sending IN (0, 1)),
        not_before INTEGER NOT NULL DEFAULT 0,
        UNIQUE (lanes, id)
      ) STRICT;
      CREATE INDEX lane_order ON lane_item (lanes, lane, seq);
      CREATE INDEX lane_deadline ON lane_item (lanes, lane, deadline) WHERE deadline IS NOT NULL;
    `,
  },
  {
    area: 'lane',
    number: 2,
    name: 'interrupted heads',
    // Set once an attempt's outcome is unknown, and kept until the row is settled, even while it is held.
    sql: 'ALTER TABLE lane_item ADD COLUMN interrupted INTEGER NOT NULL DEFAULT 0 CHECK (interrupted IN (0, 1))',
  },
  {
    area: 'lane',
    number: 3,
    name: 'who sends of a lane',
    sql: `
      CREATE TABLE lane_hold (
        lanes TEXT NOT NULL,
        lane TEXT NOT NULL,
        holder TEXT NOT NULL,
        until INTEGER NOT NULL,
        PRIMARY KEY (lanes, lane)
      ) STRICT, WITHOUT ROWID;
    `,
  },
  {
    area: 'lane',
    number: 4,
    name: 'for whom',
    sql: 'ALTER TABLE lane_item ADD COLUMN person TEXT',
  },
  {
    area: 'lane',
    number: 5,
    name: 'part of which trace',
    // The `traceparent` of the span that appended it; null where nothing is traced.
    sql: 'ALTER TABLE lane_item ADD COLUMN trace TEXT',
  },
  {
    area: 'lane',
    number: 6,
    name: 'how long a head was to wait',
    // Of `not_before`: by it a clock is found that was wrong then.
    sql: 'ALTER TABLE lane_item ADD COLUMN wait_ms INTEGER NOT NULL DEFAULT 0',
  },
];
