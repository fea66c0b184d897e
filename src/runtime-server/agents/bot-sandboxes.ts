/**
 * The sandbox of a bot in a terminal (`sandbox: files` and `closed`): of this computer's files its program sees the system's, its own folder, its sign-in,
 * Gantry's code and what its team file names. It has the person's network, or one of its own. Must not know panes, teams or how a program is driven.
 */
import { existsSync, lstatSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { dirname, isAbsolute, join } from 'node:path';
import { AppError } from '../../contracts/common/errors.ts';
import { titleOf } from '../../contracts/factory/agent.ts';
import { type SandboxMode, strictestSandbox } from '../../contracts/factory/team-file.ts';
import { isPublic } from '../../kit/egress/addresses.ts';
import { createGit, type Git } from '../../kit/process/git.ts';
import { plainEnvironment, runProcess } from '../../kit/process/run-process.ts';
import { findBubblewrap } from '../../kit/sandbox/bubblewrap.ts';
import type { CapKeeper } from '../../kit/sandbox/caps.ts';
import { type Disk, sizeOf } from '../../kit/sandbox/disk-watch.ts';
import { filterFor } from '../../kit/sandbox/filter.ts';
import { confineInTerminal, findTerminalTools, type TerminalTools } from '../../kit/sandbox/in-terminal.ts';
import { findCode } from '../../kit/sandbox/own-code.ts';
import { hostMounts, type Mount, readIfThere, type Sandbox, systemMounts } from '../../kit/sandbox/sandbox.ts';
import type { Base } from '../base/base.ts';
import { accountFolder, accountsIn } from '../harness/accounts.ts';
import { findProgram } from '../harness/find-program.ts';
import type { BotPaths, BotSandbox, BotSpec, Launch } from '../harness/harness.ts';
import { keptBy, programs } from '../harness/programs.ts';
import type { GitSignIn } from '../sandboxes/index.ts';
import { repositoryOf } from '../tool-server/shell-sandbox.ts';
import { createFinder, isIn, realOf } from '../tool-server/what-runs-finder.ts';
import { guardWhatRuns } from '../tool-server/what-runs-guard.ts';
import type { BotNetworks, PlacedNetwork } from './bot-networks.ts';
import type { ResolvedTeam } from './team-file/resolve.ts';

export interface BotSandboxes {
  /** What the workspace wants of every bot in a terminal. */
  wanted(): SandboxMode;
  /** Why this computer cannot make one, as half a sentence; null: it can. Tries it at the first call. */
  missing(mode: Mode): Promise<string | null>;
  /** In which all of these can run here, and why none stricter, as half a sentence; null: it is the strictest. */
  strictest(bots: readonly Candidate[]): Promise<{ readonly mode: SandboxMode; readonly why: string | null }>;
  /** `usage` where the bot's sandbox would show nothing of use, or hide nothing. */
  check(spec: BotSpec): void;
  /** With the sandbox that the workspace wants by now. */
  tightened(spec: BotSpec): BotSpec;
  /** The start of the bot's program, in its sandbox if it has one; checks it once more. Its folder must exist. */
  confine(spec: BotSpec, launch: Launch, paths: BotPaths): Promise<Placed>;
  /** For bots of other people: their team files name no path of this computer. */
  forGuests(): BotSandboxes;
}

type Mode = BotSandbox['mode'];

/** A bot that might get a sandbox. `cwd` null: it gets a worktree. */
type Candidate = Pick<BotSpec, 'harness' | 'env'> & { readonly cwd: string | null };

type Placed = Launch & {
  /** What its pane's label says of it. */
  readonly network?: string;
  /** Where it has a network: for a program without a pane once it has ended, and for one that could not be started. */
  readonly closeNetwork?: () => Promise<void>;
  /** Where its disk has a limit. */
  readonly disk?: Disk;
};

interface Ready {
  readonly tools: TerminalTools;
  readonly filterFile: string | null;
}

/** Read by shells, terminals and git beside what every program reads. */
const moreReadable = [
  '/opt',
  ...['profile', 'profile.d', 'bash.bashrc', 'inputrc', 'terminfo', 'gitconfig', 'fonts', 'timezone', 'shells'].map(
    (name) => `/etc/${name}`,
  ),
];
/** Of a trial. Milliseconds. */
const trialMs = 10_000;
/** They lead to services of the person's session, which are not in the sandbox. */
const sessionVariables = ['SSH_AUTH_SOCK', 'DBUS_SESSION_BUS_ADDRESS', 'XDG_RUNTIME_DIR', 'GPG_AGENT_INFO'];

export function createBotSandboxes(
  deps: Pick<Base, 'clock' | 'ids' | 'log'> & {
    /** `GANTRY_HOME`. */
    readonly home: string;
    readonly userHome: string;
    readonly env: Readonly<Record<string, string | undefined>>;
    readonly policy: { sandbox(): SandboxMode };
    readonly caps: Pick<CapKeeper, 'make'>;
    readonly networks: Pick<BotNetworks, 'missing' | 'trial' | 'open'>;
    readonly platform?: NodeJS.Platform;
  },
): BotSandboxes {
  const { home, userHome } = deps;
  const finder = createFinder({ now: () => deps.clock.now() });
  const plain = plainEnvironment(deps.env as NodeJS.ProcessEnv);
  const git = createGit();
  const ready: Partial<Record<Mode, Promise<Ready | string>>> = {};

  const find = async (mode: Mode) => {
    // A full disk takes no filter.
    ready[mode] ??= (mode === 'files' ? look() : lookClosed()).catch(
      (error: Error) => `it cannot be prepared (${error.message})`,
    );
    const last = ready[mode];
    const found = await last;
    // A busy computer may have failed the trial.
    if (typeof found === 'string' && ready[mode] === last) delete ready[mode];
    return found;
  };

  async function look(): Promise<Ready | string> {
    const path = plain.PATH ?? '';
    const platform = deps.platform === undefined ? {} : { platform: deps.platform };
    const found = await findBubblewrap({ path, ...platform, sandbox: trialSandbox('files') });
    if (typeof found === 'string') return found;
    if (found.unheld.length > 0) deps.log.warn('Sandboxes of bots hold less here.', { unheld: found.unheld });
    const tools = await findTerminalTools(path);
    if (typeof tools === 'string') return tools;
    return { tools, filterFile: found.unheld.length > 0 ? null : keepFilter('files') };
  }

  async function lookClosed(): Promise<Ready | string> {
    const files = await find('files');
    if (typeof files === 'string') return files;
    const missing = deps.networks.missing();
    if (missing !== null) return missing;
    const filterFile = files.filterFile === null ? null : keepFilter('closed');
    // Without it a closed bot could reach what belongs to no network, such as the host of a virtual machine.
    if (filterFile === null) return 'nothing here filters system calls';
    const closed = { tools: files.tools, filterFile };
    const { command, env } = confineInTerminal(closed.tools, {
      ...{ sandbox: trialSandbox('closed'), command: ['true'], env: { PATH: plain.PATH ?? '' } },
      filterFile,
    });
    const tried = await runProcess({ command: [...deps.networks.trial(command)], env, deadlineMs: trialMs });
    if (tried.exitCode === 0) return closed;
    const why = tried.ended === null ? tried.stderr.trim() : `a trial took longer than ${trialMs / 1000} seconds`;
    return `a network of its own cannot be made here (${why.slice(0, 300) || `a trial ended with ${tried.exitCode}`})`;
  }

  function keepFilter(mode: Mode): string | null {
    const filter = filterFor(process.arch, networkOf[mode]);
    if (filter === null) return null;
    const folder = join(home, 'run');
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const file = join(folder, mode === 'files' ? 'sandbox-filter' : `sandbox-filter-${mode}`);
    writeFileSync(file, filter, { mode: 0o600 });
    return file;
  }

  /** The person's and Gantry's, also where a link leads to them. */
  const homes = () => [userHome, home].flatMap((folder) => [folder, realpathSync(folder)]);

  /** Why it cannot be closed, as half a sentence; null: it can. */
  function notClosed({ harness }: Pick<BotSpec, 'harness'>): string | null {
    if (programs[harness].isCalled !== true) return null;
    return `Gantry drives ${titleOf(harness)} through a server in it, which the sandbox "closed" makes unreachable`;
  }

  /** Why a sandbox would hide nothing in this folder; null: it would. */
  function notHidden(folder: string): string | null {
    const cwd = existsSync(folder) ? realpathSync(folder) : folder;
    const [realHome, realUserHome] = [realpathSync(home), realpathSync(userHome)];
    if (!isIn(cwd, realUserHome) && !isIn(cwd, realHome)) return null;
    const what = isIn(cwd, realHome) ? 'Gantry’s own folder' : 'your home folder';
    return `its folder ${folder} contains ${what}, so a sandbox would hide nothing`;
  }

  async function strictest(bots: readonly Candidate[]): ReturnType<BotSandboxes['strictest']> {
    const first = (words: readonly (string | null)[]) => words.find((one) => one !== null) ?? null;
    const notAtAll = first(bots.map(({ cwd }) => (cwd === null ? null : notHidden(cwd)))) ?? (await missing('files'));
    if (notAtAll !== null) return { mode: 'none', why: notAtAll };
    const why =
      first(bots.map(notClosed)) ?? first(bots.map((bot) => modelHere(bot, deps.env))) ?? (await missing('closed'));
    return { mode: why === null ? 'closed' : 'files', why };
  }

  async function missing(mode: Mode): Promise<string | null> {
    const found = await find(mode);
    return typeof found === 'string' ? found : null;
  }

  function check(spec: BotSpec): void {
    if (spec.sandbox === undefined) return;
    const open = spec.sandbox.mode === 'closed' ? notClosed(spec) : null;
    if (open !== null) throw new AppError('usage', open, 'Use `sandbox: files` for it, or another agent program.');
    const bare = notHidden(spec.cwd);
    if (bare !== null) throw new AppError('usage', bare, 'Give it `worktree: true` or a `cwd` of its own.');
    const realHome = realpathSync(home);
    for (const path of [...spec.sandbox.read, ...spec.sandbox.write]) {
      const real = realOf(path);
      if (isIn(home, path) || (real !== null && isIn(realHome, real))) {
        const fact = `\`sees\` names ${path}, which is in Gantry’s own folder`;
        throw new AppError('usage', fact, 'Leave it out: no bot sees that folder.');
      }
      if (real === null)
        throw new AppError('usage', `\`sees\` names ${path}, which does not exist`, 'Create it, or remove it there.');
      // Without links Gantry's folder is covered where it lies; below a link it would show under another path.
      const contains = isIn(real, realHome) || isIn(path, home);
      if (contains && (real !== path || home !== realHome)) {
        const fact = `\`sees\` names ${path}, which through a link contains Gantry’s own folder`;
        throw new AppError('usage', fact, 'Name folders in it that do not contain that one.');
      }
    }
  }

  /** Of a bot that starts now, in the folder that its path leads to. */
  function checkFolder({ cwd }: BotSpec, real: string, workspace: string): void {
    const [realHome, realWorkspace] = [realpathSync(home), realpathSync(workspace)];
    // Another bot may have put the link there.
    if (isIn(workspace, cwd) && !isIn(realWorkspace, real)) {
      const fact = `Its folder ${cwd} leads through a link to ${real}, outside of the workspace.`;
      throw new AppError('usage', fact, 'Name that folder itself as `cwd`, or remove the link.');
    }
    if (!isIn(realHome, real)) return;
    const open = ['workspace', 'worktrees', 'quick-runs', 'peers'].map((name) => join(realHome, name));
    if (isIn(realHome, realWorkspace)) open.push(realWorkspace);
    if (open.some((folder) => isIn(folder, real))) return;
    throw new AppError('usage', `Its folder ${cwd} is in Gantry’s own folder.`, 'Give it a `cwd` outside of that one.');
  }

  /** What the bot may change, and in it the files that say what may run, which it may only read. */
  async function ownMounts(spec: BotSpec, paths: BotPaths): Promise<Mount[]> {
    const root = realpathSync(rootOf(spec.cwd, paths.workspace));
    const repository = repositoryOf(spec.checkout ?? paths.workspace);
    // A folder that is not there cannot be read-only: the bot would make it.
    for (const at of repository.flatMap((folder) => ['hooks', 'info'].map((name) => join(folder, name)))) {
      try {
        if (lstatSync(at, { throwIfNoEntry: false }) === undefined) mkdirSync(at);
      } catch {
        // What its person may not write, the bot may not either.
      }
    }
    const roots = [...new Set([root, ...repository])];
    const guard = await guardWhatRuns(finder, {
      roots,
      hidden: [realpathSync(home)],
      env: plain,
      // Instructions for agents are part of what a bot works on.
      mayWrite: () => true,
      freshName: () => deps.ids.next('tmp'),
    });
    // Held open to put things back after a command; a bot runs for as long as it likes. A file that is replaced from outside loses its mount.
    guard.close();
    return [
      ...roots.map((at): Mount => ({ at, shows: 'write' })),
      ...guard.mounts.map(({ path, access }): Mount => ({ at: path, shows: access, ifThere: true })),
    ];
  }

  /**
   * Its sign-in and conversations, which it keeps over its starts. Where they lie is the person's to say: a team file, which may be somebody else's,
   * names paths only in `sees`.
   */
  function keptMounts(spec: BotSpec): Mount[] {
    // Of all sign-ins only that one.
    if (spec.account !== undefined)
      return [{ at: accountFolder(accountsIn(home), spec.harness, spec.account), shows: 'write' }];
    const { folders = [], files = [], elsewhere = {} } = keptBy(spec) ?? {};
    const own = folders.map((name) => join(userHome, name));
    // As the program itself does at its first start.
    for (const folder of own) mkdirSync(folder, { recursive: true, mode: 0o700 });
    const named = Object.entries(elsewhere).flatMap(([variable, below]) => {
      const at = deps.env[variable];
      return at === undefined || !isAbsolute(at) ? [] : [join(at, below)];
    });
    return [...own, ...files.map((name) => join(userHome, name)), ...named]
      .filter((at) => !isIn(at, userHome))
      .map((at): Mount => ({ at, shows: 'write', ifThere: true }));
  }

  async function programMounts(spec: BotSpec, launch: Launch, paths: BotPaths): Promise<Mount[]> {
    const [word = ''] = spec.command?.split(' ') ?? [];
    const plainWords = ['node', ...(/^[\w.+-]+$/.test(word) ? [word] : [])];
    const onPath = await Promise.all(plainWords.map((name) => findProgram(name, plain.PATH)));
    const files = [
      launch.program ?? launch.command[0],
      ...paths.gantry.slice(0, 1),
      ...onPath.filter((file) => file !== null),
    ];
    const code = findCode();
    return readIfThere([
      ...files.filter((file) => isAbsolute(file) && existsSync(file)).flatMap((file) => placesOf(file, homes())),
      ...code.shown.map((name) => join(code.root, name)),
      code.modules,
    ]);
  }

  /** Its token and settings, and where it may report; made before, because a mount needs something to cover. */
  function folderMounts(spec: BotSpec, paths: BotPaths): Mount[] {
    const spool = join(paths.folder, 'spool');
    mkdirSync(spool, { recursive: true, mode: 0o700 });
    const reports = keptBy(spec)?.reports ?? [];
    return [
      { at: paths.folder, shows: 'read' },
      { at: spool, shows: 'write' },
      ...reports.map((name): Mount => ({ at: join(paths.folder, name), shows: 'write', ifThere: true })),
      { at: paths.urlFile, shows: 'read', ifThere: true },
    ];
  }

  async function confine(spec: BotSpec, launch: Launch, paths: BotPaths): Promise<Placed> {
    const { sandbox } = spec;
    if (sandbox === undefined) return launch;
    const found = await find(sandbox.mode);
    if (typeof found === 'string') {
      const fact = `${spec.slug}@${spec.team} is to run in the sandbox "${sandbox.mode}", but ${found}.`;
      throw new AppError('refused', fact, 'Make the sandbox possible: `gantry doctor` says how.');
    }
    // Paths may lead elsewhere than when its team was started.
    check(spec);
    const cwd = realpathSync(launch.cwd);
    checkFolder(spec, cwd, paths.workspace);
    const way = { sandbox, launch, paths, found, cwd };
    // Asked meanwhile.
    const person = gitPerson(git, launch.env, paths.folder);
    if (sandbox.mode !== 'closed') return place(spec, { ...way, person, network: null });
    const network = await deps.networks.open(spec, launch.env.GANTRY_PANE ?? spec.agentId, paths);
    try {
      return await place(spec, { ...way, person, network });
    } catch (error) {
      await network.close();
      throw error;
    }
  }

  async function place(
    spec: BotSpec,
    {
      sandbox,
      launch,
      paths,
      found,
      cwd,
      person,
      network,
    }: {
      readonly sandbox: BotSandbox;
      readonly launch: Launch;
      readonly paths: BotPaths;
      readonly found: Ready;
      readonly cwd: string;
      readonly person: Promise<GitPerson>;
      readonly network: PlacedNetwork | null;
    },
  ): Promise<Placed> {
    const settings = await gitSettings(await person, launch.env, paths.folder, network?.gitSignIns ?? []);
    const replaced = new Set(network?.mounts.map(({ at }) => at));
    const mounts: Mount[] = [
      ...hostMounts().filter(({ at }) => !replaced.has(at)),
      ...(network?.mounts ?? []),
      ...readIfThere(moreReadable),
      { at: '/tmp', shows: 'empty' },
      { at: '/var/tmp', shows: 'empty' },
      ...[...new Set(homes())].map((at): Mount => ({ at, shows: 'empty' })),
      ...gitMounts(settings, launch.env.HOME === userHome ? userHome : null),
      ...(await programMounts(spec, launch, paths)),
      ...keptMounts(spec),
      ...folderMounts(spec, paths),
      ...(await ownMounts(spec, paths)),
      ...sandbox.read.map((at): Mount => ({ at, shows: 'read', ifThere: true })),
      ...sandbox.write.map((at): Mount => ({ at, shows: 'write', ifThere: true })),
    ];
    const env = {
      ...withoutSession(launch.env),
      ...settings,
      ...network?.env,
    };
    const placed = confineInTerminal(found.tools, {
      sandbox: sandboxOf(sandbox.mode, { mounts, cwd }),
      command: launch.command,
      env,
      filterFile: found.filterFile,
      groups: sandbox.caps === undefined ? [] : deps.caps.make(spec.agentId, sandbox.caps),
    });
    const disk = sandbox.caps?.disk === undefined ? {} : { disk: await diskOf(mounts) };
    if (network === null) return { ...launch, ...placed, ...disk };
    const { label, close } = network;
    const command = network.wrap(placed.command);
    return { ...launch, ...placed, ...disk, command, network: label, closeNetwork: close };
  }

  /** Also its sign-in and conversations, in which others may write too. */
  async function diskOf(mounts: readonly Mount[]): Promise<Disk> {
    const written = mounts.flatMap((mount) => (mount.shows === 'write' && existsSync(mount.at) ? [mount.at] : []));
    const folders = [...new Set(written.map((at) => realpathSync(at)))];
    const before = await sizeOf(folders).catch((error: Error) => {
      deps.log.warn('What a bot may write could not be measured before its start.', { error: error.message });
      return null;
    });
    return { folders, before };
  }

  function tightened(spec: BotSpec): BotSpec {
    const mode = strictestSandbox([spec.sandbox?.mode ?? 'none', deps.policy.sandbox()]);
    if (mode === 'none' || mode === spec.sandbox?.mode) return spec;
    return { ...spec, sandbox: { read: [], write: [], ...spec.sandbox, mode } };
  }

  const own: BotSandboxes = {
    wanted: () => deps.policy.sandbox(),
    missing,
    strictest,
    check,
    tightened,
    confine,
    forGuests: () => ({
      ...own,
      check: (spec) => check(asGuest(spec)),
      confine: (spec, launch, paths) => confine(asGuest(spec), launch, paths),
    }),
  };
  return own;
}

/** For the plan of a team's start. Whether a sandbox can be made is tried only where a bot wants one. */
export async function sandboxFacts(
  sandboxes: Pick<BotSandboxes, 'wanted' | 'missing'>,
  team: Pick<ResolvedTeam, 'bots'>,
): Promise<{ readonly sandbox: SandboxMode; readonly noSandbox: Readonly<Partial<Record<Mode, string>>> }> {
  const sandbox = sandboxes.wanted();
  const modes = new Set(team.bots.map((bot) => strictestSandbox([bot.sandbox?.mode ?? 'none', sandbox])));
  const noSandbox: Partial<Record<Mode, string>> = {};
  for (const mode of modes) {
    const missing = mode === 'none' ? null : await sandboxes.missing(mode);
    if (mode !== 'none' && missing !== null) noSandbox[mode] = missing;
  }
  return { sandbox, noSandbox };
}

function asGuest(spec: BotSpec): BotSpec {
  if (spec.sandbox === undefined) return spec;
  const { network: _, ...given } = spec.sandbox;
  const sandbox: BotSandbox = { ...given, read: [], write: [] };
  // Variables that name an address of its program's service count only where its person set them.
  return { ...spec, sandbox, env: {} };
}

const networkOf = { files: 'host', closed: 'names' } as const satisfies Record<Mode, Sandbox['network']>;

/** The terminal is the bot's own pane. */
function sandboxOf(mode: Mode, { mounts, cwd }: Pick<Sandbox, 'mounts' | 'cwd'>): Sandbox {
  const network = networkOf[mode];
  return { mounts: [...systemMounts(), ...mounts], network, terminal: 'kept', ends: 'with-parent', cwd };
}

const trialSandbox = (mode: Mode) => sandboxOf(mode, { mounts: [{ at: '/tmp', shows: 'empty' }], cwd: '/tmp' });

/** Only a rule lets a closed bot reach a model that is not out on the internet. Half a sentence; null: no variable names such a one. */
function modelHere(
  { harness, env }: Pick<BotSpec, 'harness' | 'env'>,
  own: Readonly<Record<string, string | undefined>>,
): string | null {
  const name = (programs[harness].service?.variables ?? []).find((variable) => {
    const host = URL.parse(env[variable] ?? own[variable] ?? '')?.hostname.replace(/^\[|\]$/g, '') ?? '';
    return isIP(host) === 0 ? /(?:^|\.)localhost$/.test(host) : !isPublic(host);
  });
  return name === undefined
    ? null
    : `${name} names a model on this computer or in your network, which only a rule opens`;
}

/** The bot's worktree, which its folder may lie deep in; otherwise its folder. */
function rootOf(cwd: string, workspace: string): string {
  if (isIn(workspace, cwd)) return cwd;
  for (let folder = cwd; dirname(folder) !== folder; folder = dirname(folder)) {
    if (lstatSync(join(folder, '.git'), { throwIfNoEntry: false })?.isFile() === true) return folder;
  }
  return cwd;
}

/** The folders that a program is installed in: where it is found, and where its files lie. Of a folder that contains a home, only the program. */
function placesOf(file: string, homes: readonly string[]): string[] {
  return [...new Set([file, realpathSync(file)])].flatMap((path) => {
    if (/^\/(?:usr|bin|sbin|lib|opt)\//.test(path)) return [];
    const parts = path.split('/');
    const at = parts.indexOf('node_modules');
    const folder = at > 0 ? parts.slice(0, at + 1).join('/') : dirname(path);
    // Other people's homes too.
    const isHome = ['/', '/home'].includes(dirname(folder)) || homes.some((home) => isIn(folder, home));
    return [isHome ? path : folder];
  });
}

function withoutSession(env: Launch['env']): Record<string, string> {
  const kept = Object.entries(env).filter(([name]) => !sessionVariables.includes(name));
  return { ...Object.fromEntries(kept), TMPDIR: '/tmp' };
}

/** Name and address in their settings of git. */
type GitPerson = ReadonlyMap<string, string>;

async function gitPerson(git: Git, env: Launch['env'], folder: string): Promise<GitPerson> {
  if (env.GIT_CONFIG_GLOBAL !== undefined) return new Map();
  const asked = ['config', '--global', '--null', '--get-regexp', '^user\\.(name|email)$'];
  const said = await git.try(folder, asked, { env: { HOME: env.HOME ?? '' } }).catch(() => null);
  // A key in lower case, a line's end, its value, a zero. Of a key that is there twice the last one counts, as everywhere in git.
  return new Map(
    (said?.exitCode === 0 ? said.stdout.split('\0') : []).map((entry) => {
      const [key = '', ...value] = entry.split('\n');
      return [key, value.join(' ').trim()];
    }),
  );
}

/** The person's settings of git are not in the sandbox, but their name is, and so is how git signs in where they gave the bot a secret for it. */
async function gitSettings(
  person: GitPerson,
  env: Launch['env'],
  folder: string,
  signIns: readonly GitSignIn[],
): Promise<{ readonly GIT_CONFIG_GLOBAL?: string }> {
  if (env.GIT_CONFIG_GLOBAL !== undefined) return {};
  const lines = ['name', 'email'].flatMap((key) => {
    const value = person.get(`user.${key}`) ?? '';
    return value === '' ? [] : [`  ${key} = ${inQuotes(value)}`];
  });
  const helpers = signIns.flatMap(({ url, placeholder }) => [
    `[credential ${inQuotes(url)}]`,
    `  helper = ${inQuotes(signsInWith(placeholder))}`,
  ]);
  const file = join(folder, 'gitconfig');
  await rm(file, { force: true });
  await writeFile(file, ['[user]', ...lines, ...helpers, ''].join('\n'), { mode: 0o600 });
  return { GIT_CONFIG_GLOBAL: file };
}

/** Also where git looks without the variable: some programs keep it from their commands. */
function gitMounts({ GIT_CONFIG_GLOBAL: from }: { readonly GIT_CONFIG_GLOBAL?: string }, home: string | null): Mount[] {
  return from === undefined || home === null ? [] : [{ at: join(home, '.gitconfig'), shows: 'read', from }];
}

/** As in a file of git's settings. */
const inQuotes = (text: string) => `"${text.replaceAll(/[\\"]/g, '\\$&')}"`;

/** A credential helper of git. Services that take a token as the password take any name beside it, but GitHub's Apps only this one. */
const signsInWith = (placeholder: string) =>
  `!f() { test "$1" = get || return 0; grep -q "^username=" || echo username=x-access-token; echo password=${placeholder}; }; f`;
