/** A program that is killed and started again: its output over all its lives, and whether it ended unasked. */
import { withDescendants } from './bench/processes.ts';
import { startVictim, type Victim } from './victim.ts';

export interface Said {
  readonly line: string;
  /** When it was read, ms since the epoch. */
  readonly at: number;
}

export interface Restarts {
  readonly name: string;
  readonly said: readonly Said[];
  readonly kills: readonly number[];
  /** A sentence for each end that nobody asked for. */
  readonly surprises: readonly string[];
  isUp(): boolean;
  pid(): number | null;
  /** Resolves once it is ready. Rejects when it ends before. */
  start(): Promise<void>;
  /** As when its computer loses its power: it and all that it has started, at once. */
  kill(): Promise<void>;
  /** In good order; answers its exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

export interface RestartsOptions {
  readonly name: string;
  /** A function is asked at each start: another version may take its place. */
  readonly command: readonly [string, ...string[]] | (() => readonly [string, ...string[]]);
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** The line that says that it is ready; absent: it is as soon as it runs. */
  readonly ready?: (line: string) => boolean;
}

export function createRestarts({ name, command, env, cwd, ready }: RestartsOptions): Restarts {
  const said: Said[] = [];
  const kills: number[] = [];
  const surprises: string[] = [];
  let life: Victim | null = null;
  let isReady = false;

  function over(): void {
    life = null;
    isReady = false;
  }

  return {
    name,
    said,
    kills,
    surprises,
    isUp: () => isReady,
    pid: () => life?.pid ?? null,
    async start() {
      const born = startVictim({
        command: typeof command === 'function' ? command() : command,
        env,
        ...(cwd === undefined ? {} : { cwd }),
      });
      life = born;
      born.onLine((line) => said.push({ line, at: Date.now() }));
      void born.ended.then(({ code, signal }) => {
        if (life !== born) return;
        surprises.push(`${name} ended by itself (${code ?? signal}): ${born.lines.slice(-3).join(' / ')}`);
        over();
      });
      if (ready !== undefined) await born.until(ready);
      isReady = true;
    },
    async kill() {
      const dying = life;
      if (dying === null) return;
      over();
      dying.child.kill('SIGSTOP');
      const all = withDescendants(dying.pid).map(({ pid }) => pid);
      for (const pid of [dying.pid, ...all]) {
        try {
          process.kill(pid, 'SIGKILL');
        } catch {
          // It has ended already.
        }
      }
      await dying.ended;
      kills.push(Date.now());
    },
    async stop(signal = 'SIGTERM') {
      const ending = life;
      if (ending === null) return null;
      over();
      ending.child.kill(signal);
      return (await ending.ended).code;
    },
  };
}
