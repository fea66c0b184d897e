/** A display of its own for tests: Xvfb with openbox, and a window that counts what really arrives. Skips where Debian's programs are missing. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as later } from 'node:timers/promises';
import x11, { type XEvent } from 'x11';
import { createDesktop } from '../../../../src/programs/executor/desktop/create-desktop.ts';
import { connectDisplay } from '../../../../src/programs/executor/desktop/display.ts';
import type { ActedWith, HandsFault } from '../../../../src/programs/executor/hands.ts';
import type { ProgramEvent } from '../../../../src/programs/executor/protocol.ts';

/** What is missing here, in words; null: nothing. */
export const missing: string | null = (() => {
  const without = ['Xvfb', 'openbox', ...['xterm', 'maim', 'setxkbmap']].filter(
    (name) => spawnSync('sh', ['-c', `command -v ${name}`]).status !== 0,
  );
  return without.length === 0 ? null : `not installed here: ${without.join(', ')}`;
})();
if (missing !== null) console.warn(`The desktop is not tested: ${missing}.`);

export interface Lab {
  readonly display: string;
  readonly env: NodeJS.ProcessEnv;
  readonly home: string;
  /** Starts a program on the display; it ends with the lab. */
  run(command: string, args: readonly string[]): ChildProcess;
  /** The display goes away. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

export async function createLab(size: string, options: { readonly number?: number } = {}): Promise<Lab> {
  const home = mkdtempSync(join(tmpdir(), 'gantry-desk-'));
  const children: ChildProcess[] = [];
  const wanted = options.number === undefined ? ['-displayfd', '3'] : [`:${options.number}`, '-displayfd', '3'];
  const server = spawn('Xvfb', [...wanted, '-screen', '0', `${size}x24`, '-nolisten', 'tcp', '-noreset'], {
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
  });
  const number = await new Promise<string>((resolve, reject) => {
    server.stdio[3]!.once('data', (data: Buffer) => resolve(data.toString().trim()));
    server.once('exit', () => reject(new Error('Xvfb ended at once.')));
  });
  const env: NodeJS.ProcessEnv = {
    PATH: process.env.PATH,
    HOME: home,
    LANG: 'C.UTF-8',
    DISPLAY: `:${number}`,
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
  };
  const run: Lab['run'] = (command, args) => {
    const child = spawn(command, args, { env, stdio: 'ignore', detached: true });
    children.push(child);
    return child;
  };
  run('openbox', []);
  await untilManaged(`:${number}`);
  const ended = (child: ChildProcess) =>
    child.exitCode !== null || child.signalCode !== null
      ? Promise.resolve()
      : new Promise<void>((resolve) => child.once('exit', () => resolve()));
  return {
    display: `:${number}`,
    env,
    home,
    run,
    async kill() {
      server.kill('SIGKILL');
      await ended(server);
    },
    async stop() {
      for (const child of children) {
        try {
          process.kill(-child.pid!, 'SIGKILL');
        } catch {
          // It has ended by itself.
        }
      }
      await Promise.all(children.map(ended));
      server.kill('SIGTERM');
      await ended(server);
      rmSync(home, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** A window manager that comes up takes the focus for itself. */
async function untilManaged(display: string): Promise<void> {
  const connection = await connectDisplay({ DISPLAY: display }, 'linux');
  const { client, root } = connection;
  const check = await connection.must<number>((reply) => client.InternAtom(false, '_NET_SUPPORTING_WM_CHECK', reply));
  const isThere = () =>
    connection.must<{ type: number }>((reply) => client.GetProperty(0, root, check, 0, 0, 1, reply));
  while ((await isThere()).type === 0) await later(10);
  connection.close();
}

export interface Probe {
  readonly events: XEvent[];
  /** `press 1`, `release 1`, `key 38`, `up 38`, in their order. */
  words(): string[];
  close(): void;
}

/** A window over a part of the screen that takes the focus and writes down what it is sent. */
export async function createProbe(lab: Lab, area = { x: 0, y: 0, width: 400, height: 300 }): Promise<Probe> {
  const events: XEvent[] = [];
  const display = await new Promise<Parameters<Parameters<typeof x11.createClient>[1]>[1]>((resolve, reject) => {
    x11.createClient({ display: lab.display, shm: false }, (error, one) => (error ? reject(error) : resolve(one)));
  });
  const { client, screen } = display;
  const root = screen[0]!.root;
  const window = client.AllocID();
  const mask = x11.eventMask;
  client.on('error', () => {});
  client.CreateWindow(window, root, area.x, area.y, area.width, area.height, 0, 0, 1, 0, {
    overrideRedirect: 1,
    backgroundPixel: 0x336699,
    eventMask:
      mask.ButtonPress! |
      mask.ButtonRelease! |
      mask.KeyPress! |
      mask.KeyRelease! |
      mask.PointerMotion! |
      mask.Exposure!,
  });
  client.on('event', (event) => events.push(event));
  const raw = client as unknown as {
    MapWindow(id: number): void;
    SetInputFocus(id: number, revert: number): void;
    GetInputFocus(reply: () => void): void;
    terminate(): void;
  };
  raw.MapWindow(window);
  await new Promise<void>((resolve) => raw.GetInputFocus(resolve));
  raw.SetInputFocus(window, 0);
  await new Promise<void>((resolve) => raw.GetInputFocus(resolve));
  const names: Readonly<Record<string, string>> = {
    ButtonPress: 'press',
    ButtonRelease: 'release',
    KeyPress: 'key',
    KeyRelease: 'up',
  };
  return {
    events,
    words: () =>
      events
        .filter(({ name }) => name !== undefined && Object.hasOwn(names, name))
        .map((event) => `${names[event.name!]} ${event.keycode}`),
    close: () => raw.terminate(),
  };
}

export interface Hand {
  readonly events: ProgramEvent[];
  readonly frames: Uint8Array[];
  do(member: string, input?: Record<string, unknown>, signal?: AbortSignal): Promise<ActedWith>;
  /** The code of the fault, or `done`. */
  fault(
    member: string,
    input?: Record<string, unknown>,
    signal?: AbortSignal,
  ): Promise<HandsFault['fault']['code'] | 'done'>;
  readonly desktop: ReturnType<typeof createDesktop>;
}

export function createHand(env: NodeJS.ProcessEnv, platform?: NodeJS.Platform): Hand {
  const events: ProgramEvent[] = [];
  const frames: Uint8Array[] = [];
  const desktop = createDesktop({
    env,
    ...(platform === undefined ? {} : { platform }),
    emit: (event, bytes) => {
      events.push(event);
      if (event.event === 'frame') frames.push(bytes!);
      return true;
    },
  });
  const act: Hand['do'] = (member, input = {}, signal = new AbortController().signal) =>
    desktop.act(
      { do: 'act', place: { kind: 'desktop' }, toolset: 'computer', member, input, timeoutMs: 30_000 },
      signal,
    );
  return {
    events,
    frames,
    desktop,
    do: act,
    fault: (member, input, signal) =>
      act(member, input, signal).then(
        () => 'done' as const,
        (error: HandsFault) => error.fault?.code ?? 'done',
      ),
  };
}
