/** A headless cloud for many people on a PostgreSQL of its own, behind a wire that can be cut, held and slowed down. */

import { CallError, type Caller } from '../../support/bench/http.ts';
import { linked, pair, pidOf, startCloud } from '../../support/bench/paired.ts';
import { startBenchPostgres } from '../../support/bench/postgres.ts';
import { type Product, scratchHome } from '../../support/bench/product.ts';
import { startCutProxy } from '../../support/cut-proxy.ts';
import { freePort } from '../../support/free-port.ts';
import { startOidcProvider } from '../../support/oidc-provider.ts';
import { personAt } from '../../support/signed-in.ts';
import type { Victim } from '../../support/victim.ts';

export interface Cloud {
  readonly origin: string;
  /** Its person's browser. */
  readonly browser: Pick<Caller, 'call'>;
  readonly wire: Awaited<ReturnType<typeof startCutProxy>>;
  readonly database: { crash(): Promise<void>; restart(): Promise<void> };
  /** Pairs a computer with it, and waits for the link. */
  pair(product: Product): Promise<void>;
  linked(product: Product): Promise<void>;
  pid(): number | null;
  start(): Promise<void>;
  kill(): Promise<void>;
  close(): Promise<void>;
}

export async function openCloud(): Promise<Cloud> {
  const opened = new AsyncDisposableStack();
  try {
    return await open(opened);
  } catch (error) {
    await opened.disposeAsync();
    throw error;
  }
}

async function open(opened: AsyncDisposableStack): Promise<Cloud> {
  const postgres = await startBenchPostgres();
  opened.defer(() => postgres.stop());
  const bare = scratchHome();
  opened.defer(() => bare.remove());
  const place = { ...bare, env: { ...bare.env, DATABASE_URL: await postgres.database('gantry') } };
  const port = await freePort();
  const wire = await startCutProxy({ target: { host: '127.0.0.1', port }, cutAfter: () => null });
  opened.defer(() => wire.close());
  const origin = `http://127.0.0.1:${wire.port}`;
  const provider = await startOidcProvider({ origins: [origin] });
  opened.defer(() => provider.close());
  const start = () => startCloud(place, provider, origin, `127.0.0.1:${port}`);
  let cloud: Victim | null = await start();
  opened.defer(async () => {
    cloud?.child.kill('SIGTERM');
    await cloud?.ended;
  });
  const person = await personAt(origin);
  return {
    origin,
    wire,
    database: postgres,
    browser: {
      call: (method, path, body) => person(method, path, body).catch(asCallError) as Promise<never>,
    },
    pair: (product) => pair(product, person, origin),
    linked,
    pid: () => (cloud === null ? null : pidOf(cloud)),
    async start() {
      cloud ??= await start();
    },
    async kill() {
      const dying = cloud;
      cloud = null;
      if (dying === null) return;
      process.kill(pidOf(dying), 'SIGKILL');
      await dying.ended;
    },
    close: () => opened.disposeAsync(),
  };
}

/** `POST /path: 409 …` */
function asCallError(error: unknown): never {
  const status = /^\S+ \S+: (\d{3}) /.exec((error as Error).message)?.[1];
  throw status === undefined ? error : new CallError(Number(status), (error as Error).message);
}
