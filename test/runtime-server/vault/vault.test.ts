import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import type { Secret } from '../../../src/contracts/factory/work-engine/vault.ts';
import { sharedEngine, waitFor } from '../engine.ts';
import { startShells } from '../shells.ts';

const shared = sharedEngine();
const canary = 'canary-7f3a-never-at-rest';
const set = (name: string, value: unknown, more = {}) =>
  shared.current.call<{ replaces: boolean; usedBy: string[] }>('PUT', `/vault/${name}`, { value, ...more });
const list = async () => (await shared.current.call<{ secrets: Secret[]; missing: unknown[] }>('GET', '/vault')).body;

/** Every byte below a folder that holds this text. */
function filesWith(folder: string, text: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((path) => join(folder, path))
    .filter((path) => statSync(path).isFile() && readFileSync(path).includes(text));
}

test('a bot gets the secrets that its team file names, in its environment alone', async () => {
  const engine = shared.current;
  engine.team('keyed', 'bots:\n  - {bot: k, harness: shell, env: {API_KEY: "vault:API_KEY", PLAIN: "vault-less"}}\n');
  const refused = await engine.call<{ error: { code: string; fact: string; action: string } }>(
    'POST',
    '/teams/keyed/up',
    {},
  );
  expect(refused.body.error).toMatchObject({
    code: 'usage',
    fact: expect.stringContaining('The vault has no secret "API_KEY"'),
    action: expect.stringContaining('gantry vault set API_KEY'),
  });
  expect(await list()).toMatchObject({ secrets: [], missing: [{ name: 'API_KEY', usedBy: ['k@keyed'] }] });
  const dry = await set('API_KEY', canary, { dryRun: true });
  expect(dry.body).toEqual({ dryRun: true, name: 'API_KEY', replaces: false, usedBy: ['k@keyed'] });
  expect((await list()).secrets).toEqual([]);
  expect((await set('API_KEY', canary)).body).toEqual({ name: 'API_KEY', replaces: false, usedBy: ['k@keyed'] });
  expect((await engine.call('POST', '/teams/keyed/up', { dryRun: true })).status).toBe(200);
  expect((await engine.call('POST', '/teams/keyed/up', {})).status).toBe(200);
  await engine.until('k@keyed', 'idle');
  // The pane shows a hash of what the program sees: the value itself never reaches a screen or a journal.
  const text = 'printf %s "$API_KEY $PLAIN" | cksum; echo that is all';
  await engine.call('POST', '/agents/k@keyed/input', { text, keys: ['Enter'] });
  const seen = await waitFor(
    () => engine.call<{ text: string }>('GET', '/agents/k@keyed/capture'),
    ({ body }) => /^that is all$/m.test(body.text),
  );
  expect(seen.body.text).toContain(cksum(`${canary} vault-less`));
  expect((await list()).secrets).toMatchObject([{ name: 'API_KEY', usedBy: ['k@keyed'] }]);
  expect(JSON.stringify(await list())).not.toContain(canary);

  const rows = await engine.ledger.read('0', 1000);
  expect(rows.filter((row) => row.type === 'vault.set').map((row) => row.body)).toEqual([{ v: 1, name: 'API_KEY' }]);
  expect(filesWith(engine.home, canary)).toEqual([]);
  expect(filesWith(engine.workspace, canary)).toEqual([]);
});

/** As the POSIX utility prints it. */
function cksum(text: string): string {
  const bytes = [...Buffer.from(text)];
  const feed = [...bytes];
  for (let length = bytes.length; length > 0; length = Math.floor(length / 256)) feed.push(length % 256);
  let crc = 0;
  for (const byte of feed) {
    crc ^= byte << 24;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 0x80000000 ? (crc << 1) ^ 0x04c11db7 : crc << 1;
  }
  return `${~crc >>> 0} ${bytes.length}`;
}

test('a bot cannot look into the vault or change it', async () => {
  const engine = shared.current;
  const team = await startShells(engine, 'a');
  const token = await engine.botToken(`a@${team}`);
  for (const [method, path, body] of [
    ['GET', '/vault', undefined],
    ['PUT', '/vault/X', { value: 'x' }],
    ['DELETE', '/vault/API_KEY', undefined],
  ] as const) {
    expect([path, (await engine.call(method, path, body, { token })).status]).toEqual([path, 403]);
  }
});

test('a secret moved to another name in the database does not open, and the team says so', async () => {
  const engine = shared.current;
  await set('MOVED', 'one');
  await set('OTHER', 'two');
  const database = new Database(join(engine.home, 'runtime.db'));
  database.exec(
    "UPDATE engine_secret SET sealed = (SELECT sealed FROM engine_secret WHERE name = 'OTHER') WHERE name = 'MOVED'",
  );
  database.close();
  engine.team('moved', 'bots:\n  - {bot: m, harness: shell, env: {X: "vault:MOVED"}}\n');
  const up = await engine.call<{ error: { fact: string } }>('POST', '/teams/moved/up', {});
  expect(up.status).toBe(400);
  expect(up.body.error.fact).toContain('cannot be opened');
  await set('MOVED', 'again');
  expect((await engine.call('POST', '/teams/moved/up', {})).status).toBe(200);
});

test('a name is forgotten once; names and values that cannot be are refused', async () => {
  const engine = shared.current;
  await set('GONE', 'x');
  expect((await set('GONE', 'y')).body.replaces).toBe(true);
  expect((await engine.call('DELETE', '/vault/GONE?dryRun=1')).body).toMatchObject({ dryRun: true });
  expect((await engine.call('DELETE', '/vault/GONE')).status).toBe(200);
  expect((await engine.call('DELETE', '/vault/GONE')).status).toBe(404);
  for (const name of ['1A', 'A-B', 'x'.repeat(65)]) expect((await set(name, 'v')).status).toBeGreaterThanOrEqual(400);
  for (const value of ['', 7, 'x'.repeat(65_537)]) expect((await set('A', value)).status).toBe(400);
});
