/** `gantry cloud` and its database as an operator meets them: replicas that start at once, and a database of a newer Gantry. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { placesIn } from '../../src/host/places.ts';
import { createTokenFile, newToken } from '../../src/kit/secrets/token-file.ts';
import { postgres } from '../support/postgres.ts';
import { scratchFolder } from '../support/scratch.ts';
import { startVictim, type Victim } from '../support/victim.ts';

/** Programs take their time to start on a computer that is busy with other tests. */
const slow = { timeout: 120_000 };
const cli = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));
const secrets = { masterKey: newToken(), internalToken: newToken() };

function homeWithSecrets(): string {
  const home = join(scratchFolder(), 'home');
  mkdirSync(home, { mode: 0o700 });
  createTokenFile(placesIn(home).masterKey, secrets.masterKey);
  createTokenFile(placesIn(home).internalToken, secrets.internalToken);
  return home;
}

function startCloud(home: string, databaseUrl = ''): Victim {
  const victim = startVictim({
    command: [process.execPath, cli, 'cloud', '--json'],
    env: {
      GANTRY_HOME: home,
      GANTRY_BASE_URL: 'https://gantry.example',
      GANTRY_LISTEN: '127.0.0.1:0',
      // Nobody signs in, so that nobody asks it.
      GANTRY_OIDC_ISSUER: 'http://127.0.0.1:9',
      GANTRY_OIDC_CLIENT_ID: 'gantry',
      DATABASE_URL: databaseUrl,
    },
  });
  onTestFinished(async () => void (await victim.kill()));
  return victim;
}

const ready = (victim: Victim) => victim.until((line) => line.startsWith('{"url"'));

async function refused(victim: Victim, where: RegExp): Promise<void> {
  const { code } = await victim.ended;
  const { error } = JSON.parse(victim.lines.join('\n')) as { error: Record<'code' | 'fact' | 'action', string> };
  expect({ code, kind: error.code }).toEqual({ code: 1, kind: 'refused' });
  expect(error.fact).toMatch(where);
  expect(error.fact).toContain('was written by a newer Gantry (step work-queue/99 "later" is not known here).');
  expect(error.action).toMatch(/^Start the newer version, or restore a backup from before it/);
}

test.skipIf(postgres === null)(
  'three replicas that start at once on an empty PostgreSQL all get ready, and none starts on a newer one',
  slow,
  async () => {
    const url = await postgres!.schema();
    await Promise.all([1, 2, 3].map(() => ready(startCloud(homeWithSecrets(), url))));
    const twice = 'SELECT area, number FROM schema_migration GROUP BY area, number HAVING count(*) > 1';
    expect(await postgres!.ask(url, twice)).toEqual([]);
    await postgres!.ask(url, "INSERT INTO schema_migration VALUES ('work-queue', 99, 'later', 'x', 0)");
    await refused(startCloud(homeWithSecrets(), url), /^The database \w+ at \S+ was written/);
  },
);

test('a cloud.db of a newer Gantry is refused, and left as it is', slow, async () => {
  const home = homeWithSecrets();
  const first = startCloud(home);
  await ready(first);
  first.child.kill('SIGTERM');
  expect((await first.ended).code).toBe(0);
  const open = () => new Database(placesIn(home).cloudDb);
  const database = open();
  database.prepare("INSERT INTO schema_migration VALUES ('work-queue', 99, 'later', 'x', 0)").run();
  database.close();
  await refused(startCloud(home), /cloud\.db was written/);
  const after = open();
  expect(after.prepare('SELECT name FROM schema_migration WHERE number = 99').pluck().all()).toEqual(['later']);
  after.close();
});
