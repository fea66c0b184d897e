/**
 * The cloud, or one of its replicas, and the computer host are killed again and again while computers are made, called, put away and deleted by key; where
 * a cluster makes them, a replica is, and in turn with it all their Pods are deleted by hand.
 * Afterwards everything that the cloud lists is deleted, and within a time nothing of any computer may be left on the machine. No time of a computer is
 * counted twice, and one that runs all the while answers after each kill: its link is dialled again.
 */
import { once } from 'node:events';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import Database from 'better-sqlite3';
import type { HostedComputer } from '../../../src/contracts/hosted-computers/computer.ts';
import { placesIn } from '../../../src/host/places.ts';
import { readTokenFile } from '../../../src/kit/secrets/token-file.ts';
import { makeNamespace, noCluster } from '../../conformance/hosted-computers/kubernetes-subject.ts';
import { openNamespace } from '../../conformance/hosted-computers/namespace-subject.ts';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { logEnd, pidOf, startCloud } from '../../support/bench/paired.ts';
import { scratchHome } from '../../support/bench/product.ts';
import { notMeasured } from '../../support/computers/drivers.ts';
import { noComputers } from '../../support/computers/helper.ts';
import { freePort } from '../../support/free-port.ts';
import { type Killable, runKillLoop, seededRandom } from '../../support/kill-loop.ts';
import { startOidcProvider } from '../../support/oidc-provider.ts';
import { startReplicas } from '../../support/replicas.ts';
import { personAt } from '../../support/signed-in.ts';
import type { Victim } from '../../support/victim.ts';

export const figures: readonly Figure[] = [{ name: 'hosted-computers.orphans', run: orphans }];

const unit = 'parts of computers left, minutes counted twice, and computers that no longer answer';
/** What is left so long after the last delete stays. */
const goneWithinMs = 90_000;
/** A computer is known to run, and its link to be gone, within seconds; a machine that does other things too is slow. */
const answersWithinMs = 60_000;
/** That make and delete computers. */
const programs = 3;
const at = `gantry cloud and gantry computer-host, killed in turn by SIGKILL while ${programs} programs with a key make, call, stop and delete computers; then two replicas of the cloud on PostgreSQL and the computer host; in a cluster, a replica killed in turn with all Pods deleted; looked at ${goneWithinMs / 1000} s after the last delete at the latest`;

async function orphans({ quick, log }: FigureOptions): Promise<Measured> {
  const found: Record<string, Found> = {};
  const skipped: string[] = [];
  for (const [name, { missing, tried }] of Object.entries(drivers)) {
    const why = notMeasured(name, missing);
    if (why !== null) skipped.push(`${name}: ${why}`);
    else found[name] = await tried(quick, log);
  }
  const all = Object.entries(found);
  if (all.length === 0) return { value: null, unit, n: 0, at, why: skipped.join('; ') };
  const problems = all.flatMap(([name, one]) => one.problems.map((problem) => `${name}: ${problem}`));
  const told = all.map(([name, one]) => [
    name,
    { kills: one.kills, computers: one.made, counted: one.problems.length },
  ]);
  return {
    value: problems.length,
    problems,
    unit,
    n: all.reduce((sum, [, { kills }]) => sum + kills, 0),
    at,
    detail: { ...Object.fromEntries(told), ...(skipped.length > 0 && { skipped }) },
  };
}

interface Found {
  readonly kills: number;
  readonly problems: readonly string[];
  readonly made: number;
}

const drivers: Readonly<
  Record<string, { missing(): string | null; tried(quick: boolean, log: FigureOptions['log']): Promise<Found> }>
> = {
  namespace: {
    missing: noComputers,
    async tried(quick, log) {
      const alone = await killed(() => openHost(openCloud), quick ? 2 : 20, log);
      const shared = await killed(
        () => openHost((folder) => openReplicas({ GANTRY_COMPUTERS: folder })),
        quick ? 2 : 10,
        log,
      );
      return {
        kills: alone.kills + shared.kills,
        problems: [...alone.problems, ...shared.problems],
        made: alone.made + shared.made,
      };
    },
  },
  kubernetes: { missing: noCluster, tried: (quick, log) => killed(openCluster, quick ? 4 : 12, log) },
};

async function killed(open: () => Promise<Opened>, rounds: number, log: FigureOptions['log']): Promise<Found> {
  const opened = await open();
  try {
    const world = await createWorld(opened);
    const steady = await world.make();
    const { kills, problems } = await runKillLoop<Killable>({
      rounds,
      random: seededRandom(3010),
      killAfter: opened.killAfter,
      start: async (round) => ({
        pid: 0,
        kill: () => (round % 2 === 0 ? opened.cloud.kill() : opened.disturb()),
      }),
      drive: async (_program, signal) => {
        await Promise.all(Array.from({ length: programs }, () => world.drive(signal)));
      },
      check: async (_program, round) => {
        const answered = await world.answers(steady);
        // What a kill cut off would use up the places of the key.
        await world.deleteAll(steady);
        log(`kill ${round + 1}: ${answered ?? 'the steady one answers'}`);
        return answered === null ? [] : [answered];
      },
      end: async () => {},
    });
    await world.deleteAll();
    const left = await world.left();
    const twice = await world.countedTwice();
    const all = [...problems, ...left.map((what) => `left: ${what}`), ...twice];
    if (all.length > 0) log(opened.cloud.logEnd());
    return { kills, problems: all, made: await world.made() };
  } finally {
    await opened.cloud.close();
    await opened.close();
  }
}

/** A cloud and what makes its computers. */
interface Opened {
  readonly cloud: Cloud;
  /** What happens in turn with the end of the cloud. */
  disturb(): Promise<void>;
  /** Whether the computers end with it: somebody starts them again. */
  readonly endsComputers: boolean;
  /** Milliseconds: so long computers are made and deleted before something happens. */
  readonly killAfter: readonly [number, number];
  remains(): readonly string[];
  close(): Promise<void>;
}

async function openHost(open: (folder: string) => Promise<Cloud>): Promise<Opened> {
  const { folder, kill, remains, close } = await openNamespace();
  const cloud = await open(folder);
  return { cloud, disturb: kill, endsComputers: false, killAfter: [0, 3000], remains, close };
}

/** Two replicas beside the cluster, which Pods dial at one address. */
async function openCluster(): Promise<Opened> {
  const { namespace, kubeconfig, dialled, kubectl, remains, remove } = await makeNamespace();
  const env = {
    GANTRY_COMPUTERS_ENGINE: 'kubernetes',
    GANTRY_COMPUTERS_NAMESPACE: namespace,
    GANTRY_COMPUTERS_CLOUD: dialled.href,
    KUBECONFIG: kubeconfig,
  };
  let way: Server | null = null;
  const cloud = await openReplicas(env, async (port) => {
    way = createServer((near) => {
      const far = connect(port, '127.0.0.1');
      near.pipe(far).pipe(near);
      near.on('error', () => far.destroy()).on('close', () => far.destroy());
      far.on('error', () => near.destroy()).on('close', () => near.destroy());
    });
    way.listen(Number(dialled.port), '0.0.0.0');
    await once(way, 'listening');
    return port;
  });
  return {
    cloud,
    disturb: async () => void kubectl('delete', 'pods', '-l', 'gantry.dev/computer', '--wait=false'),
    endsComputers: true,
    // A Pod takes seconds to start.
    killAfter: [2000, 15_000],
    remains,
    async close() {
      way?.close();
      remove();
    },
  };
}

interface Cloud {
  readonly origin: string;
  readonly internalToken: string;
  /** Ends it, or one of its replicas, and starts that again. */
  kill(): Promise<void>;
  query<Row>(sql: string): Promise<readonly Row[]>;
  logEnd(): string;
  close(): Promise<void>;
}

/** `folder`: of its computer host. */
async function openCloud(folder: string): Promise<Cloud> {
  const place = scratchHome();
  const home = { ...place, env: { ...place.env, GANTRY_COMPUTERS: folder } };
  const origin = `http://127.0.0.1:${await freePort()}`;
  const provider = await startOidcProvider({ origins: [origin] });
  let cloud: Victim = await startCloud(home, provider, origin);
  return {
    origin,
    internalToken: readTokenFile(placesIn(home.home).internalToken),
    async kill() {
      process.kill(pidOf(cloud), 'SIGKILL');
      await cloud.ended;
      cloud = await startCloud(home, provider, origin);
    },
    async query<Row>(sql: string) {
      const file = new Database(join(home.home, 'cloud.db'), { readonly: true });
      try {
        return file.prepare(sql).all() as Row[];
      } finally {
        file.close();
      }
    },
    logEnd: () => logEnd(home.home, 'cloud'),
    async close() {
      cloud.child.kill('SIGTERM');
      await cloud.ended;
      await provider.close();
      await place.remove();
    },
  };
}

/** `env`: where its computers are made. `before`: as `startReplicas` has it. */
async function openReplicas(
  env: Readonly<Record<string, string>>,
  before?: (port: number) => Promise<number>,
): Promise<Cloud> {
  const cloud = await startReplicas(2, before, env);
  let next = 0;
  return {
    origin: cloud.origin,
    internalToken: cloud.internalToken,
    async kill() {
      const replica = cloud.replicas[next % cloud.replicas.length]!;
      next += 1;
      await replica.kill();
      await replica.start();
    },
    query: async <Row>(sql: string) => (await cloud.postgres.ask(cloud.databaseUrl, sql)) as Row[],
    logEnd: () => cloud.replicas.flatMap(({ said }) => said.slice(-20).map(({ line }) => line)).join('\n'),
    close: cloud.close,
  };
}

async function createWorld({ cloud, endsComputers, remains }: Opened) {
  const { origin } = cloud;
  const person = await personAt(origin);
  const { user } = await person<{ user: string }>('GET', '/api/v1/session');
  await send(cloud.internalToken, 'POST', '/api/v1/admin/projects', {
    id: 'shop',
    userId: user,
    hostedDriverEnabled: true,
  });
  await person('PATCH', '/v1/computer_settings', { per_key_concurrency: 10 });
  const { secret } = await person<{ secret: string }>('POST', '/api/v1/keys', { name: 'shop', scopes: ['computers'] });

  async function send<Body>(token: string, method: string, path: string, body?: unknown): Promise<Body> {
    const answer = await fetch(`${origin}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return (answer.status === 204 ? undefined : await answer.json()) as Body;
  }
  const byKey = <Body>(method: string, path: string, body?: unknown) =>
    send<Body>(secret, method, `/v1/computers${path}`, body);
  const make = async () => (await byKey<HostedComputer>('POST', '', { toolset: 'shell' })).id;
  const call = (id: string) =>
    byKey('POST', `/${id}/toolset`, { toolset: 'shell', member: 'exec', input: { command: 'true' } });

  return {
    make,
    made: async () => Number((await cloud.query<{ n: number }>('SELECT count(*) AS n FROM hosted_computer'))[0]!.n),
    /** One computer after another, until `signal` is aborted; what a kill cuts off is given up. */
    async drive(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        try {
          const id = await make();
          await call(id);
          await byKey('POST', `/${id}/stop`);
          await byKey('POST', `/${id}/start`);
          await call(id);
          await byKey('DELETE', `/${id}`);
        } catch {
          await delay(100);
        }
      }
    },
    /** Null: it does. Otherwise what came last. */
    async answers(id: string): Promise<string | null> {
      let last = '';
      for (const end = performance.now() + answersWithinMs; performance.now() < end; await delay(100)) {
        try {
          await call(id);
          return null;
        } catch (fault) {
          last = (fault as Error).message;
          if (endsComputers) await byKey('POST', `/${id}/start`).catch(() => {});
        }
      }
      return last;
    },
    async deleteAll(except?: string): Promise<void> {
      for (const end = performance.now() + goneWithinMs; performance.now() < end; await delay(250)) {
        // One whose deletion failed is removed by the cloud's own work.
        const { computers } = await byKey<{ computers: HostedComputer[] }>('GET', '?limit=100');
        const left = computers.filter(({ id, status }) => id !== except && status !== 'deleted');
        if (left.length === 0) return;
        await Promise.allSettled(left.map(({ id }) => byKey('DELETE', `/${id}`)));
      }
    },
    async left(): Promise<readonly string[]> {
      for (const end = performance.now() + goneWithinMs; performance.now() < end; await delay(500)) {
        if (remains().length === 0) return [];
      }
      return remains();
    },
    /** Windows of one computer that overlap, and those that are longer than it existed. */
    async countedTwice(): Promise<readonly string[]> {
      const rows = await cloud.query<Record<'at' | 'ms' | 'born' | 'ended', unknown> & { id: string }>(
        `SELECT m.computer_id AS id, m.window_start AS at, m.thousandths * 60 AS ms, k.created_at AS born, k.ended_at AS ended
          FROM hosted_meter m JOIN hosted_computer k ON k.id = m.computer_id WHERE m.meter = 'computer_minute'
          ORDER BY m.computer_id, m.window_start`,
      );
      // PostgreSQL gives large numbers as texts.
      const windows = rows.map(({ id, at, ms, born, ended }) => ({
        ...{ id, at: Number(at), ms: Number(ms), born: Number(born), ended: Number(ended) },
      }));
      // The last window of a run is rounded to a thousandth of a minute.
      const slackMs = 60;
      return windows.flatMap(({ id, at, ms, born, ended }, index) => {
        const next = windows[index + 1];
        const overlaps = next !== undefined && next.id === id && at + ms > next.at + slackMs;
        const outside = at < born || at + ms > ended + slackMs;
        return overlaps || outside
          ? [`${id}: ${ms} ms from ${at} ${overlaps ? 'are in the next window too' : 'are not its time'}`]
          : [];
      });
    },
  };
}
