import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import type { LedgerExport, LedgerRow, LedgerVerdict } from '../../../src/contracts/factory/work-engine/ledger.ts';
import { ledgerSentence } from '../../../src/contracts/factory/work-engine/ledger-words.ts';
import { rowHash, type StoredRow } from '../../../src/kit/ledger/chain.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { type Engine, ownerToken, startEngine } from '../engine.ts';
import { startShells } from '../shells.ts';

interface Page {
  readonly rows: LedgerRow[];
  readonly head: string;
  readonly nextCursor: string | null;
}
const query = (engine: Engine, search = '', token = ownerToken) =>
  engine.call<Page>('GET', `/ledger${search}`, undefined, { token });
const verify = async (engine: Engine) => (await engine.call<LedgerVerdict>('GET', '/ledger/verify')).body;
const note = (engine: Engine, text: string) => engine.call('POST', '/threads', { title: text });

/** As somebody with a SQLite shell would. */
function edit(engine: Engine, change: (database: Database.Database) => void): void {
  const database = new Database(join(engine.home, 'runtime.db'));
  for (const name of database.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'").pluck().all()) {
    database.exec(`DROP TRIGGER ${name}`);
  }
  change(database);
  database.close();
}

test('rows are found by type, subject, actor and range, page by page in both directions; a bot finds its own alone', async () => {
  const engine = await startEngine();
  const team = await startShells(engine, 'a');
  const token = await engine.botToken(`a@${team}`);
  const { id: agentId } = await engine.agent(`a@${team}`);
  for (let n = 0; n < 5; n += 1) await note(engine, `thread ${n}`);
  await engine.call('POST', '/threads', { title: 'its own' }, { token });
  const all = (await query(engine, '?limit=200')).body;
  expect(all.rows.map((row) => Number(row.id))).toEqual([...all.rows.keys()].map((n) => Number(all.head) - n));
  expect(all.rows.at(-1)).toMatchObject({ id: '0', type: 'ledger.genesis', actor: 'engine' });
  const threads = (await query(engine, '?type=thread.created')).body.rows;
  expect(threads).toHaveLength(6);
  const subject = threads[0]?.subject ?? '';
  expect((await query(engine, `?subject=${subject}`)).body.rows.map((row) => row.subject)).toEqual([subject]);
  expect((await query(engine, `?subject=${subject}&type=none`)).body.rows).toEqual([]);
  expect((await query(engine, '?type=thread.created&actor=owner')).body.rows).toHaveLength(5);
  expect((await query(engine, `?actor=a@${team}`)).body.rows.map((row) => row.actor)).toEqual([agentId]);

  const walk = async (search: string) => {
    const ids: number[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const { body }: { body: Page } = await query(engine, `?limit=2&${search}${cursor && `&cursor=${cursor}`}`);
      ids.push(...body.rows.map((row) => Number(row.id)));
      cursor = body.nextCursor;
    }
    return ids;
  };
  const ids = threads.map((row) => Number(row.id));
  expect(await walk('type=thread.created')).toEqual(ids);
  expect(await walk('type=thread.created&after=0')).toEqual(ids.toReversed());
  expect(await walk(`type=thread.created,none&after=${ids[3]}&before=${ids[0]}`)).toEqual([ids[1], ids[2]]);
  expect(await walk(`type=${Array(30).fill('thread.created').join(',')}`)).toEqual(ids);

  expect((await query(engine, '', token)).body.rows.map((row) => row.actor)).toEqual([agentId]);
  expect((await query(engine, '?actor=owner', token)).status).toBe(403);
  expect((await engine.call('GET', '/ledger/verify', undefined, { token })).body).toMatchObject({ ok: true });
  expect((await engine.call('POST', '/ledger/export', {}, { token })).status).toBe(403);
  for (const bad of ['?after=x', '?before=-1', '?limit=0', '?cursor=zz', '?actor=nobody@none', '?x=1']) {
    expect([bad, (await query(engine, bad)).status].join()).toMatch(/,(400|404)$/);
  }
});

test('rows say what their ids stand for: who wrote to whom, the first words, titles; the ledger itself keeps no text', async () => {
  const engine = await startEngine();
  const team = await startShells(engine, 'a');
  const { id: agentId } = await engine.agent(`a@${team}`);
  const thread = (await engine.call<{ id: string }>('POST', '/threads', { title: 'The night build' })).body;
  await engine.call('POST', '/send', { to: `a@${team}`, text: 'true\nand more', threadId: thread.id });
  const sentences = async (type: string) => (await query(engine, `?type=${type}`)).body.rows.map(ledgerSentence);
  await expect.poll(() => sentences('delivery')).toContain(`You → a@${team}: true · verified by its hook`);
  expect(await sentences('delivery.accepted')).toEqual([`You → a@${team}: true · accepted`]);
  expect(await sentences('message.recorded')).toContain(`You → a@${team}: true · kept in the thread “The night build”`);
  expect(await sentences('thread.created')).toEqual(['Thread “The night build” was opened']);
  await engine.call('POST', '/mail', { to: `a@${team}`, subject: 'Hello', text: 'Hi' });
  const [mail] = (await query(engine, '?type=mail.sent')).body.rows;
  expect(mail).toMatchObject({ body: { to: agentId }, names: { from: 'owner', to: `a@${team}` } });
  const exported = (await engine.call<LedgerExport>('POST', '/ledger/export', {})).body;
  expect(readFileSync(exported.file, 'utf8')).not.toMatch(/The night build|and more|:\s*"true"/);
});

test('an export holds every row as it is hashed, and later checks compare with its head', async () => {
  const engine = await startEngine();
  await note(engine, 'one');
  const dry = (await engine.call<LedgerExport>('POST', '/ledger/export', { dryRun: true })).body;
  expect(existsSync(dry.file)).toBe(false);
  expect(await verify(engine)).toMatchObject({ ok: true, heads: 0 });
  const done = (await engine.call<LedgerExport>('POST', '/ledger/export', {})).body;
  expect({ ...done, dryRun: true }).toEqual(dry);
  const lines = readFileSync(done.file, 'utf8').trimEnd().split('\n');
  const [first, ...rest] = lines.map((line) => JSON.parse(line) as StoredRow & { engine?: string; end?: boolean });
  expect(first).toMatchObject({ engine: engine.ledger.engineId });
  expect(rest.pop()).toEqual({ end: true, rows: done.rows, head: done.head.id });
  expect(rest).toHaveLength(done.rows);
  for (const row of rest) expect(rowHash(row)).toBe(row.hash);
  expect(rest.at(-1)?.hash).toBe(done.head.hash);
  const response = await fetch(`${engine.url}/api/factory/ledger/export?after=0`, {
    headers: { authorization: `Bearer ${ownerToken}` },
  });
  expect(response.headers.get('content-disposition')).toContain('attachment');
  const streamed = (await response.text()).trimEnd().split('\n');
  expect(JSON.parse(streamed[1] ?? '')).toMatchObject({ seq: 1 });
  expect(await verify(engine)).toMatchObject({ ok: true, heads: 1 });

  // Written anew from the export on, with sound hashes: only the noted head tells.
  edit(engine, (database) => {
    const rows = database.prepare('SELECT * FROM ledger ORDER BY seq').all() as StoredRow[];
    let prev = rows[0]?.prev_hash ?? '';
    database.exec('DELETE FROM ledger');
    for (const row of rows) {
      const forged = { ...row, actor: row.seq === 1 ? 'mallory' : row.actor, prev_hash: prev };
      prev = rowHash(forged);
      const values = Object.values({ ...forged, hash: prev });
      database.prepare('INSERT INTO ledger VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)').run(...values);
    }
    database.prepare('UPDATE ledger_head SET hash = ?').run(prev);
  });
  const verdict = await verify(engine);
  expect(verdict).toMatchObject({ ok: false, problem: 'rewritten', id: done.head.id });
  writeFileSync(done.headsFile, 'no head\n');
  expect(await verify(engine)).toMatchObject({ ok: false, fact: expect.stringContaining('line 1') });
});

test('what an export left half written is gone with the next one, and what a person put beside it stays', async () => {
  const engine = await startEngine();
  const { file } = (await engine.call<LedgerExport>('POST', '/ledger/export', {})).body;
  const folder = dirname(file);
  writeFileSync(join(folder, 'ledger-0-7.jsonl.tmp_0123abcd'), 'half');
  writeFileSync(join(folder, 'ledger-0-7.jsonl.mine'), 'kept');
  const [one, other] = await Promise.all([
    engine.call<LedgerExport>('POST', '/ledger/export', {}),
    engine.call<LedgerExport>('POST', '/ledger/export', {}),
  ]);
  const exports = [file, one.body.file, other.body.file].map((path) => basename(path));
  const named = readdirSync(folder).filter((name) => name.startsWith('ledger-'));
  expect(new Set(named)).toEqual(new Set([...exports, 'ledger-0-7.jsonl.mine']));
});

test('an export is written through no link of the workspace: neither of its folder nor of its file before it is whole', async () => {
  const engine = await startEngine();
  await note(engine, 'one');
  const outside = scratchFolder();
  const notes = join(outside, 'notes.txt');
  writeFileSync(notes, 'of the person');
  const exported = async (body: object = {}) => (await engine.call<LedgerExport>('POST', '/ledger/export', body)).body;
  const { file } = await exported({ dryRun: true });
  const folder = dirname(file);
  mkdirSync(folder, { recursive: true });
  for (const name of [file, `${file}.new`]) symlinkSync(notes, name);
  expect(await exported()).toMatchObject({ file });
  expect(lstatSync(file).isFile()).toBe(true);
  expect(readFileSync(notes, 'utf8')).toBe('of the person');

  rmSync(folder, { recursive: true });
  symlinkSync(outside, folder);
  const again = await exported();
  expect(readFileSync(again.file, 'utf8')).toContain(again.head.hash);
  expect(lstatSync(folder).isDirectory()).toBe(true);
  expect(readdirSync(outside)).toEqual(['notes.txt']);
});

test('a damaged ledger is named, still read and still written; nothing is lost', async () => {
  const engine = await startEngine();
  for (let n = 0; n < 4; n += 1) await note(engine, `thread ${n}`);
  const before = (await query(engine)).body;
  edit(engine, (database) => database.exec(`UPDATE ledger SET body = 'torn', at = 9e18 WHERE seq = 2`));
  expect(await verify(engine)).toMatchObject({ ok: false, problem: 'changed', id: '2', rows: 2 });
  const rows = (await query(engine)).body.rows;
  expect(rows.filter((row) => row.body === null).map((row) => row.id)).toEqual(['2']);
  expect(rows).toHaveLength(before.rows.length);
  expect((await note(engine, 'still')).status).toBe(201);
  expect((await engine.ledger.read('0', 100)).map((row) => row.id)).not.toContain('2');
  await engine.restart();
  expect(await verify(engine)).toMatchObject({ ok: false, id: '2' });
  expect((await query(engine)).body.rows.length).toBeGreaterThan(before.rows.length);
});

test('a check of many rows lets others have their turn, and who asks during one gets a check of what stands then', async () => {
  const engine = await startEngine();
  const entry = { type: 'x', actor: 'engine', surface: 'engine', subject: 'x:1', body: { v: 1 } };
  await engine.store.write((tx) => {
    for (let n = 0; n < 30_000; n += 1) engine.ledger.append(tx, entry);
  });
  const order: string[] = [];
  const first = verify(engine).then((verdict) => order.push(`verified ${verdict.rows}`));
  const reads = Array.from({ length: 5 }, async () => {
    await engine.call('GET', '/health');
    order.push('read');
  });
  await note(engine, 'meanwhile');
  const [second, third] = await Promise.all([verify(engine), verify(engine)]);
  await Promise.all([first, ...reads]);
  expect(order.at(-1)).toMatch(/^verified/);
  expect(second).toMatchObject({ ok: true, rows: Number(await engine.ledger.head()) + 1 });
  expect(third).toEqual(second);
});
