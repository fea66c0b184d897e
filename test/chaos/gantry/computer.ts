/** One computer with Gantry on it, as its person started it: the program that is killed and started again, its pane host and its agent programs. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { claudeEnv, claudeIn } from '../../real/claude-install.ts';
import { processes } from '../../support/bench/processes.ts';
import {
  endPrograms,
  type Product,
  paneHostOf,
  type ScratchHome,
  scratchHome,
  startProduct,
} from '../../support/bench/product.ts';
import { freePort } from '../../support/free-port.ts';
import { installStandInClaude } from '../../support/stand-in-claude/install.ts';
import { team, teamFile, writeTemplate } from './crew.ts';
import { openDisk } from './disk.ts';
import { lives } from './journal.ts';

const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));
/** A pane host that dies every few seconds is what is wanted here. */
const settings = { panes: { hostRestarts: 1000 } };
const backMs = 60_000;
/** Of the hosted bot. */
const apiKey = 'sk-test-0123456789';

export interface Computer {
  readonly place: ScratchHome;
  readonly journal: string;
  readonly runtimeFile: string;
  /** Throws while it is down. */
  product(): Product;
  isUp(): boolean;
  start(): Promise<void>;
  kill(): Promise<void>;
  /** Of the part with this name; null while it does not run. */
  pidOf(part: string): number | null;
  /** Until a pane host serves that is not this one. */
  hostBack(old: number | null): Promise<void>;
  setClock(seconds: number): void;
  /** Only of a computer that has a small disk. */
  fillDisk(forMs: number): Promise<void>;
  close(): Promise<void>;
}

export async function openComputer({
  modelUrl,
  spool,
  disk: hasDisk,
  claude,
}: {
  readonly modelUrl: string;
  readonly spool: boolean;
  /** Its data folder is on a disk of its own. */
  readonly disk: boolean;
  /** The folder with the real Claude Code, which is installed there if it is not; null: a stand-in for it. */
  readonly claude: string | null;
}): Promise<Computer> {
  const place = scratchHome({ [team]: teamFile });
  const folder = join(place.home, '..');
  const [journal, starts, clock] = ['journal', 'starts', 'clock'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  for (const file of [journal, starts, clock]) writeFileSync(file, '');
  writeTemplate(place.workspace);
  mkdirSync(place.home, { recursive: true, mode: 0o700 });
  const disk = hasDisk ? openDisk(place.home) : null;
  writeFileSync(join(place.home, 'settings.json'), JSON.stringify(settings), { mode: 0o600 });
  const bin = claude === null ? installStandInClaude(join(folder, 'bin')) : claudeIn(claude);
  if (claude !== null) writeFileSync(join(folder, '.claude.json'), JSON.stringify(knownTo(place.workspace)));
  const env = {
    ...place.env,
    PATH: `${bin}:${process.env.PATH}`,
    ...claudeEnv(modelUrl),
    ANTHROPIC_API_KEY: apiKey,
    CHAOS_WORK: here('./agent-work.mjs'),
    GANTRY_EGRESS_ALLOW: '127.0.0.1',
    NODE_OPTIONS: `--import ${here('./shift-clock.mjs')}`,
    NODE_COMPILE_CACHE: join(folder, 'compiled'),
    STAND_IN_WORK: here('./agent-work.mjs'),
    STARTS: starts,
    CHAOS_JOURNAL: journal,
    CHAOS_CLOCK: clock,
    ...(spool ? {} : { GANTRY_SPOOL: 'off' }),
  };
  const ports = { port: await freePort(), enginePort: await freePort() };
  let product: Product | null = null;

  return {
    place: { ...place, env },
    journal,
    runtimeFile: join(place.home, 'runtime.db'),
    isUp: () => product !== null,
    product() {
      if (product === null) throw new Error('Gantry is down.');
      return product;
    },
    async start() {
      product ??= await startProduct({ ...place, env }, ports);
    },
    async kill() {
      const dying = product;
      product = null;
      await dying?.kill();
    },
    pidOf(part) {
      if (part === 'runtime') return product?.pid ?? null;
      if (part === 'pane host') return paneHostOf(place.home);
      const agents = claude === null ? standIns(starts) : realAgents(journal);
      return agents[part === 'first agent' ? 0 : 1] ?? agents[0] ?? null;
    },
    async hostBack(old) {
      for (const end = performance.now() + backMs; performance.now() < end; await delay(100)) {
        const now = paneHostOf(place.home);
        if (now !== null && now !== old) return;
      }
      throw new Error('No pane host serves after a minute.');
    },
    setClock: (seconds) => writeFileSync(clock, seconds === 0 ? '' : String(seconds * 1000)),
    async fillDisk(forMs) {
      if (disk === null) throw new Error('This computer has no disk that can be filled.');
      disk.fill();
      try {
        await delay(forMs);
      } finally {
        disk.free();
      }
    },
    async close() {
      await product?.stop();
      await endPrograms(place.home);
      disk?.close();
      await place.remove();
    },
  };
}

/** What Claude Code remembers of its first start, so that it asks nothing about this folder. */
function knownTo(workspace: string): object {
  return {
    hasCompletedOnboarding: true,
    theme: 'dark',
    customApiKeyResponses: { approved: [apiKey.slice(-20)], rejected: [] },
    projects: { [workspace]: { hasTrustDialogAccepted: true } },
  };
}

/** Programs that run: of the conversation that began first, then of the others. */
function standIns(starts: string): number[] {
  const lines = existsSync(starts) ? readFileSync(starts, 'utf8').split('\n').filter(Boolean) : [];
  const pids = new Map<string, number>();
  for (const line of lines) {
    const [pid, , id = ''] = line.split(' ');
    pids.set(id, Number(pid));
  }
  return [...pids.values()].filter(lives);
}

/** Claude Code in the panes of one computer, by its variables; the oldest first. */
function realAgents(journal: string): number[] {
  return processes()
    .filter(({ pid, command }) => /(^|\/)claude( |$)/.test(command) && hasVariable(pid, `CHAOS_JOURNAL=${journal}`))
    .map(({ pid }) => pid)
    .toSorted((a, b) => a - b);
}

function hasVariable(pid: number, line: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(line);
  } catch {
    return false;
  }
}
