/** Spans that outlive the operation that began them. Times are milliseconds since the epoch. */
import type { Migration } from '../store/store.ts';

export const traceMigrations: readonly Migration[] = [
  {
    area: 'traces',
    number: 1,
    name: 'spans of runs, steps and approvals',
    // `own` and `parent` are `traceparent` headers. Once `ended_at` is set the span has been sent; later work may still name it.
    sql: `
CREATE TABLE trace_span (
  subject TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  own TEXT NOT NULL,
  parent TEXT,
  began_at INTEGER NOT NULL,
  ended_at INTEGER
) STRICT, WITHOUT ROWID;
`,
  },
  {
    area: 'traces',
    number: 2,
    name: 'spans by age',
    sql: 'CREATE INDEX trace_span_began ON trace_span (began_at);',
  },
];
