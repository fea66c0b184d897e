/**
 * One connection to an X display, as promises that also settle when the display goes away. Pure JavaScript: a native
 * client built on libX11 ends its whole process when the X server goes away. Must not know toolsets.
 */
import { setTimeout as later } from 'node:timers/promises';
import x11, { type Damage, type Fixes, type XClient, type XDisplay, type XEvent, type Xkb, type XTest } from 'x11';
import { type Point, screenOf } from '../../../contracts/computer-use/frame.ts';
import type { Screen } from '../../../contracts/computer-use/toolset.ts';
import { HandsFault } from '../hands.ts';

/** Milliseconds for a display to answer the first time. Seconds pass where several have just been started on a busy machine. */
const connectMs = 20_000;

type Reply<Value> = (error: Error | null | undefined, value: Value) => unknown;

export interface Display {
  readonly client: XClient;
  readonly root: number;
  readonly keycodes: { readonly first: number; readonly count: number };
  readonly test: XTest;
  readonly xkb: Xkb | null;
  readonly fixes: Fixes | null;
  readonly damage: Damage | null;
  /** As large as it is now: displays are resized. */
  screen(): Screen;
  /** One request with its answer. Throws `display_unavailable` when the display is gone; null for an error that X answers. */
  ask<Value>(request: (reply: Reply<Value>) => void): Promise<Value | null>;
  /** As {@link ask}, where an error of X means that the display is of no use. */
  must<Value>(request: (reply: Reply<Value>) => void): Promise<Value>;
  pointer(): Promise<Point & { readonly buttons: number }>;
  onEvent(listener: (event: XEvent) => void): () => void;
  /** Settles when the display is gone. */
  readonly gone: Promise<HandsFault>;
  close(): void;
}

function displayFault(message: string): HandsFault {
  return new HandsFault('device', 'display_unavailable', message);
}

/** Throws `display_unavailable`, which names why. */
export async function connectDisplay(
  env: Readonly<Record<string, string | undefined>>,
  platform: NodeJS.Platform,
): Promise<Display> {
  const name = nameOf(env, platform);
  const display = await connect(name);
  const { client } = display;
  // The package keeps what names stand for in one table for all displays; on the next display they stand for something else.
  client.atoms = { ...client.atoms };
  const [screen] = display.screen;
  if (screen === undefined) throw displayFault(`The display ${name} has no screen.`);
  if (display.format[screen.root_depth]?.bits_per_pixel !== 32)
    throw displayFault(`The display ${name} is ${screen.root_depth} bits deep; 24 are needed.`);

  let left: ((fault: HandsFault) => void) | null = null;
  const gone = new Promise<HandsFault>((resolve) => {
    left = resolve;
  });
  let fault: HandsFault | null = null;
  const waiting = new Set<(fault: HandsFault) => void>();
  const leave = () => {
    if (fault !== null) return;
    fault = displayFault(`The display ${name} went away.`);
    left?.(fault);
    for (const reject of waiting) reject(fault);
    waiting.clear();
  };
  client.on('end', leave);
  client.stream?.on('close', leave);
  client.on('error', (error) => {
    // What X refuses is an answer to its request; everything else is the connection.
    if (!('badParam' in error)) leave();
  });

  const listeners = new Set<(event: XEvent) => void>();
  let size = { width: screen.pixel_width, height: screen.pixel_height };
  client.on('event', (event) => {
    if (event.name === 'ConfigureNotify' && event.wid === screen.root)
      size = { width: Number(event.width), height: Number(event.height) };
    for (const listener of listeners) listener(event);
  });

  function ask<Value>(request: (reply: Reply<Value>) => void): Promise<Value | null> {
    return new Promise<Value | null>((resolve, reject) => {
      if (fault !== null) {
        reject(fault);
        return;
      }
      waiting.add(reject);
      request((error, value) => {
        waiting.delete(reject);
        resolve(error ? null : value);
        return true;
      });
    });
  }
  async function must<Value>(request: (reply: Reply<Value>) => void): Promise<Value> {
    const value = await ask(request);
    if (value === null) throw displayFault(`The display ${name} refused a request that every display answers.`);
    return value;
  }

  client.ChangeWindowAttributes(screen.root, { eventMask: x11.eventMask.StructureNotify ?? 0 });
  const [test, xkb, fixes, damage] = await Promise.all([
    extension<XTest>((reply) => client.require('xtest', reply)),
    extension<Xkb>((reply) => client.require('xkb', reply)),
    extension<Fixes>((reply) => client.require('fixes', reply)),
    extension<Damage>((reply) => client.require('damage', reply)),
  ]);
  if (test === null) throw displayFault(`The display ${name} has no XTEST, so it takes no clicks or keys.`);
  if (xkb !== null) await ask((reply) => xkb.UseExtension(1, 0, reply));

  return {
    client,
    root: screen.root,
    keycodes: { first: display.min_keycode, count: display.max_keycode - display.min_keycode + 1 },
    test,
    xkb,
    fixes,
    damage,
    screen: () => screenOf(size),
    ask,
    must,
    async pointer() {
      const at = await must<{ rootX: number; rootY: number; keyMask: number }>((reply) =>
        client.QueryPointer(screen.root, reply),
      );
      return { x: at.rootX, y: at.rootY, buttons: (at.keyMask >> 8) & 0x1f };
    },
    onEvent(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    gone,
    close() {
      leave();
      client.stream?.destroy();
    },
  };

  function extension<Extension>(request: (reply: Reply<Extension>) => void): Promise<Extension | null> {
    return ask(request);
  }
}

function nameOf(env: Readonly<Record<string, string | undefined>>, platform: NodeJS.Platform): string {
  if (platform === 'darwin' || platform === 'win32') {
    const system = platform === 'darwin' ? 'macOS' : 'Windows';
    throw displayFault(`The desktop of ${system} cannot be controlled yet; the browser can.`);
  }
  if (env.DISPLAY !== undefined && env.DISPLAY !== '') return env.DISPLAY;
  throw displayFault(
    env.WAYLAND_DISPLAY
      ? 'This is a Wayland desktop without X: turn on XWayland, or sign in to an X desktop.'
      : 'There is no display: DISPLAY is not set where Gantry was started.',
  );
}

async function connect(name: string): Promise<XDisplay> {
  let client: XClient | null = null;
  const late = new AbortController();
  try {
    return await Promise.race([
      new Promise<XDisplay>((resolve, reject) => {
        // Its default passes descriptors for shared memory, which the display may not share with this process.
        client = x11.createClient({ display: name, shm: false }, (error, display) =>
          error ? reject(error) : resolve(display),
        );
        client.on('error', reject);
      }),
      later(connectMs, undefined, { signal: late.signal }).then(() => {
        throw new Error(`no answer within ${connectMs} ms`);
      }),
    ]);
  } catch (error) {
    (client as XClient | null)?.stream?.destroy();
    throw displayFault(`The display ${name} cannot be reached: ${(error as Error).message}.`);
  } finally {
    late.abort();
  }
}
