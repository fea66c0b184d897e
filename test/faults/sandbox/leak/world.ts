/** A person's computer with secrets in every place that a program could look at, with Gantry, and with the bots that look. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { agentsOf, type Product, scratchHome, startProduct, teamUp } from '../../../support/bench/product.ts';
import { type Outside, places } from './outside.ts';
import type { Lie } from './probes.ts';

type Bot = 'closed' | 'open';

export interface World {
  /** Of the secret that the closed bot has as a placeholder only. */
  readonly value: string;
  /** What must not be seen, by what it is. */
  readonly secrets: Readonly<Record<string, string>>;
  start(outside: Outside): Promise<void>;
  /** Runs the lines in the bot's shell, one after the other. */
  inside<Ran>(bot: Bot, order: { readonly prelude: string; readonly lines: readonly object[] }): Promise<Ran[]>;
  /** A path with variables, as it is outside. */
  pathOf(path: string, bot: Bot, token: string): string;
  /** Whether this was shown in the third bot's terminal. */
  terminalHas(word: string): Promise<boolean>;
  /** Whether a file of Gantry has this text. */
  keeps(text: string): boolean;
  close(): Promise<void>;
}

const policy = `rules:
  - { when: { tool: network, host: "good.example.org:80" }, then: allow }
  - { when: { tool: network, host: "api.example.org" }, then: allow }
`;
const key = 'API_KEY: "vault:API_KEY"';
const team = `name: leak
version: 1
bots:
  - { bot: closed, role: worker, harness: shell, sandbox: closed, network: { presets: [agent, remote] }, env: { ${key}, GIT_KEY: "vault:GIT_KEY" } }
  - { bot: open, role: worker, harness: shell, sandbox: none, env: { ${key} } }
  - { bot: mate, role: worker, harness: shell }
`;
const remotes = ['good', 'moving', 'inner'];

const newSecret = (name: string) => `leak_${name}_${randomBytes(12).toString('hex')}`;
const names = [
  ...['key', 'ssh', 'aws', 'netrc', 'npmrc', 'gh', 'git', 'typed', 'project', 'history', 'dump', 'temporary', 'shared'],
  ...['account', 'mail', 'variable', 'argument', 'memory', 'open', 'around', 'agent', 'service', 'metadata', 'server'],
];

/** In a mount namespace of this process's own, whose terminals, shared memory and resolver it replaces. */
export async function openWorld({ folder, code }: { readonly folder: string; readonly code: string }): Promise<World> {
  const secrets: Record<string, string> = Object.fromEntries(names.map((name) => [name, newSecret(name)]));
  const value = secrets.key ?? '';
  const sshKey = newSshKey(folder);
  secrets.ssh = sshKey.secret.split('\n')[3] ?? '';
  const place = scratchHome({ leak: team }, folder);
  const { home: G, workspace: WORKSPACE } = place;
  const H = dirname(G);
  const [OTHER, DISK, SHARED] = [join(H, 'other'), '/mnt', '/dev/shm/leak'];
  const TMP = mkdtempSync('/tmp/gantry-leak-');
  const put = (path: string, text: string) => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  };
  ownSystem(folder);
  for (const [path, text] of Object.entries({
    [`${H}/.ssh/known_hosts`]: `good.example.org ${sshKey.open}`,
    [`${H}/.aws/credentials`]: secrets.aws,
    [`${H}/.netrc`]: `machine example.org password ${secrets.netrc}`,
    [`${H}/.npmrc`]: `//registry.example.org/:_authToken=${secrets.npmrc}`,
    [`${H}/.config/gh/hosts.yml`]: secrets.gh,
    [`${H}/.git-credentials`]: `https://me:${secrets.git}@example.org`,
    [`${H}/.bash_history`]: `login --password ${secrets.typed}`,
    [`${H}/.zshrc`]: '',
    [`${H}/.gitconfig`]: '[user]\n\tname = Ada\n\temail = ada@example.org\n[safe]\n\tdirectory = *\n',
    [`${H}/.docker/run/there`]: '',
    [`${OTHER}/.env`]: secrets.project,
    [`${OTHER}/settings`]: secrets.history,
    [`${DISK}/core.daemon`]: secrets.dump,
    [`${TMP}/half-written`]: secrets.temporary,
    [SHARED]: secrets.shared,
    [`${G}/accounts/claude/work/.credentials.json`]: secrets.account,
    [`${WORKSPACE}/.gantry/policy.yaml`]: policy,
    [`${WORKSPACE}/README.md`]: 'words\n',
    [`${WORKSPACE}/.gitignore`]: '.probes\n',
  })) {
    put(path, `${text}\n`);
  }
  // The same key lies at home and is given to the closed bot.
  writeFileSync(`${H}/.ssh/id_ed25519`, sshKey.secret, { mode: 0o600 });
  const git = (at: string, ...args: string[]) =>
    execFileSync('git', ['-C', at, ...args], { env: { PATH: process.env.PATH, HOME: H }, stdio: 'ignore' });
  for (const at of [OTHER, WORKSPACE]) {
    git(at, 'init', '-q');
    git(at, 'add', '.');
    git(at, 'commit', '-qm', 'first');
  }
  rmSync(join(OTHER, 'settings'));
  for (const name of remotes) git(WORKSPACE, 'remote', 'add', name, `https://${name}.example.org/web.git`);
  const folderOfProbes = join(WORKSPACE, '.probes');
  mkdirSync(folderOfProbes);
  copyFileSync(join(import.meta.dirname, 'inside.ts'), join(folderOfProbes, 'inside.ts'));

  let daemon: ChildProcess | null = null;
  let product: Product | null = null;
  const ids: Partial<Record<Bot, string>> = {};
  let runs = 0;

  const running = (): Product => {
    if (product === null) throw new Error('Gantry was not started.');
    return product;
  };
  const variablesOf = (bot: Bot): Record<keyof Lie, string> => ({
    ...{ H, G, OTHER, DISK, TMP, SHARED, WORKSPACE, CODE: code },
    OWN: join(G, 'run', 'bots', ids[bot] ?? ''),
    WEB: new URL(running().origin).port,
    NODE: process.execPath,
  });

  /** Whatever a bot asks is refused, as by a person at the inbox. */
  async function refuseWhile(isOver: () => boolean): Promise<void> {
    const { web } = running();
    while (!isOver()) {
      const path = '/api/factory/approvals';
      const { approvals } = await web.call<{ approvals: { id: string }[] }>('GET', `${path}?state=pending`);
      for (const { id } of approvals) {
        await web.call('POST', `${path}/${id}/resolve`, { decision: 'reject' }).catch(() => {});
      }
      await delay(100);
    }
  }

  return {
    value,
    secrets,
    async start(outside) {
      await outside.socket(join(H, '.ssh', 'agent.sock'), secrets.agent ?? '');
      await outside.socket(join(H, '.docker', 'run', 'docker.sock'), secrets.service ?? '');
      await outside.socket('\0gantry-leak', 'hello');
      const authority = join(H, 'authority.pem');
      writeFileSync(authority, outside.authority);
      daemon = await startDaemon(OTHER, secrets);
      product = await startProduct({
        ...place,
        env: {
          ...place.env,
          SSH_AUTH_SOCK: join(H, '.ssh', 'agent.sock'),
          NODE_EXTRA_CA_CERTS: authority,
          // Of those that bots are not given.
          npm_config_word: secrets.around ?? '',
        },
      });
      secrets.token = product.token;
      secrets['master key'] = readFileSync(join(G, 'master.key'), 'utf8').trim();
      const destination = {
        host: 'api.example.org',
        port: 443,
        header: 'authorization',
        form: 'bearer',
        methods: ['GET'],
      };
      await product.engine.call('PUT', '/api/factory/vault/API_KEY', { value, destination });
      const code = { host: 'good.example.org', port: 22, form: 'ssh' };
      await product.engine.call('PUT', '/api/factory/vault/GIT_KEY', { value: sshKey.secret, destination: code });
      await teamUp(product, 'leak');
      for (const { slug, id } of await agentsOf(product.engine, 'leak')) {
        if (slug === 'closed' || slug === 'open') ids[slug] = id;
        else secrets['token of another bot'] = readFileSync(join(G, 'run', 'bots', id, 'token'), 'utf8').trim();
      }
      await product.engine.call('POST', '/api/factory/send', { to: 'mate@leak', text: `echo ${secrets.mail}` });
    },
    async inside<Ran>(bot: Bot, { prelude, lines }: { readonly prelude: string; readonly lines: readonly object[] }) {
      runs += 1;
      const [orders, results] = [
        join(folderOfProbes, `orders-${runs}.json`),
        join(folderOfProbes, `results-${runs}.json`),
      ];
      writeFileSync(orders, JSON.stringify({ prelude, lines, variables: variablesOf(bot) }));
      const text = `${process.execPath} ${join(folderOfProbes, 'inside.ts')} ${orders} ${results}`;
      await running().engine.call('POST', `/api/factory/agents/${bot}@leak/input`, { text, keys: ['Enter'] });
      const isOver = () => existsSync(results);
      const until = performance.now() + lines.length * 21_000;
      await refuseWhile(() => isOver() || performance.now() > until);
      if (!isOver()) throw new Error(`${bot} never ended its tries.`);
      return JSON.parse(readFileSync(results, 'utf8')) as Ran[];
    },
    pathOf: (path, bot, token) =>
      path.replaceAll(/\$([A-Z]+)/g, (_, name: string) =>
        name === 'T' ? token : (variablesOf(bot)[name as keyof Lie] ?? ''),
      ),
    async terminalHas(word) {
      const { engine } = running();
      const path = '/api/factory/agents/mate@leak/capture?lines=300';
      return (await engine.call<{ text: string }>('GET', path)).text.includes(word);
    },
    keeps: (text) => filesIn(G).some((file) => readFileSync(file, 'latin1').includes(text)),
    async close() {
      await product?.stop();
      daemon?.kill('SIGKILL');
      await place.remove();
      rmSync(TMP, { recursive: true, force: true });
      for (const name of readdirSync(join(code, 'node_modules'))) {
        if (name.startsWith('.leak-')) rmSync(join(code, 'node_modules', name));
      }
    },
  };
}

/** Of a kind that signs without being asked for anything. */
function newSshKey(folder: string): { readonly secret: string; readonly open: string } {
  const file = join(mkdtempSync(join(folder, 'key-')), 'key');
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'deploy', '-f', file]);
  const open = readFileSync(`${file}.pub`, 'utf8').split(' ').slice(0, 2).join(' ');
  return { secret: readFileSync(file, 'utf8'), open };
}

/** Terminals, shared memory, a disk and a resolver of these namespaces alone. */
function ownSystem(folder: string): void {
  const mount = (...args: string[]) => execFileSync('mount', args);
  mount('-t', 'devpts', '-o', 'newinstance,ptmxmode=0666,mode=0620', 'devpts', '/dev/pts');
  mount('--bind', '/dev/pts/ptmx', '/dev/ptmx');
  mount('-t', 'tmpfs', 'tmpfs', '/dev/shm');
  mount('-t', 'tmpfs', 'tmpfs', '/mnt');
  const etc = mkdtempSync(join(folder, 'etc-'));
  for (const [name, text] of Object.entries({
    'resolv.conf': `nameserver ${places.resolver}\noptions timeout:2 attempts:1\n`,
    'nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files dns\n',
    hosts: '127.0.0.1 localhost\n::1 localhost\n',
  })) {
    writeFileSync(join(etc, name), text);
    mount('--bind', join(etc, name), `/etc/${name}`);
  }
}

/** A program of the person's, with a secret in each place where a program has any. */
async function startDaemon(cwd: string, secrets: Readonly<Record<string, string>>): Promise<ChildProcess> {
  const script = [
    '$SIG{USR1} = sub {};',
    'my $id = shmget(0x6c65616b, 64, 01600); defined $id or die; shmwrite($id, $ENV{SHARED}, 0, 64) or die;',
    'open my $f, "+>", "open-file" or die; print $f $ENV{OPEN}; $f->flush; unlink "open-file";',
    '$| = 1; print "ready\\n"; sleep 1 while 1;',
  ].join(' ');
  const daemon = spawn('perl', ['-MIO::Handle', '-e', script, 'leak-daemon', secrets.argument ?? ''], {
    cwd,
    env: { PATH: process.env.PATH, SECRET: secrets.variable, SHARED: secrets.memory, OPEN: secrets.open },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(daemon.stdout, 'data');
  return daemon;
}

function filesIn(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}
