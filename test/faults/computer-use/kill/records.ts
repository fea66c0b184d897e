/** What the runtime's database says of clicks: its audit, and what runs told of themselves. Must not know what is wrong with it. */
import Database from 'better-sqlite3';
import { columns } from './site.ts';
import type { AuditedClick } from './verdicts.ts';

/** Every click that the audit says may have been done. */
export function readAudit(file: string): AuditedClick[] {
  const sql = `SELECT holder_id AS holder, turn_id AS turn, input, outcome FROM computer_use_action
    WHERE member = 'left_click' AND stage = 'action'`;
  return all<{ holder: string; turn: string | null; input: string; outcome: string }>(file, sql).map(
    ({ holder, turn, input, outcome }) => {
      const { x, y } = (JSON.parse(input) as { target: { x: number; y: number } }).target;
      const [column, row] = [x, y].map((at) => (at - 30) / 60) as [number, number];
      return { run: holder.startsWith('run_') ? holder : String(turn), button: row * columns + column, outcome };
    },
  );
}

/** `<run> <button>` of clicks that an event of their run calls done. A run opens its page first, then clicks the buttons in order. */
export function clicksToldByRuns(file: string): string[] {
  const sql = `SELECT run_id AS run, data FROM computer_use_event WHERE type = 'action.completed'`;
  return all<{ run: string; data: string }>(file, sql).flatMap(({ run, data }) => {
    const { member, call_index } = JSON.parse(data) as { member: string; call_index: number };
    return member === 'left_click' ? [`${run} ${call_index - 1}`] : [];
  });
}

function all<Row>(file: string, sql: string): Row[] {
  const database = new Database(file, { readonly: true });
  try {
    return database.prepare<[], Row>(sql).all();
  } finally {
    database.close();
  }
}
