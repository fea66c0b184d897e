/**
 * What opencode 1.18.33 keeps of a turn: rows of its database, as far as they are read. That it took a prompt, and what it asks, is said by the server
 * of the stand-in. Its screen is recorded in `test/data/tui/opencode`.
 */
import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { createWork, option } from './agent.mjs';

const session = option('--session') ?? `ses_${process.pid}`;
const data = process.env.XDG_DATA_HOME ?? join(homedir(), '.local', 'share');
const file = join(data, 'opencode', 'opencode.db');
mkdirSync(dirname(file), { recursive: true });
const database = new Database(file);
database.exec(
  `create table if not exists session (id text, parent_id text);
   create table if not exists message (id text, session_id text, data text, time_updated integer)`,
);
database
  .prepare('insert into session select ?, null where not exists (select 1 from session where id = ?)')
  .run(session, session);

export const work = createWork({
  session,
  begins() {},
  asks(turn) {
    const answered = turn.ask();
    globalThis.ask(`per_${randomUUID()}`);
    return answered;
  },
  ends() {
    const now = Date.now();
    const tokens = { input: 12, output: 3, reasoning: 0, cache: { read: 0, write: 0 } };
    const said = { role: 'assistant', modelID: 'fake-1', time: { created: now, completed: now }, tokens, cost: 0 };
    database.prepare('insert into message values (?, ?, ?, ?)').run(randomUUID(), session, JSON.stringify(said), now);
  },
});
