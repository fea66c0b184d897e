/**
 * The ledger for people: query, verify against its chain and the exported heads, export. A bot reads only its own actions. Everything runs in
 * slices: memory stays bounded and the event loop free, however long the history is. Owns no table; what rows mean is in `ledger-names.ts`.
 */
import { constants } from 'node:fs';
import { open, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { AppError } from '../../contracts/common/errors.ts';
import type { OnProgress } from '../../contracts/common/work-progress.ts';
import type { LedgerExport, LedgerRow, LedgerVerdict } from '../../contracts/factory/work-engine/ledger.ts';
import * as table from '../../contracts/factory/work-engine/ledger.ts';
import { iso } from '../../kit/clock/clock.ts';
import { ownFolder, toldAside } from '../../kit/files/within.ts';
import { bind } from '../../kit/http/types.ts';
import type { FoundRow, Ledger } from '../../kit/ledger/ledger.ts';
import type { Actor } from '../base/actor.ts';
import { decodeCursor, defaultLimit, encodeCursor, idCursor, page } from '../base/paging.ts';
import type { ProgressBook } from '../base/progress.ts';
import type { EnginePart, EnginePartDeps } from '../parties/part.ts';
import { type Caller, owner } from '../parties/parties.ts';
import { addHead, readHeads } from './ledger-heads.ts';
import { namesOf } from './ledger-names.ts';

const batch = 1000;
const maxTypes = 20;
/** The workspace may have a link or a pipe of any name. */
const creating = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);
const draftName = /^ledger-\d+-\d+\.jsonl\.tmp_\w+$/;
const mend =
  'Nothing was changed or removed by this check. Keep a copy of runtime.db; an export or a backup shows what the row said.';

interface Query {
  readonly type?: string;
  readonly subject?: string;
  readonly actor?: string;
  readonly after?: string;
  readonly before?: string;
  readonly limit?: number;
  readonly cursor?: string;
}

export function createLedgerPart({
  ledger,
  store,
  clock,
  ids,
  log,
  workspace,
  parties,
  progress,
}: EnginePartDeps & { readonly progress: ProgressBook }): EnginePart {
  const folder = join(workspace, '.gantry', 'ledger');
  const headsFile = join(folder, 'heads.jsonl');

  async function query(asked: Query, caller: Caller) {
    const limit = asked.limit ?? defaultLimit;
    const types = asked.type === undefined ? undefined : [...new Set(asked.type.split(',').map((one) => one.trim()))];
    if (types !== undefined && types.length > maxTypes) {
      throw new AppError('usage', `${types.length} types were requested.`, `Give at most ${maxTypes}.`);
    }
    const order = asked.after !== undefined && asked.before === undefined ? 'ascending' : 'descending';
    const from = decodeCursor(asked.cursor, rowCursor);
    const rows = await ledger.query({
      types,
      subject: asked.subject,
      actor: actorOf(asked, caller),
      after: order === 'ascending' ? (from ?? asked.after) : asked.after,
      before: order === 'descending' ? (from ?? asked.before) : asked.before,
      order,
      limit: limit + 1,
    });
    const { shown, nextCursor } = page(rows, limit, (last) => encodeCursor(last.id));
    const wired = await store.read((tx) => shown.map((row) => wire(row, namesOf(tx, row, parties))));
    return { rows: wired, head: await ledger.head(), nextCursor };
  }

  /** A bot gets only its own rows. */
  function actorOf(asked: Query, caller: Caller): string | undefined {
    const actor = asked.actor === undefined || asked.actor === owner ? asked.actor : idOf(asked.actor);
    if (caller.bot === null) return actor === owner ? caller.actor.actor : actor;
    if (actor === undefined || actor === caller.id) return caller.id;
    throw new AppError('refused', 'A bot can read only its own actions.', 'Leave `actor` out.');
  }

  /** A bot may be named by its address; users and `engine` are used as they are. */
  function idOf(actor: string): string {
    return actor.includes('@') ? parties.bot(actor).id : actor;
  }

  let running: Promise<LedgerVerdict> | null = null;
  let next: Promise<LedgerVerdict> | null = null;
  /** Everybody who waits for a check and asks how far it is: also who waits for the next one. */
  const watching = new Set<OnProgress>();
  /** One check at a time. Callers during one share the next: it must see the current state. */
  function verify(): Promise<LedgerVerdict> {
    if (running === null) {
      running = check().finally(() => {
        running = null;
      });
      return running;
    }
    next ??= running
      .then(
        () => {},
        () => {},
      )
      .then(() => {
        next = null;
        return verify();
      });
    return next;
  }

  async function check(): Promise<LedgerVerdict> {
    const engine = ledger.engineId;
    const verdict = await ledger.verify((done, total) => {
      for (const tell of watching) tell({ what: 'Checking the ledger', done, total, unit: 'rows' });
    });
    if (!verdict.ok) return { ...verdict, engine, action: mend };
    const { rows } = verdict;
    const read = await readHeads(headsFile, engine);
    const broken = (id: string, problem: 'removed' | 'rewritten', fact: string, action = mend): LedgerVerdict => ({
      ok: false,
      engine,
      rows,
      id,
      problem,
      fact,
      action,
    });
    if (!read.ok) {
      const fact = `The chain is intact, but line ${read.line} of ${headsFile} is not an exported head.`;
      return broken(verdict.head.id, 'rewritten', fact, `Find out who changed it, then fix or delete ${headsFile}.`);
    }
    for (const [index, head] of read.heads.entries()) {
      const hash = await ledger.hashOf(head.id);
      if (hash === null) {
        const fact = `Row ${head.id}, exported at ${head.at}, is missing; the ledger ends at ${verdict.head.id}.`;
        return broken(head.id, 'removed', fact);
      }
      if (hash !== head.hash) {
        const fact = `Row ${head.id} is not the one that was exported at ${head.at}: the chain was rewritten.`;
        return broken(head.id, 'rewritten', fact);
      }
      if (index % batch === batch - 1) await turn();
    }
    return { ok: true, engine, rows, head: verdict.head, heads: read.heads.length };
  }

  async function headNow(): Promise<{ id: string; hash: string }> {
    const id = await ledger.head();
    return { id, hash: (await ledger.hashOf(id)) ?? '' };
  }

  /** Exports are written one after the other, so that a draft that is found was left by a process that died. */
  let written: Promise<unknown> = Promise.resolve();
  function exportTo(after: string | null, dry: boolean, by: Actor): Promise<LedgerExport> {
    const mine = written.then(() => exportNow(after, dry, by));
    written = mine.catch(() => {});
    return mine;
  }

  async function exportNow(after: string | null, dry: boolean, by: Actor): Promise<LedgerExport> {
    const head = await headNow();
    const first = after === null ? 0 : Number(after) + 1;
    const file = join(folder, `ledger-${first}-${head.id}.jsonl`);
    const told = { file, headsFile, head };
    if (dry) return { dryRun: true, ...told, rows: Math.max(0, Number(head.id) - first + 1) };
    ownFolder(workspace, join('.gantry', 'ledger'), toldAside(log));
    for (const name of await readdir(folder)) {
      if (draftName.test(name)) await rm(join(folder, name), { force: true });
    }
    const draft = `${file}.${ids.next('tmp')}`;
    const handle = await open(draft, creating, 0o600);
    let rows = 0;
    try {
      for await (const lines of exportLines(ledger, after, head.id)) {
        await handle.appendFile(lines.text);
        rows += lines.rows;
      }
      await handle.sync();
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    } finally {
      await handle.close();
    }
    await rename(draft, file);
    await addHead(headsFile, { engine: ledger.engineId, ...head, at: iso(clock.now()) });
    await store.write((tx) =>
      ledger.append(tx, { type: 'ledger.exported', ...by, subject: 'ledger', body: { v: 1, ...head, rows } }),
    );
    return { ...told, rows };
  }

  return {
    owners: {},
    routes: [
      bind(table.queryLedger, async ({ query: asked, principal }) => ({
        body: await query(asked, parties.caller(principal)),
      })),
      bind(table.verifyLedger, async (asked) => ({
        body: await progress.follow(asked, async (onProgress) => {
          if (onProgress === undefined) return verify();
          watching.add(onProgress);
          return verify().finally(() => watching.delete(onProgress));
        }),
      })),
      bind(table.downloadLedger, async ({ query: { after }, response, signal }) => {
        const head = await headNow();
        response.writeHead(200, {
          'content-type': 'application/x-ndjson; charset=utf-8',
          'content-disposition': `attachment; filename="ledger-${head.id}.jsonl"`,
        });
        for await (const { text } of exportLines(ledger, after ?? null, head.id)) {
          if (signal.aborted) return;
          if (!response.write(text)) await drained(response, signal);
        }
        response.end();
      }),
      bind(table.exportLedger, async ({ body, principal }) => {
        const { actor } = parties.caller(principal);
        return { body: await exportTo(body.after ?? null, body.dryRun === true, actor) };
      }),
    ],
  };
}

function wire(row: FoundRow, names: LedgerRow['names']): LedgerRow {
  const { id, at, type, actor, surface, subject, body, hash } = row;
  return { id, at, type, actor, surface, subject, body, hash, ...(names === undefined ? {} : { names }) };
}

function rowCursor(parts: unknown): string | null {
  const id = idCursor(parts);
  return id !== null && /^(0|[1-9]\d{0,15})$/.test(id) ? id : null;
}

/** First a line about the ledger, then each row as it is hashed, last how many there were. Up to the head of the beginning. */
async function* exportLines(ledger: Ledger, after: string | null, end: string) {
  const first = { v: 1, engine: ledger.engineId, after };
  let rows = 0;
  let from = after === null ? null : Number(after);
  yield { text: `${JSON.stringify(first)}\n`, rows: 0 };
  while (true) {
    const read = await ledger.stored(from, batch);
    const stored = read.filter((row) => row.seq <= Number(end));
    if (stored.length > 0) {
      rows += stored.length;
      yield { text: stored.map((row) => `${JSON.stringify(row)}\n`).join(''), rows: stored.length };
    }
    const last = read.at(-1);
    if (last === undefined || stored.length < batch) break;
    from = last.seq;
    await turn();
  }
  yield { text: `${JSON.stringify({ end: true, rows, head: end })}\n`, rows: 0 };
}

/** Until the reader has caught up, or left. */
function drained(
  response: { once(event: 'drain' | 'close', then: () => void): unknown },
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve) => {
    response.once('drain', resolve);
    response.once('close', resolve);
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
