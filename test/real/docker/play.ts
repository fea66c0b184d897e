/**
 * The play inside of the namespace: a Docker, a provider and a proxy with a certificate, then docs/deploy.md block by block as a newcomer
 * would, in a clone of what is committed here. ../docker.ts starts it.
 */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import dns from 'node:dns';
import {
  chmodSync,
  cpSync,
  createReadStream,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { request } from 'node:http';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { blocksOf, root } from '../../docs/blocks.ts';
import { type Daemon, startDaemon } from '../../support/docker/daemon.ts';
import { startOidcProvider } from '../../support/oidc-provider.ts';
import { type Person, personAt } from '../../support/signed-in.ts';
import type { Play } from '../docker.ts';
import { createScenes, until } from '../scenes.ts';
import { playTwenty } from './twenty.ts';
import { holdSocket, openDoor } from './way-out.ts';

const { part, folder, base, outside, hosts, certificate, trusted } = JSON.parse(
  process.env.GANTRY_PLAY ?? '{}',
) as Play;
const origin = `https://${hosts.cloud}`;
/** The host, in the network of deploy/compose.yml. */
const gateway = '10.213.0.1';
const doorPort = 3128;
/** Of hosted computers: the engine and the cloud know it by the same path. */
const computers = join(folder, 'computers');
/** Docker's own bridge, on which builds run. */
const door = `http://172.17.0.1:${doorPort}`;
/** Debian with Node, and the same where programs trust whom this machine trusts: there may be a proxy between it and where packages are. */
const bareImage = 'gantry-base:bare';
const baseImage = 'gantry-base:play';
const minutes = 60_000;

const work = join(folder, 'work');
const deploy = join(work, 'gantry', 'deploy');
const bin = join(work, 'bin');
const socket = join(folder, 'd.sock');
/** The engine's, as containers have it: a file that outlives the engine, as with docker.socket of systemd. */
const heldSocket = join(folder, 'held.sock');
const env = {
  ...process.env,
  HOME: work,
  PATH: `${bin}:${process.env.PATH ?? ''}`,
  DOCKER_HOST: `unix://${socket}`,
  COMPOSE_FILE: `compose.yml:${join(work, 'override.yml')}`,
  DOCKER_BUILDKIT: '0',
};

/** The blocks of the page by the name that the comment above them gives. */
const blocks = new Map(
  blocksOf('docs/deploy.md').flatMap(({ notRun, text }) => {
    const name = /test:docker runs it, as (\w+)$/.exec(notRun ?? '')?.[1];
    return name === undefined ? [] : [[name, text] as const];
  }),
);
const played = new Set<string>();

function shell(text: string, cwd = existsSync(deploy) ? deploy : work, ms = 25 * minutes): Promise<string> {
  return new Promise((resolve, reject) => {
    const words = ['-e', '-u', '-o', 'pipefail', '-c', text];
    execFile('bash', words, { env, cwd, timeout: ms, maxBuffer: 64 << 20 }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${text}\nended with ${error.code}:\n${`${stdout}${stderr}`.slice(-3000)}`));
    });
  });
}

/** A block of the page as it stands, but for what a reader puts in place of `<…>`. */
function block(name: string, put: Readonly<Record<string, string>> = {}): Promise<string> {
  let text = blocks.get(name);
  if (text === undefined) throw new Error(`docs/deploy.md has no block ${name}`);
  for (const [from, to] of Object.entries(put)) text = text.replaceAll(from, to);
  played.add(name);
  return shell(text.replace(/^cd deploy$/m, ''));
}

const compose = (words: string) => shell(`docker compose ${words}`);

/** `docker compose` is Debian's docker-compose here, and builds fetch through the door. */
function writeCommands(): void {
  mkdirSync(bin, { recursive: true });
  const proxy = ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy'].map((name) => `--build-arg ${name}=${door}`).join(' ');
  const program = existsSync('/usr/bin/docker') ? '/usr/bin/docker' : 'docker';
  writeFileSync(
    join(bin, 'docker'),
    `#!/bin/bash
if [ "$1" != compose ]; then exec ${program} "$@"; fi
shift
if [ "$1" = build ]; then shift; exec docker-compose build ${proxy} "$@"; fi
exec docker-compose "$@"
`,
  );
  chmodSync(join(bin, 'docker'), 0o755);
}

/** One server for both names, in front of the published port and of the provider. */
async function startProxy(providerPort: number): Promise<void> {
  const files = { key: readFileSync(`${certificate}.key`), cert: readFileSync(certificate) };
  const server = createServer(files, (asked, answer) => {
    const port = asked.headers.host === hosts.cloud ? 3010 : providerPort;
    const headers = { ...asked.headers, 'x-forwarded-proto': 'https', 'x-forwarded-for': asked.socket.remoteAddress };
    const passed = request({ host: '127.0.0.1', port, path: asked.url, method: asked.method, headers }, (got) => {
      answer.writeHead(got.statusCode ?? 502, got.headers);
      got.pipe(answer);
    });
    passed.on('error', (error) => (answer.headersSent ? answer.destroy() : answer.writeHead(502).end(error.message)));
    asked.pipe(passed);
  });
  await new Promise<void>((resolve) => server.listen(443, resolve));
}

/** Both names are this namespace's own, for this program as for containers. */
function knowNames(): void {
  const lookup = dns.lookup as (...given: unknown[]) => void;
  dns.lookup = ((name: string, ...rest: unknown[]) =>
    lookup(Object.values(hosts).includes(name) ? '127.0.0.1' : name, ...rest)) as typeof dns.lookup;
}

interface Service {
  readonly id: string;
  readonly pid: number;
  readonly health: string;
  readonly restarts: number;
  readonly image: string;
}

async function serviceOf(name: string): Promise<Service> {
  // Asked often: docker-compose 1.29 needs a second of a processor for this.
  const id = (await shell(`docker ps -aq --filter label=com.docker.compose.service=${name}`)).trim();
  const [one] = JSON.parse(await shell(`docker inspect ${id}`)) as {
    State: { Pid: number; Health?: { Status: string } };
    RestartCount: number;
    Image: string;
  }[];
  assert.ok(one, name);
  return {
    id,
    pid: one.State.Pid,
    health: one.State.Health?.Status ?? '',
    restarts: one.RestartCount,
    image: one.Image,
  };
}

const healthy = (name: string) =>
  until(`${name} is healthy`, async () => ((await serviceOf(name)).health === 'healthy' ? name : null), 4 * minutes);

/** The pid of a container's first process, as this machine sees it, gets what no program can refuse. */
async function kill(name: string): Promise<void> {
  const before = await serviceOf(name);
  process.kill(before.pid, 'SIGKILL');
  await until(`${name} is back`, async () => (await serviceOf(name)).restarts > before.restarts, minutes);
}

interface Task {
  readonly status: string;
  readonly attempts: number;
  readonly result: { readonly stdout: string } | null;
  readonly error: unknown;
}

async function run(person: Person, command: string, ms = 2 * minutes): Promise<Task> {
  const { id } = await person<{ id: string }>('POST', '/beta/work', { payload: { command } });
  return ended(person, id, ms);
}

async function ended(person: Person, id: string, ms: number): Promise<Task> {
  const task = await until(
    `task ${id} ends`,
    async () => {
      const { task } = await person<{ task: Task }>('GET', `/beta/work/${id}`);
      return ['succeeded', 'failed', 'cancelled'].includes(task.status) && task;
    },
    ms,
  );
  assert.equal(task.status, 'succeeded', JSON.stringify(task));
  return task;
}

/** How large the image is, and how much of that its base. */
async function sizeOf(image: string): Promise<number> {
  return Math.round(Number(await shell(`docker image inspect --format '{{.Size}}' ${image}`)) / 1e6);
}

const { scene, failed, fail } = createScenes(async () => {
  for (const words of ['ps', 'logs --tail=40 cloud worker postgres'])
    console.log((await compose(words).catch(String)).replace(/^/gm, '     '));
});

async function play(): Promise<void> {
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work, { recursive: true });
  writeCommands();
  const daemon = await startDaemon({ folder, network: [], config: { 'live-restore': true } });
  const early = () => void stopDocker(daemon).finally(() => process.exit(1));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, early);
  try {
    // What a run that was killed has left in a folder that is kept.
    await removeContainers();
    await openDoor(outside, doorPort);
    await holdSocket(heldSocket, socket);
    await walk(daemon);
  } finally {
    await stopDocker(daemon);
  }
}

const removeContainers = () =>
  shell('docker ps -aq | xargs -r docker rm -f; docker volume ls -q | xargs -r docker volume rm', work);

async function stopDocker(daemon: Daemon): Promise<void> {
  await removeContainers().catch(String);
  await daemon.close();
}

/** Offers hosted computers as docs/deploy.md does. `ask`: as a program with one of two keys. `close`: compose knows nothing of them any more. */
async function beginHosting(
  userId: string,
  buildArgs: Readonly<Record<string, string>>,
  settings: readonly string[] = [],
) {
  const lines = [`GANTRY_DOCKER_SOCKET=${heldSocket}`, `GANTRY_COMPUTERS=${computers}`, ...settings];
  await shell(`echo '${lines.join('\n')}' >> .env`);
  const before = env.COMPOSE_FILE;
  env.COMPOSE_FILE = `compose.yml:computers.yml:${join(work, 'override.yml')}`;
  const args = Object.entries(buildArgs).map(([name, value]) => `--build-arg '${name}=${value}' `);
  await block('computers', {
    '/var/lib/gantry-computers': computers,
    '/var/run/docker.sock': heldSocket,
    'build computer': `build ${args.join('')}computer`,
  });
  await healthy('cloud');
  const admin = (words: string) => compose(`exec -T cloud gantry admin ${words}`);
  await until('the driver answers', async () => /The driver docker can make computers/.test(await admin('pool')));
  await admin(`projects create shop --user ${userId} --hosted-driver on`);
  const newKey = async (name: string) =>
    (await admin(`keys create --user ${userId} --name ${name} --scope computers | head -n 1`)).trim();
  const keys = [await newKey('shop'), await newKey('depot')];
  const ask = async <Result>(key: number, method: string, path: string, body?: unknown): Promise<Result> => {
    const headers = { authorization: `Bearer ${keys[key]}`, 'content-type': 'application/json' };
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await fetch(`${origin}${path}`, { method, headers, ...sent });
    const said = await answer.text();
    assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${said}`);
    return JSON.parse(said) as Result;
  };
  const close = () => {
    env.COMPOSE_FILE = before;
  };
  return { admin, ask, close };
}

async function playComputers(daemon: Daemon, person: Person, userId: string): Promise<void> {
  let hosting!: Awaited<ReturnType<typeof beginHosting>>;
  await scene('the image with a browser is built, and the cloud offers computers', async () => {
    const warm = ['GANTRY_COMPUTERS_WARM_DESKTOP=2', 'GANTRY_COMPUTERS_WARM_SHELL=4'];
    hosting = await beginHosting(userId, {}, warm);
    await person('PATCH', '/v1/computer_settings', { per_key_concurrency: 10 });
    return `gantry-computer has ${await sizeOf('gantry-computer')} MB`;
  });
  const back = (name: string) => async () => {
    await kill(name);
    for (const one of [name, 'cloud']) await healthy(one);
  };
  const kills = {
    cloud: back('cloud'),
    postgres: back('postgres'),
    engine: async () => {
      await daemon.kill();
      for (const one of ['postgres', 'cloud']) await healthy(one);
    },
  };
  await playTwenty({ ...hosting, shell, kills }, scene);
}

async function walk(daemon: Daemon): Promise<void> {
  const provider = await startOidcProvider({ origins: [origin], issuer: `https://${hosts.provider}`, port: 8100 });
  await startProxy(8100);
  knowNames();
  // What a person keeps from one server to the next.
  let person!: Person;
  let userId = '';
  let saved = 0;
  const succeeded = async () =>
    (await person<{ tasks: readonly unknown[] }>('GET', '/beta/work?status=succeeded')).tasks.length;

  await scene('a base and a PostgreSQL', async () => {
    const has = await shell(`docker image inspect ${bareImage}`, work).then(Boolean, () => false);
    if (!has) {
      const words = ['import', '--change', 'ENV PATH=/usr/local/bin:/usr/bin:/usr/sbin:/bin', '-', bareImage];
      const child = spawn(join(bin, 'docker'), words, { env, stdio: ['pipe', 'ignore', 'inherit'] });
      createReadStream(base).pipe(child.stdin!);
      assert.equal(await new Promise((resolve) => child.on('exit', resolve)), 0);
    }
    const trusting = join(work, 'trusting');
    mkdirSync(trusting);
    cpSync(trusted, join(trusting, 'machine.pem'));
    writeFileSync(
      join(trusting, 'Dockerfile'),
      `FROM ${bareImage}\nCOPY machine.pem /etc/ssl/machine.pem\nENV NODE_EXTRA_CA_CERTS=/etc/ssl/machine.pem\n`,
    );
    await shell(`docker build -t ${baseImage} ${trusting}`, work);
    const proxy = `--build-arg HTTP_PROXY=${door} --build-arg http_proxy=${door}`;
    await shell(
      `docker build --build-arg BASE=${bareImage} ${proxy} -t gantry-postgres:play ${join(import.meta.dirname, 'postgres')}`,
      work,
    );
    return `${await sizeOf(baseImage)} MB and ${await sizeOf('gantry-postgres:play')} MB`;
  });

  await scene('a clone and its settings', async () => {
    await shell(`git clone -q ${root} origin && git clone -q origin gantry`, work);
    await block('settings');
    const put = (name: string, value: string) =>
      shell(`sed -i '/^#* *${name}=/d' .env && echo '${name}=${value}' >> .env`);
    await put('GANTRY_BASE_URL', origin);
    await put('GANTRY_OIDC_ISSUER', `https://${hosts.provider}`);
    await put('GANTRY_OIDC_CLIENT_ID', provider.clientId);
    await put('GANTRY_BASE', baseImage);
    await put('POSTGRES_IMAGE', 'gantry-postgres:play');
    writeFileSync(join(deploy, 'secrets/oidc-client-secret'), provider.clientSecret);
    const own = {
      environment: { NODE_EXTRA_CA_CERTS: '/etc/play.pem' },
      extra_hosts: Object.values(hosts).map((name) => `${name}:${gateway}`),
      volumes: [`${certificate}:/etc/play.pem:ro`],
    };
    writeFileSync(join(work, 'override.yml'), JSON.stringify({ services: { cloud: own, worker: own } }));
    const mode = (await shell('stat -c %a .env')).trim();
    assert.equal(mode, '600');
    return 'a password of its own, in a file that only root reads';
  });

  await scene('the images are built, and the cloud becomes healthy', async () => {
    await block('up');
    await healthy('cloud');
    return `gantry-cloud has ${await sizeOf('gantry-cloud')} MB, ${await sizeOf(baseImage)} of them the base`;
  });

  await scene('a person signs in through the provider', async () => {
    person = await personAt(origin);
    const session = await person<{ user: string }>('GET', '/api/v1/session');
    userId = session.user;
    const page = await (await fetch(`${origin}/`)).text();
    assert.match(page, /<div id="root">/);
    return `as ${userId}, and the pages are served`;
  });

  await scene('callers are told apart by the address that the proxy names', async () => {
    const junk = (client: string) =>
      new Promise<number>((resolve, reject) => {
        const headers = { host: hosts.cloud, authorization: 'Bearer junk', 'x-forwarded-for': client };
        const asked = request({ host: '127.0.0.1', port: 3010, path: '/api/v1/session', headers }, (got) => {
          got.resume();
          resolve(got.statusCode ?? 0);
        });
        asked.on('error', reject).end();
      });
    for (let count = 0; count < 20; count += 1) await junk('198.51.100.7');
    assert.equal(await junk('198.51.100.7'), 429);
    assert.equal(await junk('198.51.100.8'), 401);
    return 'twenty bad credentials shut one address out, and no other';
  });

  await scene('a worker gets its key and does a task', async () => {
    await block('worker', { '<user>': userId });
    await healthy('worker');
    const { result } = await run(person, 'id -u; pwd; touch ran && ls');
    const [user, place, file] = (result?.stdout ?? '').split('\n');
    assert.equal(user, '10001');
    assert.match(place ?? '', /^\/tmp\/gantry-task-/);
    assert.equal(file, 'ran');
    return `gantry-worker has ${await sizeOf('gantry-worker')} MB; the task ran as user ${user} in ${place}`;
  });

  if (part === 'computers') {
    await playComputers(daemon, person, userId);
    await provider.close();
    return;
  }

  await scene('a hosted computer in a container', async () => {
    // Without the browser, whose packages would take minutes to come.
    const { ask, close } = await beginHosting(userId, { PROGRAMS: 'bubblewrap nftables util-linux procps' });
    const begun = performance.now();
    const { id } = await ask<{ id: string }>(0, 'POST', '/v1/computers', { toolset: 'shell' });
    const took = Math.round(performance.now() - begun);
    const exec = (command: string) =>
      ask<{ exec?: { exit_code: number }; content?: { text: string }[] }>(0, 'POST', `/v1/computers/${id}/toolset`, {
        ...{ toolset: 'shell', member: 'exec', input: { command, shell: true } },
      });
    assert.equal((await exec('id -un')).content?.[0]?.text, 'user\n');
    // Neither the cloud by its network, nor the database, nor the server.
    for (const place of [`${gateway}/3010`, '172.17.0.1/3128']) {
      const dialled = await exec(`timeout 3 bash -c 'exec 3<>/dev/tcp/${place}' 2>/dev/null`);
      assert.notEqual(dialled.exec?.exit_code, 0, place);
    }
    await ask(0, 'DELETE', `/v1/computers/${id}`);
    assert.equal((await shell('docker ps -aq --filter label=gantry.computer')).trim(), '');
    close();
    return `gantry-computer has ${await sizeOf('gantry-computer')} MB without a browser; one could be called after ${took} ms`;
  });

  await scene('both run without rights, on a root that nobody can write to', async () => {
    for (const name of ['cloud', 'worker']) {
      const inside = (words: string) => compose(`exec -T ${name} sh -c '${words}'`);
      assert.equal((await inside('id -u')).trim(), '10001', name);
      const status = await inside('cat /proc/1/status');
      assert.match(status, /^CapEff:\t0+$/m, name);
      assert.match(status, /^NoNewPrivs:\t1$/m, name);
      for (const place of ['/app/new', '/etc/new', '/usr/local/bin/new']) {
        await assert.rejects(inside(`touch ${place}`), /Read-only file system/, `${name} ${place}`);
      }
      const found = await inside(
        'find /app \\( -name .env -o -name "*.db" -o -name master.key -o -name .git \\) | head',
      );
      assert.equal(found, '', name);
    }
    return 'user 10001, no capability, no new privileges, /app, /etc and /usr refuse to be written';
  });

  await scene('a task cannot find the database', async () => {
    const { result } = await run(person, 'getent hosts postgres || echo nobody; getent hosts cloud | wc -l');
    assert.equal(result?.stdout, 'nobody\n1\n');
    return 'it finds the cloud, and nobody named postgres';
  });

  await scene('a database that is away makes the cloud unhealthy, and only for so long', async () => {
    await compose('stop postgres');
    await until('unhealthy', async () => (await serviceOf('cloud')).health === 'unhealthy', 2 * minutes);
    await compose('start postgres');
    await healthy('cloud');
    return 'unhealthy, then healthy again without a restart';
  });

  await scene('a restart keeps everything', async () => {
    await compose('restart');
    await healthy('cloud');
    await healthy('worker');
    const again = await person<{ user: string }>('GET', '/api/v1/session');
    assert.equal(again.user, userId);
    await run(person, 'true');
    return 'the same sign-in is valid, and the worker has its key';
  });

  for (const name of ['cloud', 'postgres', 'worker']) {
    await scene(`kill -9 of the ${name}`, async () => {
      const { id } = await person<{ id: string }>('POST', '/beta/work', { payload: { command: 'sleep 8; echo done' } });
      await until('the task runs', async () => {
        const { task } = await person<{ task: Task }>('GET', `/beta/work/${id}`);
        return task.status === 'running' || task.status === 'leased';
      });
      await kill(name);
      await healthy('cloud');
      await healthy('worker');
      const { result, attempts } = await ended(person, id, 4 * minutes);
      assert.equal(result?.stdout, 'done\n');
      return `it was started again by Docker, and the task that ran ended with its result, in attempt ${attempts}`;
    });
  }

  await scene('a backup', async () => {
    saved = await succeeded();
    await block('backup');
    const files = (await shell('stat -c "%n %a %s" gantry-cloud.dump gantry-keys.tar.gz')).trim().split('\n');
    for (const file of files) assert.match(file, / 600 \d{3,}$/);
    return files.join(', ');
  });

  await scene('an upgrade', async () => {
    const before = [await serviceOf('cloud'), await serviceOf('worker')];
    // What a next version has, as far as this page is concerned: another file, so other images.
    const commit = 'git -c user.name=Ada -c user.email=ada@example.org commit -q -a -m Next';
    await shell(`echo '// Next.' >> deploy/images/health.mjs && ${commit}`, join(work, 'origin'));
    await block('upgrade');
    await healthy('cloud');
    await healthy('worker');
    const after = [await serviceOf('cloud'), await serviceOf('worker')];
    for (const [index, { image }] of after.entries()) assert.notEqual(image, before[index]?.image);
    await run(person, 'true');
    return 'both run from new images, on the data of the old';
  });

  await scene('a restore on a new server', async () => {
    await run(person, 'echo made after the backup');
    assert.ok((await succeeded()) > saved);
    await compose('down -v');
    await assert.rejects(fetch(`${origin}/api/v1/health`).then((answer) => assert.equal(answer.status, 200)));
    await block('restore');
    await healthy('cloud');
    await healthy('worker');
    const session = await person<{ user: string }>('GET', '/api/v1/session');
    assert.equal(session.user, userId);
    assert.equal(await succeeded(), saved);
    const { result } = await run(person, 'echo as before');
    assert.equal(result?.stdout, 'as before\n');
    return `the same person is signed in, the ${saved} tasks of the backup are there and no later one, and the worker has its key`;
  });

  await scene('every block of the page was played', async () => {
    assert.deepEqual(
      [...blocks.keys()].filter((name) => !played.has(name)),
      [],
    );
    return [...played].join(', ');
  });
  await provider.close();
}

try {
  await play();
} catch (error) {
  if (failed() === 0) fail('between scenes', error as Error);
}
process.exit(failed() === 0 ? 0 : 1);
