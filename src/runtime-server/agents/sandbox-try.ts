/**
 * Tries from inside what the sandbox of a bot holds: a small program is started as the bot's own would be, and tells what it can do. For bots in
 * terminals of this computer. Must not know how a sandbox is made.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { AppError } from '../../contracts/common/errors.ts';
import { type HarnessName, ownAccount } from '../../contracts/factory/agent.ts';
import { type SandboxRow, type TriedSandbox, trySandbox } from '../../contracts/factory/sandbox-routes.ts';
import { type BoundRoute, bind } from '../../kit/http/types.ts';
import { programCommand } from '../../kit/process/programs.ts';
import { runProcess } from '../../kit/process/run-process.ts';
import type { ProbeAnswer, ProbeQuestions } from '../../kit/sandbox/probe.ts';
import type { Base } from '../base/base.ts';
import { accountPlace, accountsIn, signedInAs } from '../harness/accounts.ts';
import { botEnvironment, type Environment } from '../harness/environment.ts';
import type { BotSpec, Launch } from '../harness/harness.ts';
import { keptBy } from '../harness/programs.ts';
import type { BotSecrets } from '../vault/vault.ts';
import type { Accounts } from './accounts/accounts.ts';
import type { BotHomes } from './bot-homes.ts';
import type { BotSandboxes } from './bot-sandboxes.ts';
import type { Member, Registry } from './registry.ts';
import type { TeamService } from './team-service.ts';

type Row = SandboxRow;
type Host = ProbeQuestions['hosts'][number];

/** With its connections, which are tried at once. */
const probeMs = 30_000;
/** In homes, with what they are; those that are there are asked for. */
const secretsAtHome = [
  '.ssh',
  '.aws',
  '.gnupg',
  '.kube',
  '.docker',
  '.netrc',
  '.npmrc',
  '.config/gh',
  '.git-credentials',
];
/** Where each program asks its model. */
const modelHosts: Readonly<Partial<Record<HarnessName, string>>> = {
  claude: 'api.anthropic.com',
  codex: 'api.openai.com',
  copilot: 'api.githubcopilot.com',
  gemini: 'generativelanguage.googleapis.com',
  qwen: 'dashscope.aliyuncs.com',
};
const someHosts = ['registry.npmjs.org', 'github.com'];
/** Of the computer's provider, if it is a rented one: it hands out keys. */
const metadata: Host = { host: '169.254.169.254', port: 80 };

interface TryDeps extends Pick<Base, 'ids'> {
  readonly registry: Pick<Registry, 'members'>;
  readonly teams: Pick<TeamService, 'refuseUnread'>;
  readonly sandboxes: Pick<BotSandboxes, 'wanted' | 'tightened' | 'confine'>;
  readonly accounts: Pick<Accounts, 'signIn'>;
  readonly homes: BotHomes;
  readonly secrets: Pick<BotSecrets, 'placeholders'>;
  readonly home: string;
  readonly userHome: string;
  readonly workspace: string;
  readonly env: Environment;
}

export function sandboxTryRoutes(deps: TryDeps): BoundRoute[] {
  return [
    bind(trySandbox, async ({ params, query }) => {
      const members = deps.registry
        .members(params.name)
        .filter(
          ({ slug, placement, remote }) =>
            placement.inTerminal && remote === null && [undefined, slug].includes(query.bot),
        );
      if (members.length === 0) {
        deps.teams.refuseUnread(params.name);
        const who = query.bot === undefined ? `Team ${params.name}` : `${query.bot}@${params.name}`;
        throw new AppError('usage', `${who} has no bot in a terminal of this computer.`, 'Name another team or bot.');
      }
      const hosts = hostsOf(query.hosts ?? '');
      const bots: TriedSandbox[] = [];
      // One after the other: each starts a program.
      for (const member of members) bots.push(await tryOne(deps, member, hosts));
      return { body: { bots } };
    }),
  ];
}

function hostsOf(text: string): Host[] {
  const words = text.split(',').filter((word) => word !== '');
  return words.map((word) => {
    const [, host = '', port = ''] = /^\[?([A-Za-z0-9_.:-]+?)\]?:(\d{1,5})$/.exec(word) ?? [];
    if (host !== '' && Number(port) > 0 && Number(port) < 65_536) return { host, port: Number(port) };
    throw new AppError(
      'usage',
      `${JSON.stringify(word)} is no destination.`,
      'Give a host and a port, such as github.com:443.',
    );
  });
}

/** As it runs, or as it would be started. */
function specOf({ registry: _, ...deps }: TryDeps, member: Member): BotSpec | null {
  if (member.live && member.spec !== null) return member.spec;
  const { definition: bot } = member;
  const harness = bot?.harnesses[0];
  if (bot === null || harness === undefined) return null;
  const first = bot.accounts[0] ?? ownAccount;
  const spec: BotSpec = {
    agentId: member.id,
    slug: member.slug,
    team: member.team,
    harness,
    model: bot.model,
    command: bot.command,
    cwd: bot.cwd,
    env: bot.env,
    culture: null,
    ...(bot.sandbox === null ? {} : { sandbox: bot.sandbox }),
    ...(first === ownAccount ? {} : { account: first }),
  };
  return deps.sandboxes.tightened(spec);
}

async function tryOne(deps: TryDeps, member: Member, more: readonly Host[]): Promise<TriedSandbox> {
  const spec = specOf(deps, member);
  const common = { agentId: member.id, agent: member.address, sandbox: spec?.sandbox?.mode ?? 'none' };
  if (spec === null) return { ...common, trouble: 'Its team file has problems.', rows: [] };
  const asked = questionsFor(deps, spec, more, await deps.secrets.placeholders(spec));
  try {
    const answer = await ask(deps, spec, asked.questions);
    return { ...common, trouble: null, rows: [...asked.read(answer), ...spending(deps, spec)] };
  } catch (error) {
    if (!(error instanceof AppError) || error.code === 'internal') throw error;
    return { ...common, trouble: `${error.fact} ${error.action}`, rows: [] };
  }
}

/** In the bot's own sandbox, with its variables; not in its groups, whose limits are the bot's. */
async function ask(deps: TryDeps, spec: BotSpec, questions: ProbeQuestions): Promise<ProbeAnswer> {
  if (!existsSync(spec.cwd)) throw new AppError('refused', `Its folder ${spec.cwd} is not there.`, 'Start it first.');
  const paths = await deps.homes.open(spec.agentId);
  const bot = signedInAs(spec, accountsIn(deps.home));
  const launch: Launch = {
    command: [...programCommand('sandbox-probe'), JSON.stringify(questions)] as [string, ...string[]],
    cwd: spec.cwd,
    // A name of its own: the bot may be tried by two people at once, and while it starts.
    env: { ...botEnvironment(deps.env, bot, paths), GANTRY_PANE: deps.ids.next('trial') },
    cols: 80,
    rows: 24,
  };
  const { caps: _caps, ...sandbox } = spec.sandbox ?? { mode: 'files', read: [], write: [] };
  const confined = spec.sandbox === undefined ? null : await deps.sandboxes.confine({ ...bot, sandbox }, launch, paths);
  const { command, cwd, env } = confined ?? launch;
  const ran = await runProcess({ command, cwd, env, deadlineMs: probeMs }).finally(() => confined?.closeNetwork?.());
  if (ran.exitCode !== 0) {
    const said = ran.stderr.trim().split('\n').at(-1) ?? '';
    throw new AppError(
      'refused',
      `It could not be tried: ${said || 'the program inside did not answer'}.`,
      'Try again.',
    );
  }
  return JSON.parse(ran.stdout) as ProbeAnswer;
}

/** What is asked, and the rows that the answer makes. */
function questionsFor(
  deps: TryDeps,
  spec: BotSpec,
  more: readonly Host[],
  /** Secrets that it does not hold. */
  placeholders: readonly string[],
): { readonly questions: ProbeQuestions; read(answer: ProbeAnswer): Row[] } {
  const { home, userHome } = deps;
  const named: [path: string, note: string][] = [
    [spec.cwd, 'its folder'],
    [join(deps.workspace, '.gantry'), 'what may run in the workspace'],
    ...secretsAtHome.map((name): [string, string] => [join(userHome, name), 'keys of yours']),
    ...(keptBy(spec)?.folders ?? []).map((name): [string, string] => [
      join(userHome, name),
      'your own sign-in of its program',
    ]),
    ...accountFolders(home).map((folder): [string, string] => [folder, `account ${basename(folder)}`]),
    [join(home, 'runtime.db'), 'Gantry’s database'],
    [join(home, 'token'), 'your own token for Gantry'],
    [join(home, 'master.key'), 'the key of the vault'],
    ...(spec.sandbox?.read ?? []).map((path): [string, string] => [path, 'named in `sees`']),
    ...(spec.sandbox?.write ?? []).map((path): [string, string] => [path, 'named in `sees`']),
    ['/usr', 'the system'],
    ...sockets(deps.env).map((path): [string, string] => [path, 'a socket of a service']),
  ];
  const asked = new Map(named.filter(([path]) => existsSync(path)));
  const tokens = tokensOfOthers(home, spec.agentId);
  const model = modelHosts[spec.harness];
  const hosts: Host[] = [
    ...(model === undefined ? [] : [{ host: model, port: 443 }]),
    // A sandbox with a network of its own may ask its person about each new name.
    ...(['none', 'files'].includes(spec.sandbox?.mode ?? 'none') ? someHosts.map((host) => ({ host, port: 443 })) : []),
    metadata,
    ...ownPort(deps.homes.urlFile),
    ...more,
  ];
  const outside = { pid: process.pid, start: ownStart() };
  const atHome = namesIn(userHome);
  return {
    questions: { paths: [...asked.keys(), ...tokens], folder: userHome, hosts, outside },
    read: ({ paths, names, hosts: reached, seesOutside, secrets }) => [
      ...[...asked].map(([path, note]): Row => ({ topic: 'files', what: path, found: paths[path] ?? 'nothing', note })),
      namesRow(userHome, atHome, names),
      ...(tokens.length === 0
        ? []
        : [
            {
              topic: 'files' as const,
              what: 'tokens of other bots',
              found: most(tokens.map((one) => paths[one] ?? 'nothing')),
              note: `${tokens.length} tried`,
            },
          ]),
      ...Object.entries(reached).map(
        ([what, why]): Row => ({
          topic: 'network',
          what,
          found: why === null ? 'reach' : 'nothing',
          note: why ?? (what.startsWith('127.0.0.1') ? 'Gantry itself, which it needs' : null),
        }),
      ),
      { topic: 'processes', what: 'processes outside', found: seesOutside ? 'see' : 'nothing', note: null },
      keysRow(secrets.filter((name) => !placeholders.some((secret) => spec.env[name] === `vault:${secret}`))),
      ...(placeholders.length === 0
        ? []
        : [
            {
              topic: 'keys' as const,
              what: 'secrets that it can use and not read',
              found: 'nothing' as const,
              note: placeholders.join(', '),
            },
          ]),
    ],
  };
}

function keysRow(variables: readonly string[]): Row {
  const isNone = variables.length === 0;
  return {
    topic: 'keys',
    what: 'variables that look like keys',
    found: isNone ? 'nothing' : 'read',
    note: isNone ? null : variables.slice(0, 20).join(', '),
  };
}

const order: readonly Row['found'][] = ['change', 'read', 'see', 'nothing'];
const most = (found: readonly Row['found'][]): Row['found'] => order.find((one) => found.includes(one)) ?? 'nothing';

const paidWords = { subscription: 'a subscription', key: 'by use' } as const;

function spending({ accounts }: TryDeps, spec: BotSpec): Row[] {
  const account = spec.account ?? ownAccount;
  const { paidBy } = accounts.signIn(spec.harness, account, spec.env);
  const paid = paidBy === null ? 'unknown' : paidWords[paidBy];
  const caps = spec.sandbox?.caps;
  const limit = (what: string, value: string | null): Row => ({
    topic: 'spending',
    what,
    found: value === null ? 'open' : 'set',
    note: value,
  });
  return [
    ...(accountPlace(spec.harness) === null
      ? []
      : [limit('account', `${account === ownAccount ? 'your own sign-in' : account}, paid: ${paid}`)]),
    limit('memory', caps?.memory === undefined ? null : `${caps.memory} MiB`),
    limit('processes', caps?.processes === undefined ? null : String(caps.processes)),
    limit('processor', caps?.processor === undefined ? null : `${caps.processor} cores`),
    limit('disk', caps?.disk === undefined ? null : `${caps.disk} MiB`),
  ];
}

function accountFolders(home: string): string[] {
  const root = accountsIn(home);
  return namesIn(root).flatMap((program) => namesIn(join(root, program)).map((name) => join(root, program, name)));
}

function tokensOfOthers(home: string, own: string): string[] {
  const bots = join(home, 'run', 'bots');
  return namesIn(bots)
    .filter((id) => id !== own)
    .map((id) => join(bots, id, 'token'))
    .filter((file) => existsSync(file))
    .slice(0, 50);
}

function sockets(env: Environment): string[] {
  const session = env.XDG_RUNTIME_DIR;
  return [
    env.SSH_AUTH_SOCK,
    ...(session === undefined ? [] : [join(session, 'bus')]),
    '/run/docker.sock',
    '/tmp/.X11-unix',
  ].filter((path) => path !== undefined && path !== '') as string[];
}

/** Where the runtime listens. */
function ownPort(urlFile: string): Host[] {
  try {
    const { hostname, port } = new URL(readFileSync(urlFile, 'utf8').trim());
    return port === '' ? [] : [{ host: hostname, port: Number(port) }];
  } catch {
    return [];
  }
}

function ownStart(): string {
  try {
    return (
      readFileSync('/proc/self/stat', 'utf8')
        .replace(/^.*\) /s, '')
        .split(' ')[19] ?? '?'
    );
  } catch {
    return '?';
  }
}

/** What a sandbox has at the same place, such as a folder of its own settings, is nothing of the person's. */
function namesRow(userHome: string, atHome: readonly string[], inside: readonly string[]): Row {
  const seen = new Set(inside);
  const count = atHome.filter((name) => seen.has(name)).length;
  return {
    topic: 'files',
    what: userHome,
    found: count === 0 ? 'nothing' : 'see',
    note: `${count} of ${atHome.length} names in your home`,
  };
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
