/**
 * The images, the compose file and docs/deploy.md, held against their rules without a container engine. `npm run test:docker` builds and
 * runs them.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import ipaddr from 'ipaddr.js';
import { expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { readCloudSettings } from '../../src/host/cloud-settings.ts';
import { readComputersEngine } from '../../src/host/computers-engine.ts';
import { computerUser, exitCodes, files, imageLabel, inside } from '../../src/programs/computer-init/protocol.ts';
import { blocksOf, root, textOf } from '../docs/blocks.ts';
import { scratchFolder } from '../support/scratch.ts';

interface Service {
  readonly image: string;
  readonly build?: { readonly context: string; readonly dockerfile: string; readonly args: Record<string, string> };
  readonly environment: Readonly<Record<string, string>>;
  readonly networks: readonly string[];
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly secrets?: readonly string[];
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly [key: string]: unknown;
}
interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly networks: Readonly<Record<string, { internal?: boolean; ipam?: { config: { subnet: string }[] } } | null>>;
  readonly secrets: Readonly<Record<string, { file: string }>>;
  readonly volumes: Readonly<Record<string, unknown>>;
  readonly version?: string;
}

const composeText = textOf('deploy/compose.yml');
const compose = parse(composeText) as Compose;
const computersText = textOf('deploy/computers.yml');
const computers = parse(computersText) as Pick<Compose, 'services'>;
const ours = ['cloud', 'worker'] as const;
const service = (name: string): Service => compose.services[name]!;

/** `${NAME:-default}`, `${NAME:?why}`: what the file asks of its reader. */
const variables = [...`${composeText}${computersText}`.matchAll(/\$\{(\w+)(?::([-?])([^}]*))?\}/g)].map(
  ([, name = '', kind, rest = '']) => ({
    name,
    fallback: kind === '-' ? rest : null,
  }),
);
const withDefaults = (text: string, given: Readonly<Record<string, string>>): string =>
  text.replace(/\$\{(\w+)(?::[-?]([^}]*))?\}/g, (_, name: string, rest = '') => given[name] ?? rest);

interface Step {
  readonly word: string;
  readonly rest: string;
}
/** The stages of a Dockerfile, each as its steps; what stands before the first is left out. */
function stagesOf(name: string): Step[][] {
  const text = textOf(`deploy/images/${name}.Dockerfile`);
  const lines = text
    .split('\n')
    .filter((line) => !line.startsWith('#'))
    .join('\n')
    .replace(/\\\n/g, ' ')
    .split('\n');
  const stages: Step[][] = [];
  for (const line of lines) {
    const [, word = '', rest = ''] = /^([A-Z]+) +(.*)$/.exec(line) ?? [];
    if (word === 'FROM') stages.push([]);
    if (word !== '') stages.at(-1)?.push({ word, rest });
  }
  return stages;
}
const stepsOf = (stage: readonly Step[], word: string): string[] =>
  stage.filter((step) => step.word === word).map(({ rest }) => rest);

// biome-ignore lint/suspicious/noTemplateCurlyInString: an argument of a Dockerfile
const base = '${BASE}';

test.each([...ours, 'computer'])(
  'the image of the %s has two stages on a base that is an argument with a version',
  (name) => {
    const stages = stagesOf(name);
    expect(stages.map((stage) => stage[0]?.rest)).toEqual([`${base} AS build`, base]);
    expect(textOf(`deploy/images/${name}.Dockerfile`)).toMatch(/^ARG BASE=node:24-[a-z]+-slim$/m);
  },
);

test('all images begin with the same stage, so that it is built once', () => {
  for (const name of ['worker', 'computer']) expect(stagesOf(name)[0]).toEqual(stagesOf('cloud')[0]);
});

test('the image of a computer has the user, the label and the first process that its driver counts on', () => {
  const last = stagesOf('computer')[1] ?? [];
  const { uid, gid } = computerUser;
  const made = stepsOf(last, 'RUN').join(' ');
  expect(made).toContain(`user:x:${uid}:${gid}:user:${inside.home}:/bin/sh`);
  expect(made).toContain(`chown ${uid}:${gid} ${inside.home} ${inside.data}`);
  expect(stepsOf(last, 'LABEL')).toEqual([`${imageLabel}=1`]);
  expect(stepsOf(last, 'CMD')).toEqual(['["/bin/bash", "/app/deploy/images/computer-init.sh"]']);
  const first = textOf('deploy/images/computer-init.sh');
  expect(first).toContain(`boot=\${GANTRY_BOOT:-${inside.channel}/${files.boot}}`);
  expect(first).toContain(`trap 'exit ${exitCodes.stopped}' USR1`);
  expect(first).toContain(`exit ${exitCodes.lifetimeOver}`);
});

test('packages come from the lock file, and none of their scripts runs', () => {
  const [build = []] = stagesOf('cloud');
  const installs = stepsOf(build, 'RUN').filter((command) => /\bnpm (?:ci|i|install)\b/.test(command));
  expect(installs).toHaveLength(1);
  expect(installs[0]).toMatch(/^npm ci .*--ignore-scripts/);
});

test.each(ours)(
  'the image of the %s runs as a user that is not root, and nothing is done as root after that',
  (name) => {
    const last = stagesOf(name)[1] ?? [];
    const users = stepsOf(last, 'USER');
    expect(users).toEqual(['10001:10001']);
    const after = last.slice(last.findIndex(({ word }) => word === 'USER') + 1).map(({ word }) => word);
    expect(after).not.toContain('RUN');
    expect(after).not.toContain('COPY');
    expect(after.at(-1)).toBe('CMD');
  },
);

test.each([...ours, 'computer'])(
  'the image of the %s copies only from its first stage, and only what there is',
  (name) => {
    const last = stagesOf(name)[1] ?? [];
    expect(stepsOf(last, 'ADD')).toEqual([]);
    const programs = [...textOf('vite.config.ts').matchAll(/^ {8}'?([\w-]+)'?: '(?:src|tools)\//gm)].map(
      ([, one]) => one,
    );
    expect(programs).toContain('cli');
    for (const copy of stepsOf(last, 'COPY')) {
      const [from, ...paths] = copy.split(' ');
      expect(from, copy).toBe('--from=build');
      for (const path of paths.slice(0, -1)) {
        expect(path).toMatch(/^\/src\//);
        const inside = path.slice('/src/'.length);
        const program = /^out\/server\/([\w-]+)\.js$/.exec(inside)?.[1];
        if (program !== undefined) expect(programs, path).toContain(program);
        // What the build makes is there only after one.
        else if (!inside.startsWith('out/')) expect(existsSync(join(root, inside)), path).toBe(true);
      }
    }
  },
);

test.each(ours)('the image of the %s has a health check, a volume for its data, and no secret', (name) => {
  const last = stagesOf(name)[1] ?? [];
  const [check = ''] = stepsOf(last, 'HEALTHCHECK');
  expect(check).toMatch(new RegExp(`CMD \\["node", "/app/deploy/images/health.mjs", "${name}"\\]$`));
  expect(stepsOf(last, 'VOLUME')).toEqual(['/var/lib/gantry']);
  const set = stagesOf(name).flatMap((stage) => [...stepsOf(stage, 'ENV'), ...stepsOf(stage, 'ARG')]);
  expect(set.join(' ')).not.toMatch(/secret|password|token|key/i);
});

/** The last line that matches decides, as with Docker; a folder stands for what is in it. */
function isSent(path: string): boolean {
  const lines = textOf('.dockerignore')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  let sent = true;
  for (const line of lines) {
    const pattern = line.replace(/^!/, '');
    const source = pattern
      .split(/(\*\*\/|\*)/)
      .map((part) => (part === '**/' ? '(?:.*/)?' : part === '*' ? '[^/]*' : part.replace(/[.]/g, '\\.')))
      .join('');
    if (new RegExp(`^${source}(?:/|$)`).test(path)) sent = line.startsWith('!');
  }
  return sent;
}

test('a build is sent the sources, and neither secrets nor history nor what is installed here', () => {
  const sources = ['package-lock.json', '.npmrc', 'vite.config.ts', 'src/cli/main.ts', 'docs/deploy.md'];
  for (const path of [...sources, 'deploy/images/health.mjs', 'tools/carrier-simulator/main.ts'])
    expect(isSent(path), path).toBe(true);
  const others = ['.git/config', '.env', 'deploy/.env', 'deploy/secrets/worker-key', 'node_modules/zod/package.json'];
  for (const path of [
    ...others,
    'out/server/cli.js',
    'tools/carrier-simulator/node_modules/a',
    'test/setup.ts',
    'key.pem',
  ])
    expect(isSent(path), path).toBe(false);
});

test('what the compose file keeps in deploy is ignored by git', () => {
  const ignored = textOf('.gitignore').split('\n');
  for (const { file } of Object.values(compose.secrets)) expect(file).toMatch(/^\.\/secrets\//);
  expect(ignored).toContain('/deploy/secrets/');
  expect(ignored).toContain('/deploy/.env');
});

test.each(ours)(
  'compose runs the %s without rights, on a root that it cannot write to, and starts it again',
  (name) => {
    const one = service(name);
    expect(one).toMatchObject({ read_only: true, cap_drop: ['ALL'], restart: 'unless-stopped' });
    expect(one.security_opt).toContain('no-new-privileges:true');
    expect(one.build).toMatchObject({ context: '..', dockerfile: `deploy/images/${name}.Dockerfile` });
    expect(existsSync(join(root, one.build!.dockerfile))).toBe(true);
  },
);

test('only the file of computers gives the cloud the socket of Docker, and with it nothing else', () => {
  const { cloud, computer, ...others } = computers.services;
  expect(others).toEqual({});
  expect(Object.keys(cloud ?? {}).toSorted()).toEqual(['environment', 'group_add', 'volumes']);
  const env = Object.fromEntries(
    Object.entries(cloud?.environment ?? {}).map(([name, text]) => [name, withDefaults(text, {})]),
  );
  expect(readComputersEngine(env)).toEqual({
    ...{ socket: '/var/run/docker.sock', image: 'gantry-computer:latest', runtime: null },
    ...{ most: { memory: 2048, processes: 1024 }, processor: null, maxImage: null, warm: { desktop: 0, shell: 0 } },
  });
  // The engine makes the paths that the cloud names.
  const [, mounted = ''] = (cloud?.volumes ?? []).map((text) => withDefaults(text, {}));
  expect(mounted).toBe(`${env.GANTRY_COMPUTERS}:${env.GANTRY_COMPUTERS}`);
  // Built, and never started by compose.
  expect(computer).toMatchObject({
    profiles: ['computer'],
    image: computers.services.cloud?.environment.GANTRY_COMPUTERS_IMAGE,
  });
});

test('no service has the socket of Docker, more rights, or the network of the host', () => {
  expect(composeText).not.toMatch(/docker\.sock|privileged|cap_add|network_mode|pid:|unconfined|userns_mode/);
});

test('only this machine reaches the cloud, only the cloud reaches the database, and no task does', () => {
  const published = Object.values(compose.services).flatMap(({ ports }) => ports ?? []);
  expect(published).toHaveLength(1);
  expect(published[0]).toMatch(/^127\.0\.0\.1:.*:3010$/);
  expect(service('postgres').networks).toEqual(['back']);
  expect(compose.networks.back).toMatchObject({ internal: true });
  expect(service('worker').networks).not.toContain('back');
  expect(service('cloud').networks).toEqual(['front', 'back']);
});

test('the cloud takes what compose gives it', () => {
  const folder = scratchFolder();
  const file = join(folder, 'secret');
  writeFileSync(file, 'a secret');
  const given = {
    POSTGRES_PASSWORD: 'abc',
    GANTRY_BASE_URL: 'https://gantry.example',
    GANTRY_OIDC_ISSUER: 'https://id.example',
  };
  const image = Object.fromEntries(
    stepsOf(stagesOf('cloud')[1] ?? [], 'ENV').flatMap((env) =>
      env.split(' ').map((one) => one.split('=') as [string, string]),
    ),
  );
  const env = Object.fromEntries(
    Object.entries({ ...image, ...service('cloud').environment }).map(([name, text]) => [
      name,
      withDefaults(text, given),
    ]),
  );
  expect(env.GANTRY_OIDC_CLIENT_SECRET_FILE).toBe('/run/secrets/oidc-client-secret');
  expect(service('cloud').secrets).toEqual(['oidc-client-secret']);
  expect(readCloudSettings({ ...env, GANTRY_OIDC_CLIENT_SECRET_FILE: file })).toMatchObject({
    home: '/var/lib/gantry',
    baseUrl: 'https://gantry.example',
    listen: { host: '0.0.0.0', port: 3010 },
    oidc: { issuer: 'https://id.example', clientId: 'gantry', clientSecret: 'a secret' },
    databaseUrl: 'postgres://gantry:abc@postgres:5432/gantry',
  });
});

test('the proxy that is trusted unless somebody says otherwise is the host in the network of the containers', () => {
  const fallback = (name: string) => variables.find((one) => one.name === name)?.fallback ?? '';
  const [address, bits] = ipaddr.parseCIDR(fallback('GANTRY_SUBNET'));
  const trusted = ipaddr.parse(fallback('GANTRY_TRUSTED_PROXY'));
  expect(trusted.match(address, bits)).toBe(true);
  // Docker gives itself the first address.
  expect(trusted.toString()).toBe(ipaddr.IPv4.parse(address.toString()).toString().replace(/0$/, '1'));
});

test('each variable of compose is in the example and in the guide, with the same default', () => {
  const example = new Map(
    [...textOf('deploy/example.env').matchAll(/^#? ?(\w+)=(.*)$/gm)].map(([, a = '', b = '']) => [a, b]),
  );
  const guide = textOf('docs/deploy.md');
  const names = [...new Set(variables.map(({ name }) => name))];
  expect([...example.keys()].toSorted()).toEqual(names.toSorted());
  for (const { name, fallback } of variables) {
    expect(guide, name).toContain(`\`${name}\``);
    if (fallback !== null) expect(example.get(name), name).toBe(fallback);
  }
});

test('the compose file has only what docker-compose 1.29 knows', () => {
  const known = new Set(
    'image build environment networks ports volumes secrets cap_drop security_opt depends_on healthcheck logging restart read_only tmpfs init stop_grace_period mem_limit pids_limit profiles'.split(
      ' ',
    ),
  );
  expect(compose.version).toBeUndefined();
  expect(Object.keys(compose).toSorted()).toEqual(['networks', 'secrets', 'services', 'volumes']);
  for (const [name, one] of Object.entries(compose.services))
    for (const key of Object.keys(one)) expect(known, `${name}.${key}`).toContain(key);
});

const hasCompose = spawnSync('docker-compose', ['--version']).status === 0;
test.skipIf(!hasCompose)('docker-compose takes the file with the example filled in (needs docker-compose)', () => {
  const folder = join(scratchFolder(), 'deploy');
  mkdirSync(folder);
  writeFileSync(join(folder, 'compose.yml'), composeText);
  const example = textOf('deploy/example.env');
  const config = (env: string) => {
    writeFileSync(join(folder, '.env'), env);
    return spawnSync('docker-compose', ['--profile', 'worker', 'config', '--services'], {
      cwd: folder,
      encoding: 'utf8',
    });
  };
  const empty = config(example);
  expect(empty.status).not.toBe(0);
  expect(empty.stderr).toContain('set it in deploy/.env');
  const filled = config(example.replace('POSTGRES_PASSWORD=', 'POSTGRES_PASSWORD=abc'));
  expect(filled.stderr).toBe('');
  expect(filled.stdout.trim().split('\n').toSorted()).toEqual(['cloud', 'postgres', 'worker']);
});

const blocks = blocksOf('docs/deploy.md');

test('each block of the guide that names the engine is run by Docker, under a name of its own', () => {
  const isNamed = /^npm run test:docker runs it, as (\w+)$/;
  const names = blocks.flatMap(({ notRun }) => isNamed.exec(notRun ?? '')?.[1] ?? []);
  expect(names.toSorted()).toEqual([...new Set(names)].toSorted());
  for (const { text, notRun } of blocks.filter((block) => block.text.includes('docker compose')))
    expect(notRun, text).toMatch(isNamed);
  for (const name of names)
    expect(blocks.find(({ notRun }) => notRun?.endsWith(`as ${name}`))?.text, name).toMatch(/docker compose|deploy/);
});

test('each service, file and option that the guide names in a command exists', () => {
  const text = blocks.map((block) => block.text).join('\n');
  const named = [...text.matchAll(/docker compose (?:exec|run)((?: --?[\w-]+)*) ([a-z]+)/g)].map(([, , name]) => name);
  expect(named.length).toBeGreaterThan(5);
  for (const name of named) expect(Object.keys(compose.services)).toContain(name);
  for (const [, file = ''] of text.matchAll(/secrets\/([\w-]+)/g)) expect(Object.keys(compose.secrets)).toContain(file);
  for (const [, user = ''] of text.matchAll(/chown (\d+)/g))
    expect(stepsOf(stagesOf('cloud')[1] ?? [], 'USER')[0]).toBe(`${user}:${user}`);
  expect(existsSync(join(root, 'deploy/example.env'))).toBe(true);
});

const canVerify = spawnSync('systemd-analyze', ['--version']).status === 0;
test.skipIf(!canVerify).each([
  ['gantry-worker', 'the worker'],
  ['gantry-computer-host', 'the computer host'],
])('systemd takes the unit %s of %s (needs systemd-analyze)', (name) => {
  const program = name.replace('gantry-', '');
  const unit = blocks.find(({ text }) => text.startsWith('[Unit]') && text.includes(`gantry.mjs ${program}`))?.text;
  expect(unit).toBeDefined();
  const file = join(scratchFolder(), `${name}.service`);
  // The program and the user of the guide are not on this machine.
  writeFileSync(file, unit!.replace('/usr/bin/node', process.execPath).replace('User=gantry-worker', 'User=root'));
  const { stdout, stderr, status } = spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' });
  const about = `${stdout}${stderr}`.split('\n').filter((line) => line.includes(name));
  expect(about).toEqual([]);
  expect(status).toBe(0);
});

const health = join(root, 'deploy/images/health.mjs');

async function serve(listener: RequestListener): Promise<number> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

function check(part: string, env: Readonly<Record<string, string>>): Promise<{ code: number | null; said: string }> {
  const child = spawn(process.execPath, [health, part], { env, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (data) => {
    said += data;
  });
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, said: said.trim() })));
}
const asCloud = (port: number) => ({ GANTRY_BASE_URL: 'https://gantry.example', GANTRY_LISTEN: `0.0.0.0:${port}` });

test('the health check asks the cloud at its public name, and passes on what it hears', async () => {
  const asked: string[] = [];
  let status = 200;
  const port = await serve((request, response) => {
    asked.push(`${request.headers.host}${request.url}`);
    response.writeHead(status).end();
  });
  expect(await check('cloud', asCloud(port))).toEqual({ code: 0, said: '' });
  expect(asked).toEqual(['gantry.example/api/v1/health']);
  status = 503;
  expect(await check('cloud', asCloud(port))).toEqual({ code: 1, said: '/api/v1/health answered 503.' });
});

test('the health check of a cloud that hangs ends', async () => {
  const port = await serve(() => {});
  expect(await check('cloud', asCloud(port))).toEqual({ code: 1, said: '/api/v1/health did not answer within 4 s.' });
});

const wrong: readonly (readonly [string, string, Readonly<Record<string, string>>])[] = [
  ['The cloud cannot be asked: Invalid URL.', 'cloud', { GANTRY_BASE_URL: 'no address' }],
  ['/api/v1/health cannot be asked: connect ECONNREFUSED 127.0.0.1:9.', 'cloud', asCloud(9)],
  ['The worker cannot be asked: ENOENT', 'worker', { GANTRY_HOME: '/nowhere' }],
  ['Give one of cloud, worker, not "neither".', 'neither', {}],
];

test.each(wrong)('the health check says “%s” and shows no stack', async (words, part, env) => {
  const { code, said } = await check(part, env);
  expect(code).toBe(1);
  expect(said).toContain(words);
  expect(said.split('\n')).toHaveLength(1);
});
