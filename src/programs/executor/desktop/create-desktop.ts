/**
 * Input and capture of the desktop: one display, connected when it is needed and reconnected after it went away. Actions run one after another, every
 * pressed key or button is released, and nothing is done when somebody else has moved the pointer. Linux under X.
 */

import { setTimeout as later } from 'node:timers/promises';
import { isInside, type Point, type Size, toImage, toScreen } from '../../../contracts/computer-use/frame.ts';
import type { ComputerMember } from '../../../contracts/computer-use/members.ts';
import { memberOf } from '../../../contracts/computer-use/members.ts';
import type { Screen } from '../../../contracts/computer-use/toolset.ts';
import { systemClock } from '../../../kit/clock/clock.ts';
import { type ActedWith, type Emit, type Hands, HandsFault } from '../hands.ts';
import type { Act, Look, Looked, Place } from '../protocol.ts';
import { filmDisplay, type Video } from '../video.ts';
import { type Clipboard, createClipboard } from './clipboard.ts';
import { connectDisplay, type Display } from './display.ts';
import { createKeyboard, type Keyboard } from './keyboard.ts';
import { createMembers } from './members.ts';
import { createPointer, type Pointer } from './pointer.ts';
import { createTyping } from './typing.ts';
import { PackerGone, watchDisplay } from './watch.ts';
import { createWindows, type Windows } from './windows.ts';

interface DesktopDeps {
  readonly emit: Emit;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Default: of this process. */
  readonly platform?: NodeJS.Platform;
}

/** Milliseconds between two looks at the pointer while somebody drives. */
const pollMs = 100;
/** Milliseconds after the last action that the pointer is watched: as long as control lasts. */
const drivenMs = 60_000;
/** Milliseconds until a display that went away is looked for again, while somebody watches. */
const againMs = 1000;
/** Pixels of the frame around the point that is about to be touched, for the live view. */
const touched = 24;
const place: Place = { kind: 'desktop' };

/** Programs that ask for a password and nothing else; by the second word of WM_CLASS. */
const passwordPrompts = /pinentry|askpass|gcr-prompter|polkit|kwallet|kdesu|gksu|seahorse|keyring/;

interface OpenDisplay {
  readonly display: Display;
  readonly pointer: Pointer;
  readonly keyboard: Keyboard;
  readonly clipboard: Clipboard;
  readonly windows: Windows;
  readonly members: ReturnType<typeof createMembers>;
  /** Where the pointer was left; null: nobody has driven since somebody else moved it. */
  left: Point | null;
  drivenUntil: number;
}

export function createDesktop({ emit, env, platform = process.platform }: DesktopDeps): Hands {
  let opened: Promise<OpenDisplay> | null = null;
  /** The end of what is under way: an action that was stopped still lets go of its keys. */
  let busy: Promise<unknown> = Promise.resolve();
  let watching: AbortController | null = null;
  const films = new Map<string, Video>();
  const driving = createDriving({ emit, opened: () => opened, inTurn });

  function open(): Promise<OpenDisplay> {
    opened ??= connect().catch((error: unknown) => {
      opened = null;
      throw error;
    });
    return opened;
  }

  async function connect(): Promise<OpenDisplay> {
    const display = await connectDisplay(env, platform);
    const [pointer, keyboard] = [createPointer(display), createKeyboard(display)];
    const [clipboard, windows] = await Promise.all([createClipboard(display), createWindows(display)]);
    await Promise.all([keyboard.free(), pointer.free()]);
    const focusedClass = async () => (await windows.focused())?.program ?? '';
    const type = createTyping({ display, keyboard, clipboard, focusedClass });
    const members = createMembers({ display, pointer, keyboard, type });
    void display.gone.then(({ fault }) => {
      opened = null;
      emit({ event: 'gone', place, fault });
    });
    return { display, pointer, keyboard, clipboard, windows, members, left: null, drivenUntil: 0 };
  }

  function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = busy.then(work);
    busy = result.catch(() => {});
    return result;
  }

  async function look({ member, input }: Look): Promise<Looked> {
    const { display, windows } = await open();
    const screen = display.screen();
    const point = pointOf(input);
    const inside = point !== null && isInside(screen, point) ? point : null;
    const typed = member === 'type' || member === 'key' || member === 'hold_key';
    const at = inside === null ? (typed ? null : await display.pointer()) : toScreen(screen, inside);
    const window = at === null ? await windows.focused() : await windows.at(at);
    return {
      screen,
      url: null,
      credential: typed && window !== null && passwordPrompts.test(window.program),
      region: inside === null ? zoomed(input) : around(inside, screen),
      element: window === null ? null : `window ${JSON.stringify(window.title || window.program)}`,
    };
  }

  async function act({ member, input }: Act, signal: AbortSignal): Promise<ActedWith> {
    signal.throwIfAborted();
    const one = await open();
    const { display, pointer, keyboard, clipboard, members } = one;
    const acts = memberOf('computer', member)?.class === 'act';
    if (acts && (await driving.isElsewhere(one)))
      throw new HandsFault('page', 'cancelled', 'Somebody else moved the pointer, so the action was not done.');
    signal.throwIfAborted();
    if (acts) clipboard.restore();
    try {
      const done = await members[member as ComputerMember](input, signal);
      return { ...done, screen: display.screen() };
    } finally {
      keyboard.letGo();
      if (signal.aborted) pointer.letGo();
      if (acts) await driving.leave(one).catch(() => {});
    }
  }

  /** A display that came back is seen again. */
  async function keepWatching(fps: number, signal: AbortSignal): Promise<void> {
    let told = false;
    while (!signal.aborted) {
      try {
        const { display } = await open();
        const size = (jpeg: Uint8Array, { width, height }: Size) =>
          emit({ event: 'frame', place, width, height }, jpeg);
        const pointer = (at: Point) => emit({ event: 'pointer', place, ...at });
        await watchDisplay({ display, env, onFrame: size, onPointer: pointer }, fps, signal);
      } catch (error) {
        // Report a display that goes, once: otherwise viewers would see nothing and never know why.
        if (error instanceof PackerGone && !told) {
          told = true;
          emit({ event: 'gone', place, fault: error.fault });
        }
        await later(againMs, undefined, { signal }).catch(() => {});
      }
    }
  }

  return {
    look: (request) => inTurn(() => look(request)),
    act: (request, signal) => inTurn(() => act(request, signal)),
    async watch(_, fps) {
      watching?.abort();
      watching = null;
      if (fps <= 0) return;
      await open();
      watching = new AbortController();
      void keepWatching(fps, watching.signal);
    },
    async record(_, file, stop) {
      if (stop) {
        const film = films.get(file);
        films.delete(file);
        return film === undefined ? null : film.finish();
      }
      await open();
      films.set(file, filmDisplay(file, env));
      return null;
    },
    letGo: () =>
      inTurn(async () => {
        const one = await opened?.catch(() => null);
        one?.pointer.letGo();
      }),
    async close() {
      watching?.abort();
      driving.close();
      await Promise.all([...films.values()].map((film) => film.finish()));
      films.clear();
      const one = await opened?.catch(() => null);
      if (one == null) return;
      one.keyboard.letGo();
      one.pointer.letGo();
      await one.display.pointer().catch(() => {});
      one.display.close();
    },
  };
}

/** Where the pointer was left, and whether somebody else has moved it since. */
function createDriving({
  emit,
  opened,
  inTurn,
}: {
  readonly emit: Emit;
  readonly opened: () => Promise<OpenDisplay> | null;
  readonly inTurn: <Result>(work: () => Promise<Result>) => Promise<Result>;
}) {
  let poll: NodeJS.Timeout | null = null;

  /** True, once, where the pointer is not where it was left. */
  async function isElsewhere(one: OpenDisplay): Promise<boolean> {
    if (one.left === null) return false;
    const { x, y } = await one.display.pointer();
    if (one.left === null || (x === one.left.x && y === one.left.y)) return false;
    one.left = null;
    emit({ event: 'elsewhere', place });
    return true;
  }

  /** Also waits until the display has executed the requests. */
  async function leave(one: OpenDisplay): Promise<void> {
    const { x, y } = await one.display.pointer();
    one.left = { x, y };
    one.drivenUntil = systemClock.monotonic() + drivenMs;
    emit({ event: 'pointer', place, ...toImage(one.display.screen(), { x, y }) });
    poll ??= setTimeout(again, pollMs).unref();
  }

  function again(): void {
    poll = null;
    void opened()
      ?.then(async (one) => {
        if (one.left === null || systemClock.monotonic() > one.drivenUntil) return;
        // While an action moves the pointer, it says itself where it was left.
        await inTurn(() => isElsewhere(one));
        poll ??= setTimeout(again, pollMs).unref();
      })
      .catch(() => {});
  }

  return {
    isElsewhere,
    leave,
    close(): void {
      if (poll !== null) clearTimeout(poll);
    },
  };
}

function pointOf(input: Readonly<Record<string, unknown>>): Point | null {
  const pair = (input.coordinate ?? input.start_coordinate) as readonly [number, number] | undefined;
  return pair === undefined ? null : { x: pair[0], y: pair[1] };
}

function zoomed({ region }: Readonly<Record<string, unknown>>): Looked['region'] {
  if (region === undefined) return null;
  const [x0, y0, x1, y1] = region as readonly [number, number, number, number];
  return { x: x0, y: y0, width: x1 - x0, height: y1 - y0 };
}

function around({ x, y }: Point, screen: Screen): Looked['region'] {
  const left = Math.max(0, x - touched / 2);
  const top = Math.max(0, y - touched / 2);
  return {
    x: left,
    y: top,
    width: Math.min(touched, screen.frame_width - left),
    height: Math.min(touched, screen.frame_height - top),
  };
}
