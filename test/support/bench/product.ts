/**
 * Gantry as a person gets it, in a scratch home: the built program where it is fresh, as `scripts/gantry.mjs` decides, with
 * journal, ledger, durable commits and authentication on.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { agreeToAll } from '../trust.ts';
import { startVictim, type Victim } from '../victim.ts';
import { type Caller, createCaller } from './http.ts';
import { processes } from './processes.ts';

const root = new URL('../../..', import.meta.url).pathname;
export const gantryCommand: readonly [string, ...string[]] = [process.execPath, join(root, 'scripts', 'gantry.mjs')];

export interface ScratchHome {
  readonly home: string;
  readonly workspace: string;
  readonly env: Readonly<Record<string, string>>;
  /** Ends every program of this home and removes it. */
  remove(): Promise<void>;
}

/** A data folder and a workspace of their own, with the given teams in it; in a new folder in `where`. */
export function scratchHome(teams: Readonly<Record<string, string>> = {}, where: string = tmpdir()): ScratchHome {
  const folder = mkdtempSync(join(where, 'gantry-bench-'));
  const home = join(folder, 'home');
  const workspace = join(folder, 'workspace');
  for (const [team, text] of Object.entries({ ...teams })) {
    mkdirSync(join(workspace, '.gantry', 'teams', team), { recursive: true });
    writeFileSync(join(workspace, '.gantry', 'teams', team, 'team.yaml'), text);
  }
  mkdirSync(workspace, { recursive: true });
  return {
    home,
    workspace,
    env: { HOME: folder, GANTRY_HOME: home },
    remove: async () => {
      await endPrograms(home);
      // An agent program that ends may still write to its home.
      rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
    },
  };
}

const paneHostMark = (home: string): string => `--home ${home}`;

/** Processes of this home: its servers and its pane host. */
function programsOf(home: string): number[] {
  // Servers have their home in a variable, and `startProduct` names their workspace.
  return processesWith(paneHostMark(home), `--workspace ${join(dirname(home), 'workspace')}`);
}

const processesWith = (...marks: readonly string[]): number[] =>
  processes()
    .filter(({ pid, command }) => pid !== process.pid && marks.some((mark) => command.includes(mark)))
    .map(({ pid }) => pid);

/** The pane host of this home; null while there is none. */
export function paneHostOf(home: string): number | null {
  return processesWith(paneHostMark(home))[0] ?? null;
}

/** Ends the servers and the pane host of a home. */
export async function endPrograms(home: string): Promise<void> {
  for (let tries = 0; tries < 100; tries += 1) {
    const left = programsOf(home);
    if (left.length === 0) return;
    // TERM lets the host end its bots; a host that does not is ended after two seconds.
    for (const pid of left) {
      try {
        process.kill(pid, tries < 40 ? 'SIGTERM' : 'SIGKILL');
      } catch {
        // Gone already.
      }
    }
    await delay(50);
  }
}

export interface Product {
  readonly pid: number;
  /** The one-time address that the start printed. */
  readonly url: string;
  readonly origin: string;
  readonly engineUrl: string;
  readonly token: string;
  /** Through the cloud API, as a browser goes. */
  readonly web: Caller;
  /** At the engine. */
  readonly engine: Caller;
  readonly victim: Victim;
  kill(): Promise<unknown>;
  /** Ends servers and bots in good order. */
  stop(): Promise<void>;
}

export interface StartOptions {
  readonly port?: number;
  readonly enginePort?: number;
  /** With the simulated carrier. */
  readonly demoPhone?: true;
  /** Its person says nothing to what the workspace says about what may run; by default they say yes. */
  readonly unasked?: true;
  /** Its process has begun, and is not ready yet. */
  readonly onBegun?: (pid: number) => void;
}

/** Starts the servers of a home without a window and waits until they say where they are. */
export async function startProduct(place: ScratchHome, options: StartOptions = {}): Promise<Product> {
  const ports = ['--port', String(options.port ?? 0), '--engine-port', String(options.enginePort ?? 0)];
  const phone = options.demoPhone === true ? ['--demo-phone'] : [];
  const command: [string, ...string[]] = [...gantryCommand, 'start', '--headless', '--json', ...ports, ...phone];
  const victim = startVictim({
    command: [...command, '--workspace', place.workspace],
    cwd: place.workspace,
    env: place.env,
  });
  options.onBegun?.(victim.pid);
  const line = await victim.until((text) => text.startsWith('{'));
  const said = JSON.parse(line) as { url?: string; engine?: string; pid?: number };
  if (said.url === undefined || said.engine === undefined || said.pid === undefined) {
    throw new Error(`gantry start said ${line}`);
  }
  const token = readFileSync(join(place.home, 'token'), 'utf8').trim();
  if (options.unasked !== true) {
    await agreeToAll(`${said.engine}/api/factory`, { authorization: `Bearer ${token}` });
  }
  const origin = new URL(said.url).origin;
  const web = createCaller(origin, token);
  const engine = createCaller(said.engine, token);
  const letGo = () => {
    web.close();
    engine.close();
  };
  return {
    pid: said.pid,
    url: said.url,
    origin,
    engineUrl: said.engine,
    token,
    web,
    engine,
    victim,
    kill: async () => {
      // Before its callers leave: what they asked for would else be stopped in good order.
      process.kill(said.pid as number, 'SIGKILL');
      await victim.ended;
      letGo();
    },
    stop: async () => {
      letGo();
      victim.child.kill('SIGTERM');
      await victim.ended;
      await endPrograms(place.home);
    },
  };
}

/**
 * The same for a figure, which is of the built program or of none: `gantry.mjs` itself takes the sources where the build is older.
 * Builds where it has to.
 */
export async function startBuilt(place: ScratchHome): Promise<Product> {
  execFileSync(process.execPath, [join(root, 'scripts', 'bootstrap.mjs'), 'start'], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return startProduct(place);
}

export interface BenchAgent {
  readonly id: string;
  readonly slug: string;
  readonly address: string;
  readonly state: string;
  readonly queueDepth: number;
}

/** Starts a team and waits until each of its bots can take a message. */
export async function teamUp(product: Product, team: string): Promise<BenchAgent[]> {
  await product.engine.call('POST', `/api/factory/teams/${team}/up`, {});
  return waitIdle(product, team);
}

export async function agentsOf(caller: Caller, team: string): Promise<BenchAgent[]> {
  return (await caller.call<{ agents: BenchAgent[] }>('GET', `/api/factory/agents?team=${team}`)).agents;
}

export async function waitIdle(product: Product, team: string): Promise<BenchAgent[]> {
  for (let tries = 0; tries < 600; tries += 1) {
    const agents = await agentsOf(product.engine, team);
    if (agents.length > 0 && agents.every(({ state }) => state === 'idle')) return agents;
    await delay(25);
  }
  throw new Error(`The bots of ${team} did not become idle: ${JSON.stringify(await agentsOf(product.engine, team))}`);
}

/** A team file of shell bots. */
export function shellTeam(name: string, slugs: readonly string[]): string {
  const bots = slugs.map((slug) => `  - { bot: ${slug}, role: worker, harness: shell }`);
  return `name: ${name}\nversion: 1\nbots:\n${bots.join('\n')}\n`;
}
