/**
 * The way out of sandboxes without a network: one proxy program for all of them, which asks here about each connection. Owns who is asked and what is
 * remembered of it. Must not know how a program gets to its socket.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Agent } from '../../contracts/factory/agent.ts';
import { showHostAndPort } from '../../kit/egress/host-name.ts';
import { nodeProgram, programFile } from '../../kit/process/programs.ts';
import type { KeyUse, SshOrder } from '../../programs/sandbox-proxy/protocol.ts';
import type { Approvals } from '../approvals/index.ts';
import type { Base } from '../base/base.ts';
import type { Policy } from '../policy/index.ts';
import type { PlacedSecret } from '../vault/vault.ts';
import { createDecider, type Decider } from './decide.ts';
import { knownHostsOf } from './known-hosts.ts';
import type { Preset } from './presets.ts';
import { createProxyProgram } from './proxy-program.ts';
import { createRefusals } from './refusals.ts';

export interface SandboxedBot {
  readonly agentId: string;
  /** `slug@team`, as questions and rules name it. */
  readonly address: string;
  /** Names this start of the bot. With the same name it gets the same socket, also after a restart of Gantry. */
  readonly start: string;
  readonly presets: readonly Preset[];
  /** `host` or `host:port` of its agent program's API. */
  readonly apis: readonly string[];
  /** The same of the repository's remotes. */
  readonly remotes: readonly string[];
  /** On which its launcher takes connections of programs that know no proxy. Nothing is decided by them. */
  readonly ports: readonly number[];
  /** Of Gantry itself on this computer. */
  readonly enginePort: number;
}

/** A host that its git may sign in to, by a secret of which it has the placeholder. */
export interface GitSignIn {
  /** Such as `https://git.example.org:8443`. */
  readonly url: string;
  readonly placeholder: string;
}

export interface SshFiles {
  readonly folder: string;
  readonly socket: string;
  readonly knownHosts: string;
}

export interface Sandboxes {
  /**
   * Lets a bot out as far as it is allowed: its launcher connects to `socket`, which lies in a folder of its own that no sandbox sees. Open it again,
   * with the same `start`, for a bot that still runs after a restart of Gantry. Rejects with `transport` where no proxy can be started.
   */
  open(bot: SandboxedBot): Promise<{
    readonly socket: string;
    /** PEM of a certificate that its programs have to trust, because TLS is opened for the destinations of its secrets; null: it is opened for none. */
    readonly authority: string | null;
    readonly gitSignIns: readonly GitSignIn[];
    /** An SSH agent with its keys, in a folder that its sandbox may read, or null if it has none. */
    readonly ssh: SshFiles | null;
    close(): Promise<void>;
  }>;
  /** Removes the folders of sockets that belong neither to these starts nor to one that is open: their bots ended while no runtime was there. */
  removeLeft(starts: readonly string[]): void;
  /** What a bot was refused since this runtime began, the newest first. */
  refusedOf(agentId: string): Pick<Agent, 'refused'>;
  /** Of the proxy; null: none runs. */
  pid(): number | null;
  end(): Promise<void>;
}

interface OpenBot {
  readonly bot: SandboxedBot;
  readonly decider: Decider;
}

export function createSandboxes(
  deps: Pick<Base, 'clock' | 'timers' | 'log'> & {
    /** `GANTRY_HOME`. */
    readonly home: string;
    readonly userHome: string;
    readonly env: Readonly<Record<string, string | undefined>>;
    readonly policy: Pick<Policy, 'decide'>;
    readonly approvals: Pick<Approvals, 'ask'>;
    /** Secrets that a bot has as placeholders. */
    readonly keysOf: (agentId: string) => Promise<readonly PlacedSecret[]>;
    readonly seedOf: (agentId: string) => string;
    /** Where the cloud of this computer is reached, such as `http://127.0.0.1:3010`. */
    readonly webOrigin: () => string;
    /** How long a connection waits for a person. Milliseconds. */
    readonly waitsMs?: number;
  },
): Sandboxes {
  const open = new Map<string, OpenBot>();
  const refusals = createRefusals(deps.clock);
  const proxy = createProxyProgram({
    ...deps,
    // Its memory holds what others send: no debugger is opened by a signal.
    command: [nodeProgram(), '--disable-sigusr1', programFile('sandbox-proxy')],
    async decide({ id, host, port }) {
      const one = open.get(id);
      if (one === undefined) return { allow: false, reason: 'rule', why: 'its bot has ended' };
      const verdict = await one.decider.decide({ host, port });
      if (!verdict.allow) {
        refusals.count(one.bot.agentId, showHostAndPort({ host, port }), verdict.reason, verdict.why);
      }
      return verdict;
    },
    onRefused({ id, host, port, reason, why }) {
      const agentId = open.get(id)?.bot.agentId;
      const destination = host === null ? null : showHostAndPort({ host, port });
      if (agentId !== undefined) refusals.count(agentId, destination, reason, why);
    },
  });

  async function close(id: string): Promise<void> {
    open.get(id)?.decider.close();
    open.delete(id);
    proxy.close(id);
    rmSync(dirname(socketOf(deps.home, id)), { recursive: true, force: true });
  }

  /** Written before its sandbox is made, and not while it runs: a mount does not follow a new file. */
  async function sshOf(id: string, secrets: readonly PlacedSecret[]): Promise<SshOrder | null> {
    const keys = secrets.flatMap(({ name, value, ...to }) =>
      to.form === 'ssh' ? [{ name, value, place: sshPlace(to) }] : [],
    );
    if (keys.length === 0) return null;
    const { folder, socket, knownHosts } = sshFilesOf(deps.home, id);
    const here = { path: deps.env.PATH ?? '', userHome: deps.userHome };
    const known = await knownHostsOf([...new Set(keys.map(({ place }) => place))], here);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (textIn(knownHosts) !== known) writeFileSync(knownHosts, known, { mode: 0o600 });
    return { socket, knownHosts, keys };
  }

  return {
    async open(bot) {
      const id = idOf(bot.start);
      const socket = socketOf(deps.home, id);
      mkdirSync(dirname(socket), { recursive: true, mode: 0o700 });
      open.get(id)?.decider.close();
      const ownPorts = () => [bot.enginePort, ...portHere(deps.webOrigin())];
      const one: OpenBot = { bot, decider: createDecider(bot, { ...deps, ownPorts }) };
      open.set(id, one);
      let authority: string | null;
      let keys: readonly KeyUse[];
      let ssh: SshOrder | null;
      try {
        const secrets = await deps.keysOf(bot.agentId);
        keys = secrets.flatMap((secret) => (secret.form === 'ssh' ? [] : [secret]));
        ssh = await sshOf(id, secrets);
        const { enginePort, agentId } = bot;
        authority = await proxy.open({ id, socket, enginePort, keys, seed: deps.seedOf(agentId), ssh });
      } catch (fault) {
        if (open.get(id) === one) await close(id);
        throw fault;
      }
      return {
        socket,
        authority,
        gitSignIns: gitSignInsOf(keys),
        ssh: ssh === null ? null : sshFilesOf(deps.home, id),
        close: async () => void (open.get(id) === one && (await close(id))),
      };
    },
    removeLeft(starts) {
      const kept = new Set([...starts.map(idOf), ...open.keys()]);
      for (const id of idsIn(foldersIn(deps.home))) {
        if (kept.has(id)) continue;
        try {
          rmSync(dirname(socketOf(deps.home, id)), { recursive: true, force: true });
        } catch (error) {
          deps.log.warn('A folder of an ended sandbox was not removed.', { id, error: String(error) });
        }
      }
    },
    refusedOf(agentId) {
      const refused = refusals.of(agentId);
      return refused.length === 0 ? {} : { refused: [...refused] };
    },
    pid: proxy.pid,
    async end() {
      for (const { decider } of open.values()) decider.close();
      open.clear();
      await proxy.end();
    },
  };
}

/** Short, because the path of a socket is: 108 bytes on Linux. */
const idOf = (start: string): string => createHash('sha256').update(start).digest('hex').slice(0, 16);

const foldersIn = (home: string): string => join(home, 'run', 'sandboxes');

const socketOf = (home: string, id: string): string => join(foldersIn(home), id, 'out.sock');

/** The sandbox sees this folder, and not the one around it. */
function sshFilesOf(home: string, id: string): SshFiles {
  const folder = join(foldersIn(home), id, 'ssh');
  return { folder, socket: join(folder, 's'), knownHosts: join(folder, 'known_hosts') };
}

/** As SSH's files spell it. */
const sshPlace = ({ host, port }: { readonly host: string; readonly port: number }): string =>
  port === 22 ? host : `[${host}]:${port}`;

function textIn(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}

function idsIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => /^[0-9a-f]{16}$/.test(name));
  } catch {
    return [];
  }
}

/** Its port, if that is on this computer. */
function portHere(origin: string): number[] {
  if (!URL.canParse(origin)) return [];
  const { hostname, port } = new URL(origin);
  return /^(?:127\.|localhost$|\[::1\]$)/.test(hostname) && port !== '' ? [Number(port)] : [];
}

/** Git sends a password as HTTP's basic authorization, and nothing else. */
function gitSignInsOf(keys: readonly KeyUse[]): readonly GitSignIn[] {
  return keys
    .filter(({ form, header }) => form === 'basic' && header === 'authorization')
    .map(({ host, port, placeholder }) => ({ url: `https://${host}${port === 443 ? '' : `:${port}`}`, placeholder }));
}
