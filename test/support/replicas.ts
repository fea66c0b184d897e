/**
 * A cloud as an operator runs it: replicas of `gantry cloud` on one PostgreSQL, each a separate program with its own data folder, a provider that
 * people sign in with, and one address in front of them.
 */
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readTokenFile } from '../../src/kit/secrets/token-file.ts';
import { type Balancer, startBalancer } from './balancer.ts';
import { type BenchPostgres, startBenchPostgres } from './bench/postgres.ts';
import { gantryCommand } from './bench/product.ts';
import { freePort } from './free-port.ts';
import { startOidcProvider } from './oidc-provider.ts';
import { createRestarts, type Restarts } from './restarts.ts';

export interface Replicas {
  /** What everybody calls the cloud. */
  readonly origin: string;
  readonly postgres: BenchPostgres;
  readonly databaseUrl: string;
  readonly replicas: readonly Restarts[];
  /** Of the operator, at each replica. */
  readonly internalToken: string;
  /** The address of one replica, for tests that bypass the balancer. */
  readonly ports: readonly number[];
  /**
   * So long passes for the database, while no replica runs: one that runs would only notice at its next look, and until then be of
   * another opinion than the others about which leases have ended.
   */
  passTime(seconds: number): Promise<void>;
  close(): Promise<void>;
}

/** The database's clock, which can be set ahead: unqualified calls find it before the built-in one. */
const movableClock = `
CREATE SCHEMA moved;
CREATE TABLE moved.time (ahead INTERVAL NOT NULL);
INSERT INTO moved.time VALUES ('0');
CREATE FUNCTION moved.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
  AS 'SELECT pg_catalog.clock_timestamp() + (SELECT ahead FROM moved.time)';
ALTER DATABASE gantry SET search_path = public, moved, pg_catalog`;

/**
 * Starts the first, gives the others its secrets, and starts them at the same time. `before`: puts something in front of the balancer's port, and
 * answers the port that everybody calls.
 */
export async function startReplicas(
  count: number,
  before: (port: number) => Promise<number> = async (port) => port,
  /** More variables of each. */
  env: Readonly<Record<string, string>> = {},
  /** The program of Gantry with which one starts, asked at each start. */
  programOf: (index: number) => readonly [string, ...string[]] = () => gantryCommand,
): Promise<Replicas> {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-replicas-'));
  const postgres = await startBenchPostgres();
  const ports = await Promise.all(Array.from({ length: count }, () => freePort()));
  const balancer: Balancer = await startBalancer(ports);
  const origin = `http://127.0.0.1:${await before(balancer.port)}`;
  const provider = await startOidcProvider({ origins: [origin] });
  const databaseUrl = await postgres.database('gantry');
  await postgres.ask(databaseUrl, movableClock);
  const secret = join(folder, 'client-secret');
  writeFileSync(secret, provider.clientSecret, { mode: 0o600 });
  const homeOf = (number: number) => join(folder, `replica-${number}`);
  const replicas = ports.map((port, index) =>
    createRestarts({
      name: `replica ${index + 1}`,
      command: () => [...programOf(index), 'cloud', '--json'],
      env: {
        HOME: homeOf(index),
        GANTRY_HOME: join(homeOf(index), 'gantry'),
        GANTRY_BASE_URL: origin,
        GANTRY_LISTEN: `127.0.0.1:${port}`,
        GANTRY_OIDC_ISSUER: provider.issuer,
        GANTRY_OIDC_CLIENT_ID: provider.clientId,
        GANTRY_OIDC_CLIENT_SECRET_FILE: secret,
        DATABASE_URL: databaseUrl,
        ...env,
      },
      ready: (line) => line.startsWith('{"url"'),
    }),
  );
  for (const [index] of replicas.entries()) mkdirSync(homeOf(index), { mode: 0o700 });
  const close = async () => {
    await Promise.all(replicas.map((replica) => replica.stop()));
    await balancer.close();
    await provider.close();
    await postgres.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const [first, ...others] = replicas;
    await first?.start();
    for (const [index] of others.entries()) {
      const home = join(homeOf(index + 1), 'gantry');
      mkdirSync(home, { mode: 0o700 });
      for (const file of ['master.key', 'internal-token']) {
        cpSync(join(homeOf(0), 'gantry', file), join(home, file));
      }
    }
    await Promise.all(others.map((replica) => replica.start()));
  } catch (error) {
    await close();
    throw error;
  }
  return {
    origin,
    postgres,
    databaseUrl,
    internalToken: readTokenFile(join(homeOf(0), 'gantry', 'internal-token')),
    replicas,
    ports,
    close,
    async passTime(seconds) {
      await Promise.all(replicas.map((replica) => replica.stop()));
      await postgres.ask(databaseUrl, `UPDATE moved.time SET ahead = ahead + interval '${seconds} s'`);
      await Promise.all(replicas.map((replica) => replica.start()));
    },
  };
}
