/**
 * The network of a bot in `sandbox: closed`: its own, with one way out, to whoever decides about each destination (`Sandboxes.open`). Knows bots by the
 * labels of their panes, so a restarted runtime takes their connections again. Must not know teams, files or what is allowed.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { AppError } from '../../contracts/common/errors.ts';
import { defaultNetworkPresets, networkPresets } from '../../contracts/factory/team-file.ts';
import { createGit } from '../../kit/process/git.ts';
import { nodeProgram, programFile } from '../../kit/process/programs.ts';
import { proxyAddress } from '../../kit/sandbox/launch-order.ts';
import {
  findNetworkTools,
  inOwnNetwork,
  namesFiles,
  namesMounts,
  proxyVariables,
} from '../../kit/sandbox/own-network.ts';
import type { Mount } from '../../kit/sandbox/sandbox.ts';
import type { Base } from '../base/base.ts';
import type { BotPaths, BotSpec } from '../harness/harness.ts';
import { programs, settingsHarnessOf } from '../harness/programs.ts';
import type { PaneEngine, PaneInfo } from '../panes/pane-engine.ts';
import type { GitSignIn, SandboxedBot, Sandboxes, SshFiles } from '../sandboxes/index.ts';
import { addressOf } from './model.ts';
import { labelsOf } from './pane-labels.ts';

/** Opens what decides about a bot's connections. */
export type OpenNetwork = Sandboxes['open'];
type OpenedNetwork = Awaited<ReturnType<OpenNetwork>>;

export interface BotNetworks {
  /** Why there can be none here, as half a sentence; null: what it takes is there. */
  missing(): string | null;
  /** The command in a network of its own with which nobody decides, to try it out. */
  trial(command: Command): Command;
  /** For the program that starts in this pane, or under this name; open until the pane ends or it is closed. */
  open(spec: BotSpec, paneId: string, paths: Pick<BotPaths, 'workspace' | 'folder'>): Promise<PlacedNetwork>;
  /** Takes the connections of bots that run already, and removes what is left of those that ended meanwhile. */
  start(): void;
  close(): void;
}

export interface PlacedNetwork {
  /** Instead of the computer's own files at the same paths. */
  readonly mounts: readonly Mount[];
  readonly env: Readonly<Record<string, string>>;
  readonly label: string;
  readonly gitSignIns: readonly GitSignIn[];
  wrap(command: Command): Command;
  /** For a program without a pane, and where the start failed. Closes only this opening of it; never rejects. */
  close(): Promise<void>;
}

type Command = readonly [string, ...string[]];

/** Without the threads that would compile and collect beside it: it does little, and counts among what its bot may have. */
const launcher = () => [nodeProgram(), '--v8-pool-size=0', programFile('sandbox-launch')];
/** HTTP, HTTPS, and git over SSH. */
const usualPorts = [80, 443, 22];
/** Each may add a port on which the launcher listens. */
const maxRemotes = 20;
/** In a trial nobody is asked. */
const tried = { socket: '/', ports: [443], local: [], enginePort: 3011 };

const Wish = z.strictObject({
  presets: z.array(z.enum(networkPresets)),
  apis: z.array(z.string()),
  remotes: z.array(z.string()),
  ports: z.array(z.number().int()),
});
type Wish = z.infer<typeof Wish>;

export function createBotNetworks(
  deps: Pick<Base, 'log'> & {
    /** `GANTRY_HOME`. */
    readonly home: string;
    readonly urlFile: string;
    readonly env: Readonly<Record<string, string | undefined>>;
    readonly panes: Pick<PaneEngine, 'engine' | 'list' | 'listen'>;
    readonly openNetwork: OpenNetwork;
    /** Removes what earlier runtimes left of other starts than these. */
    readonly removeLeft: Sandboxes['removeLeft'];
  },
): BotNetworks {
  const { openNetwork } = deps;
  const git = createGit();
  /** By pane, or by the name of a program without one. */
  const opened = new Map<string, Promise<OpenedNetwork>>();
  const ends = new Map<string, Promise<void>>();
  let isCleared = false;
  let unlisten = () => {};

  /** The same path is used again after a restart in the same pane. */
  function end(paneId: string): void {
    const one = opened.get(paneId);
    if (one === undefined) return;
    opened.delete(paneId);
    const ended = one
      .then((network) => network.close())
      .catch((error: unknown) => deps.log.warn('The network of a bot was not closed.', { error: String(error) }))
      .finally(() => ends.delete(paneId));
    ends.set(paneId, ended);
  }

  async function take(bot: SandboxedBot): Promise<Omit<OpenedNetwork, 'close'> & Pick<PlacedNetwork, 'close'>> {
    // Of the program that was in this pane before. Other starts of the bot are not ours to close: it may be starting, or being tried.
    end(bot.start);
    await ends.get(bot.start);
    const mine = openNetwork(bot);
    opened.set(bot.start, mine);
    const isOpen = () => opened.get(bot.start) === mine;
    // Where it fails, nothing is left to close.
    mine.catch(() => void (isOpen() && opened.delete(bot.start)));
    return {
      ...(await mine),
      async close() {
        if (!isOpen()) return;
        end(bot.start);
        await ends.get(bot.start);
      },
    };
  }

  /** It moves only if another program took its port while Gantry was away; then closed bots need a new start. */
  function enginePort(): number {
    try {
      return Number(new URL(readFileSync(deps.urlFile, 'utf8').trim()).port);
    } catch (cause) {
      const fact = 'Gantry’s own address is not known yet.';
      throw new AppError('refused', fact, 'Start its team again in a moment.', { cause });
    }
  }

  function filesFolder(): string {
    const folder = join(deps.home, 'run', 'closed-etc');
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    for (const [name, text] of Object.entries(namesFiles(hostname()))) writeFileSync(join(folder, name), text);
    return folder;
  }

  async function wishOf(spec: BotSpec, workspace: string): Promise<Wish> {
    const harness = settingsHarnessOf(spec);
    const service = harness === null ? undefined : programs[harness].service;
    const { presets = defaultNetworkPresets, ports = [] } = spec.sandbox?.network ?? {};
    const addresses = (service?.variables ?? []).flatMap((name) =>
      placeOf(spec.env[name] ?? deps.env[name] ?? '', service?.hosts ?? []),
    );
    return {
      presets: [...presets],
      apis: [...new Set([...(service?.hosts ?? []).map((host) => `${host}:443`), ...addresses])],
      remotes: presets.includes('remote') ? await remotesOf(spec.cwd, workspace) : [],
      ports: [...ports],
    };
  }

  async function remotesOf(cwd: string, workspace: string): Promise<string[]> {
    const asked = [cwd, workspace].map((folder) => git.try(folder, ['remote', '-v']).catch(() => null));
    for (const said of await Promise.all(asked)) {
      if (said?.exitCode !== 0) continue;
      const urls = said.stdout.split('\n').flatMap((line) => line.split(/\s+/)[1] ?? []);
      return [...new Set(urls.flatMap(remotePlace))].slice(0, maxRemotes);
    }
    return [];
  }

  function reconcile(): void {
    const panes = deps.panes.list().filter(({ alive }) => alive);
    // Before the pane host was read, no pane is known.
    if (!isCleared && deps.panes.engine().running) {
      isCleared = true;
      deps.removeLeft(panes.map(({ id }) => id));
    }
    for (const pane of panes) {
      const bot = opened.has(pane.id) ? null : closedIn(pane);
      if (bot === null) continue;
      takeAgain(bot).catch((error: unknown) =>
        deps.log.warn(`${bot.address} reaches nothing: its network could not be opened again.`, {
          error: String(error),
        }),
      );
    }
  }

  const takeAgain = async (bot: Omit<SandboxedBot, 'enginePort'>) => take({ ...bot, enginePort: enginePort() });

  function toolsHere() {
    return findNetworkTools(deps.env.PATH ?? '');
  }

  function wrap(order: Parameters<typeof inOwnNetwork>[2], command: Command): Command {
    const tools = toolsHere();
    if (typeof tools === 'string') throw new AppError('refused', `Here ${tools}.`, 'Install it.');
    return inOwnNetwork(tools, launcher(), order, command);
  }

  return {
    missing() {
      const tools = toolsHere();
      return typeof tools === 'string' ? tools : null;
    },
    trial: (command) => wrap(tried, command),
    async open(spec, paneId, { workspace, folder }) {
      const wish = await wishOf(spec, workspace);
      const port = enginePort();
      const address = addressOf(spec.slug, spec.team);
      const { socket, authority, gitSignIns, ssh, close } = await take({
        agentId: spec.agentId,
        address,
        start: paneId,
        ...wish,
        enginePort: port,
      });
      const ofRemotes = wish.remotes.map((place) => Number(place.split(':').at(-1)));
      const ports = [...new Set([...usualPorts, ...wish.ports, ...ofRemotes])];
      try {
        // Gantry's own file disappears with it and comes back as another one, which a mount does not follow.
        const urlFile = join(folder, 'url');
        writeFileSync(urlFile, `http://127.0.0.1:${port}\n`, { mode: 0o600 });
        return {
          mounts: [...namesMounts(filesFolder()), ...sshMounts(ssh)],
          env: {
            ...proxyVariables(),
            ...trusting([authority, textIn(deps.env.NODE_EXTRA_CA_CERTS)], folder),
            ...(ssh === null ? {} : { SSH_AUTH_SOCK: ssh.socket }),
            GANTRY_URL_FILE: urlFile,
          },
          label: JSON.stringify(wish),
          gitSignIns,
          wrap: (command) => wrap({ socket, ports, local: localPlaces(wish.apis, port), enginePort: port }, command),
          close,
        };
      } catch (error) {
        await close();
        throw error;
      }
    },
    start() {
      unlisten = deps.panes.listen({
        onExit: (_, info) => end(info.id),
        onEngine: (engine) => {
          if (engine.running) reconcile();
        },
      });
      reconcile();
    },
    close: () => unlisten(),
  };
}

/** Where every SSH looks for keys of hosts, whichever home its user has. */
function sshMounts(ssh: SshFiles | null): Mount[] {
  if (ssh === null) return [];
  return [
    { at: ssh.folder, shows: 'read' },
    { at: '/etc/ssh/ssh_known_hosts', shows: 'read', from: ssh.knownHosts },
  ];
}

/** Where systems keep the authorities that programs trust. */
const bundles = ['/etc/ssl/certs/ca-certificates.crt', '/etc/pki/tls/certs/ca-bundle.crt', '/etc/ssl/cert.pem'];
const withAll = [
  ...['SSL_CERT_FILE', 'CURL_CA_BUNDLE', 'REQUESTS_CA_BUNDLE', 'GIT_SSL_CAINFO'],
  ...['CARGO_HTTP_CAINFO', 'PIP_CERT', 'AWS_CA_BUNDLE'],
];

/**
 * Variables by which programs trust these authorities besides: Node and Deno are given those, the others a file with all of them. What the variables of
 * its person name is not in the sandbox.
 */
function trusting(authorities: readonly (string | null)[], folder: string): Record<string, string> {
  const more = authorities.filter((one) => one !== null).join('\n');
  if (more === '') return {};
  const [own, all] = [join(folder, 'authority.pem'), join(folder, 'authorities.pem')];
  const usual = bundles.find((file) => existsSync(file));
  writeFileSync(own, more, { mode: 0o600 });
  writeFileSync(all, `${textIn(usual) ?? ''}\n${more}`, { mode: 0o600 });
  return { NODE_EXTRA_CA_CERTS: own, DENO_CERT: own, ...Object.fromEntries(withAll.map((name) => [name, all])) };
}

/** Null if there is no such file, or it cannot be read; Node ignores it then, too. */
function textIn(file: string | undefined): string | null {
  try {
    return file === undefined ? null : readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}

/** The bot in a pane, if it is closed. */
function closedIn(pane: PaneInfo): Omit<SandboxedBot, 'enginePort'> | null {
  const labels = labelsOf(pane.labels);
  if (labels?.network === undefined) return null;
  const { agent, slug, team } = labels;
  const wish = wishIn(labels.network);
  return wish === null ? null : { agentId: agent, address: addressOf(slug, team), start: pane.id, ...wish };
}

function wishIn(text: string): Wish | null {
  try {
    return Wish.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

/** Of these places those on this computer, where they would otherwise be the bot's own. */
function localPlaces(apis: readonly string[], enginePort: number): { host: string; port: number }[] {
  const places = apis.flatMap((place) => {
    const { hostname: host, port } = new URL(`tcp://${place}`);
    return /^(?:localhost|127\.[\d.]+|\[::1\])$/.test(host) ? [{ host, port: Number(port) }] : [];
  });
  const byPort = new Map(places.map((place) => [place.port, place]));
  for (const taken of [enginePort, Number(proxyAddress.split(':')[1])]) byPort.delete(taken);
  return [...byPort.values()];
}

/** `host:port` of a URL, unless it is one of these on the usual port. */
function placeOf(url: string, hosts: readonly string[]): string[] {
  const parsed = URL.parse(url);
  if (parsed === null || !/^https?:$/.test(parsed.protocol) || hosts.includes(parsed.host)) return [];
  return [`${parsed.hostname}:${parsed.port || (parsed.protocol === 'http:' ? '80' : '443')}`];
}

const portsOfSchemes: Readonly<Record<string, string>> = {
  'https:': '443',
  'http:': '80',
  'ssh:': '22',
  'git:': '9418',
};

/** `host:port` of the address of a remote; nothing for a folder. */
function remotePlace(address: string): string[] {
  // `git@host:path`, as git reads it: no slash before the first colon.
  const short = /^(?:[^/@:]+@)?([a-z0-9.-]+):(?!\/\/)/i.exec(address);
  if (short?.[1] !== undefined) return [`${short[1].toLowerCase()}:22`];
  const parsed = URL.parse(address);
  const port = parsed === null ? undefined : parsed.port || portsOfSchemes[parsed.protocol];
  return parsed === null || port === undefined || parsed.hostname === '' ? [] : [`${parsed.hostname}:${port}`];
}
