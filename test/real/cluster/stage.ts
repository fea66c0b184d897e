/** What the scenes on a cluster share: its API, the page's blocks, a database and a proxy beside its nodes, people and keys. play.ts brings it up. */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import dns from 'node:dns';
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { request } from 'node:http';
import { createServer } from 'node:https';
import { dirname, join } from 'node:path';
import { blocksOf } from '../../docs/blocks.ts';
import type { OidcProvider } from '../../support/oidc-provider.ts';
import { startOidcProvider } from '../../support/oidc-provider.ts';
import type { Person } from '../../support/signed-in.ts';
import type { Act, Play } from '../cluster.ts';
import { until } from '../scenes.ts';

export const minutes = 60_000;
export const computerImage = 'gantry-computer:play';
const providerPort = 8100;

export interface Pod {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly spec: { readonly nodeName?: string };
  readonly status: {
    readonly phase: string;
    readonly podIP?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    readonly containerStatuses?: readonly {
      readonly restartCount: number;
      readonly ready: boolean;
      readonly imageID: string;
    }[];
  };
}

export interface Stage extends Play {
  readonly origin: string;
  /** A clone of what is committed here. */
  readonly clone: string;
  readonly databaseUrl: string;
  readonly provider: OidcProvider;
  readonly shell: (text: string, ms?: number) => Promise<string>;
  readonly kubectl: (words: string) => Promise<string>;
  /** A block of docs/deploy.md as it stands, but for what a reader puts in place of `<…>`. */
  readonly block: (name: string, put?: Readonly<Record<string, string>>) => Promise<string>;
  readonly blocksLeft: () => readonly string[];
  readonly pods: (namespace: string, selector?: string) => Promise<readonly Pod[]>;
  readonly act: (act: Act) => Promise<void>;
  /** As a program with a key, at the cloud of that address. */
  readonly askAt: <Result>(at: string, key: string, method: string, path: string, body?: unknown) => Promise<Result>;
  readonly ask: <Result>(key: string, method: string, path: string, body?: unknown) => Promise<Result>;
  /** `gantry admin` in a replica. */
  readonly admin: (words: string) => Promise<string>;
  /** Set by the scenes of the install. */
  readonly made: { person?: Person; userId?: string; key?: string };
  close(): Promise<void>;
}

export const isReady = ({ status }: Pod) =>
  status.conditions?.some((one) => one.type === 'Ready' && one.status === 'True') ?? false;

export async function createStage(told: Play): Promise<Stage> {
  const work = join(told.folder, 'play');
  mkdirSync(work, { recursive: true });
  const clone = join(work, 'gantry');
  const origin = `https://${told.hosts.cloud}`;
  const database = await startDatabase(join(told.folder, 'database'), told.address);
  const provider = await startOidcProvider({
    ...{
      origins: [origin, `https://${told.hosts.second}`],
      issuer: `https://${told.hosts.provider}`,
      port: providerPort,
    },
  });
  const env = {
    ...process.env,
    ...{ HOME: work, KUBECONFIG: told.kubeconfig },
    ...{ DATABASE_URL: database.url, OIDC_CLIENT_SECRET: provider.clientSecret },
  };
  const shell = (text: string, ms = 15 * minutes) =>
    new Promise<string>((resolve, reject) => {
      const cwd = existsSync(clone) ? clone : work;
      const words = ['-e', '-u', '-o', 'pipefail', '-c', text];
      execFile('bash', words, { env, cwd, timeout: ms, maxBuffer: 64 << 20 }, (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else reject(new Error(`${text}\nended with ${error.code}:\n${`${stdout}${stderr}`.slice(-3000)}`));
      });
    });
  const kubectl = (words: string) => shell(`kubectl ${words}`, 5 * minutes);
  const blocks = new Map(
    blocksOf('docs/deploy.md').flatMap(({ notRun, text }) => {
      const name = /test:cluster runs it, as (\w+)$/.exec(notRun ?? '')?.[1];
      return name === undefined ? [] : [[name, text] as const];
    }),
  );
  const played = new Set<string>();
  // One shell of a reader runs all blocks: what a block defines is there in the next.
  const defined = [...blocks.values()].flatMap((text) =>
    text.split('\n').filter((line) => /^\w+\(\) \{.*\}$/.test(line)),
  );
  knowNames(Object.values(told.hosts));
  const serviceAddress = async (namespace: string) =>
    (await kubectl(`--namespace=${namespace} get service gantry-cloud -o jsonpath={.spec.clusterIP}`)).trim();
  await startProxy(told, serviceAddress);
  let acts = 0;
  return {
    ...told,
    ...{ origin, clone, databaseUrl: database.url, provider, shell, kubectl, made: {} },
    block(name, put = {}) {
      let text = blocks.get(name);
      if (text === undefined) throw new Error(`docs/deploy.md has no block ${name} that test:cluster runs`);
      for (const [from, to] of Object.entries(put)) text = text.replaceAll(from, to);
      played.add(name);
      return shell(`${defined.join('\n')}\n${text}`);
    },
    blocksLeft: () => [...blocks.keys()].filter((name) => !played.has(name)),
    async pods(namespace, selector) {
      const words = selector === undefined ? '' : ` -l ${selector}`;
      const list = JSON.parse(await kubectl(`--namespace=${namespace} get pods -o json${words}`)) as { items: Pod[] };
      return list.items;
    },
    act(act) {
      acts += 1;
      const id = acts;
      return new Promise((resolve, reject) => {
        const hear = (message: unknown) => {
          const answer = message as { id: number; error: string | null };
          if (answer.id !== id) return;
          process.off('message', hear);
          if (answer.error === null) resolve();
          else reject(new Error(answer.error));
        };
        process.on('message', hear);
        process.send!({ id, act });
      });
    },
    askAt,
    ask: (...words) => askAt(origin, ...words),
    admin: (words) => kubectl(`--namespace=gantry exec -i deployment/gantry-cloud -c cloud -- gantry admin ${words}`),
    async close() {
      await provider.close();
      await database.close();
    },
  };
}

async function askAt<Result>(at: string, key: string, method: string, path: string, body?: unknown): Promise<Result> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  const answer = await fetch(`${at}${path}`, { method, headers, ...sent });
  const said = await answer.text();
  assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${said}`);
  return JSON.parse(said) as Result;
}

/** Debian's PostgreSQL, on an address that Pods reach. */
async function startDatabase(
  folder: string,
  address: string,
): Promise<{ readonly url: string; close(): Promise<void> }> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const own = join(folder, 'data');
  const run = (program: string, ...words: readonly string[]) =>
    new Promise<string>((resolve, reject) => {
      execFile(program, words, (error, stdout, stderr) =>
        error === null ? resolve(stdout) : reject(new Error(stderr || error.message)),
      );
    });
  const programs = dirname((await run('readlink', '-f', (await run('sh', '-c', 'command -v initdb')).trim())).trim());
  const [uid, gid] = [Number(await run('id', '-u', 'postgres')), Number(await run('id', '-g', 'postgres'))];
  const password = 'between the play and its cloud'.replaceAll(' ', '-');
  writeFileSync(join(folder, 'password'), password);
  chmodSync(join(folder, 'password'), 0o644);
  chownSync(folder, uid, gid);
  // The folders above may be another user's only.
  const as = ['--reuid=postgres', '--regid=postgres', '--init-groups'];
  await run(
    'setpriv',
    ...as,
    join(programs, 'initdb'),
    '-D',
    own,
    '-U',
    'gantry',
    `--pwfile=${join(folder, 'password')}`,
    '--auth=scram-sha-256',
    '--locale=C.UTF-8',
    '--data-checksums',
  );
  writeFileSync(join(own, 'pg_hba.conf'), 'host all all all scram-sha-256\n');
  const settings = [`listen_addresses=${address}`, `unix_socket_directories=`, 'max_connections=200'].flatMap((one) => [
    '-c',
    one,
  ]);
  const log = openSync(join(folder, 'log'), 'w');
  const server = spawn('setpriv', [...as, join(programs, 'postgres'), '-D', own, ...settings], {
    stdio: ['ignore', log, log],
    detached: true,
  });
  closeSync(log);
  const to = (name: string) => `postgres://gantry:${password}@${address}:5432/${name}`;
  await until(
    'PostgreSQL answers',
    async () => {
      assert.equal(server.exitCode, null, readFileSync(join(folder, 'log'), 'utf8').slice(-1000));
      return run('psql', to('postgres'), '-c', 'CREATE DATABASE gantry').then(() => true);
    },
    minutes,
  );
  return {
    url: to('gantry'),
    async close() {
      const ended = new Promise((resolve) => server.once('exit', resolve));
      if (server.exitCode !== null) return;
      server.kill('SIGINT');
      await ended;
    },
  };
}

/** The names are this place's own, for this program as for Pods. */
function knowNames(names: readonly string[]): void {
  const lookup = dns.lookup as (...given: unknown[]) => void;
  dns.lookup = ((name: string, ...rest: unknown[]) =>
    lookup(names.includes(name) ? '127.0.0.1' : name, ...rest)) as typeof dns.lookup;
}

/** One server for all names, in front of the cloud's Service and of the provider: what an Ingress is elsewhere. */
async function startProxy(
  { certificate, hosts }: Play,
  serviceAddress: (namespace: string) => Promise<string>,
): Promise<void> {
  const services = new Map<string, string | null>();
  const namespaces = new Map([
    [hosts.cloud, 'gantry'],
    [hosts.second, 'gantry-two'],
  ]);
  const files = { key: readFileSync(`${certificate}.key`), cert: readFileSync(certificate) };
  const server = createServer(files, async (asked, answer) => {
    const name = asked.headers.host ?? '';
    const namespace = namespaces.get(name);
    if (namespace !== undefined && !services.get(name))
      services.set(name, await serviceAddress(namespace).catch(() => null));
    const to =
      namespace !== undefined
        ? { host: services.get(name) ?? '127.0.0.1', port: 80 }
        : { host: '127.0.0.1', port: providerPort };
    const headers = { ...asked.headers, 'x-forwarded-proto': 'https', 'x-forwarded-for': asked.socket.remoteAddress };
    // A connection for each request, so that each is given to a replica by the Service.
    const passed = request({ ...to, path: asked.url, method: asked.method, headers, agent: false }, (got) => {
      answer.writeHead(got.statusCode ?? 502, got.headers);
      got.pipe(answer);
      got.on('error', () => answer.destroy());
    });
    answer.on('close', () => passed.destroy());
    passed.on('error', (error) => {
      // A Service that was made anew has another address.
      services.delete(name);
      if (answer.headersSent) answer.destroy();
      else answer.writeHead(502).end(error.message);
    });
    asked.pipe(passed);
  });
  await new Promise<void>((resolve) => server.listen(443, resolve));
}
