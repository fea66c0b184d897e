/**
 * The app's windows: their positions, their content, and what happens to one whose page breaks. All windows show the same Gantry. Must not know
 * servers.
 */
import type { BrowserWindow } from 'electron';
import { desktopChannels } from '../contracts/desktop/channel-names.ts';
import type { Destination, Saying } from '../contracts/desktop/channels.ts';
import { placeWindow } from './bounds.ts';
import type { DesktopState } from './desktop-state.ts';
import { windowOptions } from './navigation.ts';
import type { ElectronParts } from './parts.ts';
import { againAddress, createReviving, type Fault, faultPage, pageGone } from './reviving.ts';

/** A page that has not responded for so long is killed and reloaded; the servers keep what it showed. */
export const unresponsiveMs = 10_000;

/** What all windows show: an origin, or the reason why there is none. */
type Aim = { readonly origin: string } | { readonly fault: Fault };

export interface Windows {
  aim(aim: Aim): void;
  open(path?: string): void;
  /** The one used last comes to the front; without any, a new one. */
  show(): void;
  lead(to: Destination): void;
  tellAll(saying: Saying): void;
  /** The page of these contents listens. */
  ready(contentsId: number): void;
  isOurs(contentsId: number): boolean;
  focused(): boolean;
  /** Keeps where the one in front stands: an end of the program closes windows without asking them. */
  remember(): void;
}

interface Shown {
  readonly window: BrowserWindow;
  /** Said before its page listened. */
  waiting: Saying[] | null;
}

interface WindowsDeps {
  readonly parts: Pick<ElectronParts, 'createWindow' | 'screen'>;
  readonly preload: string;
  readonly kept: Pick<DesktopState, 'bounds' | 'stood'>;
  readonly logs: string;
  readonly now: () => number;
  readonly after: (ms: number, task: () => void) => () => void;
  readonly warn: (message: string, facts?: Readonly<Record<string, unknown>>) => void;
}

export function createWindows(deps: WindowsDeps): Windows {
  const { parts, kept, warn } = deps;
  /** In the order of their use: the last one is in front. */
  const open: Shown[] = [];
  let aim: Aim = { fault: { title: 'Starting Gantry', fact: 'The servers are starting.', action: '' } };

  const find = (contentsId: number): Shown | undefined =>
    open.find(({ window }) => !window.isDestroyed() && window.webContents.id === contentsId);

  const stood = (window: BrowserWindow): void =>
    kept.stood({ ...window.getNormalBounds(), maximized: window.isMaximized() });

  function load({ window }: Shown, path: string): void {
    const address = 'origin' in aim ? `${aim.origin}${path}` : faultPage(aim.fault);
    window.loadURL(address).catch((fault: unknown) => warn('A page could not be loaded.', { fault: String(fault) }));
  }

  function create(path: string): Shown {
    const others = open.map(({ window }) => window.getBounds());
    const areas = parts.screen().getAllDisplays();
    const left = kept.bounds();
    const place = placeWindow(
      left,
      areas.map(({ workArea }) => workArea),
      others,
    );
    const window = parts.createWindow({ ...windowOptions(deps.preload), ...place });
    const shown: Shown = { window, waiting: [] };
    open.push(shown);
    if (left?.maximized === true && others.length === 0) window.maximize();
    window.once('ready-to-show', () => window.show());
    window.on('focus', () => {
      const at = open.indexOf(shown);
      if (at >= 0) open.push(...open.splice(at, 1));
    });
    window.on('close', () => stood(window));
    window.on('closed', () => {
      const at = open.indexOf(shown);
      if (at >= 0) open.splice(at, 1);
    });
    healPage(shown, deps);
    load(shown, path);
    return shown;
  }

  function tell(shown: Shown, saying: Saying): void {
    if (shown.waiting !== null) shown.waiting.push(saying);
    else if (!shown.window.isDestroyed()) shown.window.webContents.send(desktopChannels.say, saying);
  }

  function front(): Shown | undefined {
    const shown = open.at(-1);
    if (shown === undefined) return undefined;
    if (shown.window.isMinimized()) shown.window.restore();
    shown.window.show();
    shown.window.focus();
    return shown;
  }

  return {
    aim(next) {
      aim = next;
      for (const shown of open) {
        shown.waiting ??= [];
        load(shown, '/');
      }
    },
    open: (path = '/') => void create(path),
    show() {
      if (front() === undefined) create('/');
    },
    lead(to) {
      const shown = front();
      if (shown === undefined) {
        if (to.kind === 'go') create(to.path);
        else tell(create('/'), to);
      } else tell(shown, to);
    },
    tellAll(saying) {
      // One whose page does not listen yet asks for the state itself.
      for (const shown of open) if (shown.waiting === null) tell(shown, saying);
    },
    ready(contentsId) {
      const shown = find(contentsId);
      const said = shown?.waiting ?? [];
      if (shown === undefined) return;
      shown.waiting = null;
      for (const saying of said) tell(shown, saying);
    },
    isOurs: (contentsId) => find(contentsId) !== undefined,
    remember() {
      const shown = open.at(-1);
      if (shown !== undefined && !shown.window.isDestroyed()) stood(shown.window);
    },
    focused: () => open.some(({ window }) => !window.isDestroyed() && window.isFocused()),
  };
}

/** A page that hangs is ended, one that ended is loaded again, and one that cannot be says why. */
function healPage(
  shown: Shown,
  { now, after, warn, logs }: Pick<WindowsDeps, 'now' | 'after' | 'warn' | 'logs'>,
): void {
  const { window } = shown;
  const { webContents } = window;
  const mayRevive = createReviving(now);
  let forget = (): void => {};
  window.on('unresponsive', () => {
    warn('A page does not answer.');
    forget();
    forget = after(unresponsiveMs, () => {
      if (!window.isDestroyed()) webContents.forcefullyCrashRenderer();
    });
  });
  window.on('responsive', () => forget());
  window.on('closed', () => forget());
  webContents.on('render-process-gone', (_event, { reason, exitCode }) => {
    forget();
    if (reason === 'clean-exit' || window.isDestroyed()) return;
    warn('The process of a page ended.', { reason, exitCode });
    shown.waiting = [];
    if (mayRevive()) webContents.reload();
    else void window.loadURL(faultPage(pageGone(reason, logs)));
  });
  webContents.on('did-fail-load', (_event, code, description, address, isMainFrame) => {
    // -3: another load took its place.
    if (!isMainFrame || code === -3 || address === againAddress || window.isDestroyed()) return;
    warn('A page could not be loaded.', { code, description });
    const fact = `Gantry does not answer (${description}). Running bots keep running.`;
    const action = 'If it was stopped in a terminal, “Try again” starts it here.';
    void window.loadURL(faultPage({ title: 'Gantry does not answer', fact, action }));
  });
}
