/** Commands that an agent starts through its client, each in a process group of its own. What is left of them ends with this program. */
import { type ChildProcess, spawn } from 'node:child_process';
import type { CommandState, Order } from './protocol.ts';

interface Running {
  readonly child: ChildProcess;
  readonly keep: number;
  output: Buffer;
  truncated: boolean;
  exit: CommandState['exit'];
  readonly ended: Promise<void>;
}

const maxRunning = 20;
/** Ended by TERM, it has this long. Milliseconds. */
const politeMs = 1000;

export function createCommands() {
  const known = new Map<string, Running>();
  let next = 0;

  function find(name: string): Running {
    const found = known.get(name);
    if (found === undefined) throw new Error(`there is no terminal ${name}`);
    return found;
  }

  async function start({ command, args, env, cwd, keep }: Extract<Order, { do: 'start' }>): Promise<string> {
    if (known.size >= maxRunning) throw new Error(`${maxRunning} terminals are open; release one of them first`);
    const [program, words] = args === null ? ['/bin/sh', ['-c', command]] : [command, [...args]];
    const child = spawn(program, words, {
      cwd,
      env: { ...process.env, ...env },
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const running: Running = { child, keep, output: Buffer.alloc(0), truncated: false, exit: null, ended };
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => add(running, chunk));
    await new Promise<void>((begun, failed) => {
      child.once('spawn', begun);
      child.once('error', failed);
    });
    child.once('exit', (code, signal) => {
      // What it left running holds the pipes.
      endGroup(child, 'SIGKILL');
      running.exit = { code, signal };
    });
    child.once('close', () => resolve());
    next += 1;
    known.set(String(next), running);
    return String(next);
  }

  async function kill(name: string): Promise<CommandState> {
    const running = find(name);
    if (running.exit === null) {
      endGroup(running.child, 'SIGTERM');
      const late = setTimeout(() => endGroup(running.child, 'SIGKILL'), politeMs);
      await running.ended;
      clearTimeout(late);
    }
    return stateOf(running);
  }

  return {
    start,
    look: async (name: string) => stateOf(find(name)),
    async wait(name: string): Promise<CommandState> {
      const running = find(name);
      await running.ended;
      return stateOf(running);
    },
    kill,
    async release(name: string): Promise<CommandState> {
      const state = await kill(name);
      known.delete(name);
      return state;
    },
    endAll(): void {
      for (const { child, exit } of known.values()) if (exit === null) endGroup(child, 'SIGKILL');
    },
  };
}

/** Only whole characters are dropped. */
function add(running: Running, chunk: Buffer): void {
  const whole = Buffer.concat([running.output, chunk]);
  let from = Math.max(0, whole.length - running.keep);
  if (from > 0) running.truncated = true;
  while (from > 0 && from < whole.length && (whole[from]! & 0xc0) === 0x80) from += 1;
  running.output = whole.subarray(from);
}

function stateOf({ output, truncated, exit }: Running): CommandState {
  return { output: output.toString('utf8'), truncated, exit };
}

function endGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch {
    // Nothing of it is left.
  }
}
