/**
 * What helps to find a fault and says nothing of its person, as one text that they can read before they send it: versions, checks, settings, counts
 * by state, outboxes, spools and the last lines of the logs. Works on a data folder whether Gantry runs there or not. Must not write, and sends
 * nothing.
 */
import { closeSync, existsSync, openSync, readdirSync, readFileSync, readSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseEnv } from 'node:util';
import type { DoctorCheck } from '../contracts/common/doctor-check.ts';
import { AppError } from '../contracts/common/errors.ts';
import { localUserId } from '../kit/http/principals.ts';
import { createSealer } from '../kit/secrets/sealer.ts';
import { openDiskReader } from '../kit/store/read-disk.ts';
import type { Op, SharedReader } from '../kit/store/shared-store.ts';
import { vaultValues } from '../runtime-server/vault/vault.ts';
import type { Places } from './places.ts';
import { readSettings } from './settings.ts';
import { anonymous, shortHash } from './support-anonymous.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** Of each log. */
const maxLines = 2_000;
const maxLogBytes = 2 * 1024 * 1024;
/** Different values of one column; there are fewer states in any table. */
const maxStates = 30;
/** Columns whose values are words of Gantry's own. */
const stateColumns = ['status', 'state', 'cause', 'outcome'];
const ownWord = /^[a-z][a-z_]{0,39}$/;
/** Variables whose value opens something. */
const telling = /key|token|secret|passw|credential|auth/i;

export function supportBundle(deps: {
  readonly places: Places;
  readonly env: Env;
  readonly version: string;
  readonly checks: readonly DoctorCheck[];
  readonly at: string;
  /** For the age of what waits. Milliseconds since the epoch. */
  readonly now: number;
}): string {
  const { places, env, version, at } = deps;
  const databases = [places.runtimeDb, places.cloudDb].filter((file) => existsSync(file));
  const sections: readonly [string, () => string[]][] = [
    ['Versions', () => versions(version)],
    ['Checks', () => checks(deps.checks)],
    ['Settings', () => settings(env)],
    ...databases.map((file): [string, () => string[]] => [`States in ${basename(file)}`, () => within(file, states)]),
    ...databases.map((file): [string, () => string[]] => [
      `Outboxes in ${basename(file)}`,
      () => within(file, (tx) => lanes(tx, deps.now)),
    ]),
    ['Spools', () => spools(places)],
    ...logsOf(places).map((file): [string, () => string[]] => [`Log ${basename(file)}`, () => logLines(file)]),
  ];
  const text = sections.map(([title, lines]) => `== ${title} ==\n${orWhy(lines).join('\n')}\n`).join('\n');
  const secrets = knownSecrets(places, env);
  return `Gantry support bundle, ${at}\nRead it before you send it to anybody. Gantry sent it nowhere.\n\n${anonymous(text, { secrets, home: env.HOME ?? null })}`;
}

/** A part that cannot be read says so: the fault that somebody looks for may be there. */
function orWhy(lines: () => string[]): string[] {
  try {
    const found = lines();
    return found.length === 0 ? ['none'] : found;
  } catch (error) {
    return [`could not be read: ${error instanceof AppError ? error.fact : (error as Error).message}`];
  }
}

function versions(version: string): string[] {
  const { platform, arch, versions: its } = process;
  return [`gantry ${version}`, `node ${its.node}, V8 ${its.v8}, Node-API ${its.napi}`, `${platform} ${arch}`];
}

function checks(found: readonly DoctorCheck[]): string[] {
  return found.map(({ state, group, name, version, detail }) =>
    [state, group, name, version ?? '-', detail].join(' | '),
  );
}

/** Values only where they are numbers: names of models, addresses and paths are their person's. */
function settings(env: Env): string[] {
  const { home: _, models, computerUse, panes, ...numbers } = readSettings(env);
  const named = Object.entries({ models, computerUse, panes }).map(
    ([name, value]) => `${name}: ${Object.keys(value).sort().join(', ') || 'none'}`,
  );
  const variables = Object.keys(env).filter((name) => name.startsWith('GANTRY_'));
  return [
    ...Object.entries(numbers).map(([name, { value, source }]) => `${name}: ${value} (${source})`),
    ...named,
    `variables that are set: ${variables.sort().join(', ') || 'none'}`,
  ];
}

function within(file: string, lines: (tx: SharedReader) => Op<string[]>): string[] {
  const reader = openDiskReader(file);
  try {
    return reader.read(lines);
  } finally {
    reader.close();
  }
}

/** How many rows each table has, and how many of them are in which state. */
function* states(tx: SharedReader): Op<string[]> {
  const lines: string[] = [];
  const tables = yield* tx.all<{ name: string }>(
    `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name`,
  );
  for (const { name: table } of tables) {
    const rows = yield* tx.get<{ rows: number }>(`SELECT count(*) AS rows FROM "${table}"`);
    const columns = yield* tx.all<{ name: string }>(`SELECT name FROM pragma_table_info('${table}')`);
    const counted: string[] = [];
    for (const { name } of columns.filter((column) => stateColumns.includes(column.name))) {
      const found = yield* tx.all<{ word: unknown; rows: number }>(
        `SELECT "${name}" AS word, count(*) AS rows FROM "${table}" GROUP BY 1 ORDER BY 2 DESC LIMIT ${maxStates}`,
      );
      const said = found.map((one) => `${wordOf(one.word)} ${one.rows}`);
      if (said.length > 0) counted.push(`${name}: ${said.join(', ')}`);
    }
    lines.push([`${table}: ${rows?.rows ?? 0}`, ...counted].join('; '));
  }
  const schema = yield* tx.all<{ area: string; number: number }>(
    'SELECT area, max(number) AS number FROM schema_migration GROUP BY area ORDER BY area',
  );
  return [...lines, `schema: ${schema.map(({ area, number }) => `${area} ${number}`).join(', ')}`];
}

function wordOf(value: unknown): string {
  if (value === null) return 'null';
  return typeof value === 'string' && ownWord.test(value) ? value : 'other';
}

function* lanes(tx: SharedReader, now: number): Op<string[]> {
  const found = yield* tx.all<{ lanes: string; rows: number; sending: number; attempts: number; oldest: number }>(
    `SELECT lanes, count(*) AS rows, sum(sending) AS sending, max(attempts) AS attempts, min(at) AS oldest
       FROM lane_item GROUP BY lanes ORDER BY lanes`,
  );
  return found.map(({ lanes: name, rows, sending, attempts, oldest }) => {
    const age = Math.max(0, Math.round((now - oldest) / 1000));
    return `${name}: ${rows}, of them under way ${sending}; at most ${attempts} attempts; the oldest is ${age} s old`;
  });
}

/** What bots and workers keep until it is taken. */
function spools({ run }: Places): string[] {
  const bots = join(run, 'bots');
  const folders = namesIn(bots).map((id): [string, string] => [`bot ${shortHash(id)}`, join(bots, id, 'spool')]);
  return [...folders, ['worker', join(run, 'worker')] as const].flatMap(([whose, folder]) => {
    const files = namesIn(folder).map((name) => statSync(join(folder, name), { throwIfNoEntry: false }));
    const bytes = files.reduce((sum, file) => sum + (file?.size ?? 0), 0);
    return files.length === 0 ? [] : [`${whose}: ${files.length} files, ${bytes} bytes`];
  });
}

const namesIn = (folder: string) => (existsSync(folder) ? readdirSync(folder).sort() : []);

function logsOf({ logs }: Places): string[] {
  return namesIn(logs)
    .filter((name) => name.endsWith('.log'))
    .map((name) => join(logs, name));
}

/** The end of a log, a line for each of its lines: nested values were never written. */
function logLines(file: string): string[] {
  const { size } = statSync(file);
  const bytes = Buffer.alloc(Math.min(size, maxLogBytes));
  const handle = openSync(file, 'r');
  try {
    readSync(handle, bytes, 0, bytes.length, size - bytes.length);
  } finally {
    closeSync(handle);
  }
  const lines = bytes.toString('utf8').split('\n').filter(Boolean);
  return (size > bytes.length ? lines.slice(1) : lines).slice(-maxLines).map(logLine);
}

function logLine(line: string): string {
  try {
    const { at, level, message, ...facts } = JSON.parse(line) as Record<string, unknown>;
    return [at, level, message, ...Object.entries(facts).map(([name, value]) => `${name}=${value}`)].join(' ');
  } catch {
    return '(not a line of a log)';
  }
}

/** Whatever opens something, so that it is removed wherever it stands. A part that cannot be read adds nothing. */
function knownSecrets(places: Places, env: Env): string[] {
  const files = [places.token, places.internalToken, places.masterKey];
  const bots = namesIn(join(places.run, 'bots')).map((id) => join(places.run, 'bots', id, 'token'));
  const kept = Object.values(parseEnv(textOf(places.serviceEnv))).map((value) => value ?? '');
  const variables = Object.entries(env).flatMap(([name, value]) => (telling.test(name) ? [value ?? ''] : []));
  const masterKey = textOf(places.masterKey).trim();
  return (
    [...[...files, ...bots].map(textOf), ...kept, ...variables, ...vaulted(places, masterKey)]
      // The text is looked through line by line.
      .flatMap((secret) => secret.split(/\r?\n/))
      .map((line) => line.trim())
      .filter((line) => line !== '')
  );
}

function vaulted({ runtimeDb }: Places, masterKey: string): string[] {
  if (masterKey === '' || !existsSync(runtimeDb)) return [];
  try {
    const sealer = createSealer({ masterKey, purpose: 'vault' });
    const reader = openDiskReader(runtimeDb);
    try {
      return reader.read((tx) => vaultValues(tx, sealer, localUserId));
    } finally {
      reader.close();
    }
  } catch {
    return [];
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
