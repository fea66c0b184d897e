/**
 * Composes the desktop program: one instance, the Gantry that it runs or attaches to, windows, menu, tray, links, notifications, sleep, updates,
 * quit. The decisions are in the files beside it; Electron and the servers are passed in, so that tests run without either.
 */
import { join } from 'node:path';
import { AppError } from '../contracts/common/errors.ts';
import { desktopChannels } from '../contracts/desktop/channel-names.ts';
import type { DesktopState } from '../contracts/desktop/channels.ts';
import type { DesktopGantry } from '../host/desktop.ts';
import type { Log } from '../kit/log/log.ts';
import { linkIn } from './deep-links.ts';
import { openDesktopState } from './desktop-state.ts';
import { type Counts, createFeed, type Feed } from './feed.ts';
import { guardPages, guardPermissions } from './guards.ts';
import { answerPage } from './ipc.ts';
import { createLinks } from './links.ts';
import { canOpenAtLogin, type LoginItemDeps, quietly, setOpenAtLogin } from './login-item.ts';
import { appMenu, type MenuActs, trayMenu, trayWords } from './menus.ts';
import { sessionCookie } from './navigation.ts';
import { createNews, shownAs } from './news.ts';
import { createNotices } from './notices.ts';
import type { ElectronParts } from './parts.ts';
import { createQuitting } from './quitting.ts';
import type { Fault } from './reviving.ts';
import { createUpdates, type Updater } from './updates.ts';
import { createWindows } from './windows.ts';

export interface ShellDeps {
  readonly parts: ElectronParts;
  readonly platform: string;
  readonly argv: readonly string[];
  readonly env: LoginItemDeps['env'];
  readonly execPath: string;
  readonly userHome: string;
  /** Profile folder: one program for each of Gantry's data folders. */
  readonly profile: string;
  readonly logs: string;
  readonly preload: string;
  readonly log: Log;
  /** Runs Gantry in this process, or finds the one that runs. */
  readonly openGantry: () => Promise<DesktopGantry>;
  readonly loadUpdater: () => Promise<Updater>;
  readonly fetch: typeof fetch;
  readonly now: () => number;
  readonly after: (ms: number, task: () => void) => () => void;
  /** Values that may never be in a log. */
  readonly secret: (value: string) => void;
}

export interface RunningShell {
  /** Resolves once the windows show Gantry, or why they cannot. */
  readonly started: Promise<void>;
  /** A signal came, or a fault that nobody caught (70). Idempotent. */
  quit(code: number): void;
}

/** Null: another one runs for this data folder, which shows itself instead. */
export function runShell(deps: ShellDeps): RunningShell | null {
  const { parts, log, now, after } = deps;
  const { app } = parts;
  // The lock lies in the profile, and comes before anything else: nothing of the data folder has been opened.
  app.setPath('userData', deps.profile);
  if (!app.requestSingleInstanceLock()) {
    app.exit(0);
    return null;
  }
  const warn = (message: string, facts: Readonly<Record<string, unknown>> = {}) => log.warn(message, facts);
  const kept = openDesktopState(join(deps.profile, 'desktop.json'), (fault) =>
    warn('The choices of the desktop program cannot be kept.', { fault: String(fault) }),
  );

  let gantry: DesktopGantry | null = null;
  let feed: Feed | null = null;
  let closed = false;
  /** While Gantry starts, requests for a window wait. */
  let opening: Promise<void> | null = Promise.resolve();

  const windows = createWindows({ parts, preload: deps.preload, kept, logs: deps.logs, now, after, warn });
  const notices = createNotices({
    parts,
    platform: deps.platform,
    lead: windows.lead,
    answer: () => feed?.answer ?? null,
  });
  const { follow, followWaiting } = createLinks({
    first: linkIn(deps.argv),
    windows,
    isOpening: () => opening !== null,
    feed: () => feed,
    warn,
  });
  const origin = (): string | null => gantry?.origin ?? null;
  const tray = createTray(parts, warn);
  const quitting = createQuitting({
    close: closeAll,
    exit: (code) => {
      log.info('The desktop program ends.', { code });
      log.close();
      app.exit(code);
    },
    onFault: (fault) => log.error('The desktop program did not close cleanly.', { fault }),
    after,
  });
  const news = createNews(now);
  const updates = createUpdates({
    packaged: app.isPackaged,
    feed: deps.env.GANTRY_UPDATE_FEED,
    load: deps.loadUpdater,
    busy: async () => (feed === null ? null : feed.busy()),
    now: () => new Date(now()).toISOString(),
    every: (ms, task) => repeat(after, ms, task),
    changed: (state) => {
      if (state.kind === 'ready') notices.update(state.version);
      if (state.kind === 'failed' && closed) quitting.begin(70);
      sayState();
    },
    onFault: (fault) => warn('An update failed.', { fault: String(fault) }),
    beforeInstall: closeAll,
  });

  async function closeAll(): Promise<void> {
    closed = true;
    windows.remember();
    feed?.close();
    updates.close();
    tray.close();
    await gantry?.close();
  }

  const state = (): DesktopState => ({
    settings: kept.settings(),
    canOpenAtLogin: canOpenAtLogin({ app }),
    hasTray: tray.exists,
    servers: gantry?.kind ?? 'own',
    logs: deps.logs,
    update: updates.state(),
  });
  const sayState = (): void => windows.tellAll({ kind: 'state', state: state() });

  const acts: MenuActs = {
    newWindow: () => windows.open(),
    show: () => windows.show(),
    lead: (to) => windows.lead(to),
    openLogs: () => void parts.external.openPath(deps.logs),
    quit: () => quitting.begin(0),
  };

  function openFeed(at: string, cookie: { name: string; value: string }): Feed {
    return createFeed({
      origin: at,
      cookie,
      fetch: deps.fetch,
      after,
      onCounts: tray.show,
      onNews(rows, open) {
        const view = { choice: kept.settings().notifications, watched: windows.focused() };
        for (const one of shownAs(news.take(rows, view), open)) notices.news(one);
      },
      onFault: (fault) => warn('Gantry could not be asked what is new.', { fault: String(fault) }),
    });
  }

  /** The servers come up, or another try of it; whatever happens, the windows say it. */
  async function openGantry(): Promise<void> {
    try {
      const opened = gantry?.kind === 'own' ? gantry : await deps.openGantry();
      if (quitting.begun()) return await opened.close();
      gantry = opened;
      const cookie = await signIn(opened, deps);
      for (const notice of opened.notices) notices.notify('Gantry', notice, acts.show);
      log.info('The desktop program shows Gantry.', { origin: opened.origin, servers: opened.kind });
      feed?.close();
      feed = openFeed(opened.origin, cookie);
      windows.aim({ origin: opened.origin });
      void feed.look();
    } catch (error) {
      log.error('Gantry could not be shown.', { error });
      windows.aim({ fault: faultOf(error, deps.logs) });
    }
  }

  function again(): void {
    opening ??= openGantry().finally(() => {
      opening = null;
      followWaiting();
    });
  }

  guardPages({ parts, origin, again });
  app.on('second-instance', (_event, argv) => follow(linkIn(argv)));
  app.on('open-url', (event, url) => {
    event.preventDefault();
    follow(url);
  });
  app.on('activate', () => follow(null));
  app.on('child-process-gone', (_event, { type, reason, exitCode, name }) =>
    warn('A process of the app ended.', { type, reason, exitCode, name }),
  );
  quitByApp(app, {
    quit: acts.quit,
    // Everything is closed already, and the installer waits for this end.
    isInstalling: () => updates.state().kind === 'installing',
    staysInTray: () => kept.settings().closeToTray && tray.exists,
  });
  answerPage(
    {
      ipc: parts.ipc,
      origin,
      isOurs: windows.isOurs,
      refused: (channel, why) => warn('A request of a page was refused.', { channel, why }),
    },
    {
      [desktopChannels.read](_nothing, contentsId) {
        windows.ready(contentsId);
        return state();
      },
      [desktopChannels.change](change) {
        if (change.openAtLogin !== undefined) setOpenAtLogin({ ...deps, app }, change.openAtLogin);
        kept.change(change);
        sayState();
        return state();
      },
      async [desktopChannels.act](act) {
        if (act === 'open-logs') acts.openLogs();
        else if (act === 'check-updates') await updates.check();
        else await updates.install();
        return state();
      },
    },
  );

  async function start(): Promise<void> {
    await app.whenReady();
    if (app.isPackaged) app.setAsDefaultProtocolClient('gantry');
    guardPermissions(parts.session(), origin);
    parts.setMenu(appMenu(acts, { platform: deps.platform, packaged: app.isPackaged }));
    tray.open(acts);
    followSleep(parts, (asleep) => {
      log.info(asleep ? 'The computer goes to sleep.' : 'The computer is back.');
      gantry?.rest(asleep);
      feed?.rest(asleep);
    });
    await openGantry();
    opening = null;
    // Started with the session there is nobody to show anything to; but what went wrong is shown.
    const quiet = gantry !== null && tray.exists && deps.argv.includes(quietly);
    if (!followWaiting() && !quiet) windows.show();
    void updates.check();
  }
  return { started: start(), quit: (code) => quitting.begin(code) };
}

/** The tray: what runs, who is needed. A desktop may have none. */
function createTray(parts: ElectronParts, warn: (message: string, facts: Readonly<Record<string, unknown>>) => void) {
  let tray: ReturnType<ElectronParts['createTray']> | null = null;
  let entries: (counts: Counts | null) => ReturnType<typeof trayMenu> = () => [];
  return {
    get exists(): boolean {
      return tray !== null;
    },
    open(acts: MenuActs) {
      entries = (counts) => trayMenu(counts, acts);
      try {
        tray = parts.createTray(entries(null));
        tray.on('click', acts.show);
      } catch (fault) {
        warn('This desktop has no tray.', { fault: String(fault) });
      }
    },
    show(counts: Counts | null) {
      tray?.setToolTip(trayWords(counts));
      tray?.setEntries(entries(counts));
    },
    close() {
      tray?.destroy();
      tray = null;
    },
  };
}

/** The app's own ways to quit: the last window closes, or the system asks. */
function quitByApp(
  app: ElectronParts['app'],
  {
    quit,
    isInstalling,
    staysInTray,
  }: { readonly quit: () => void; readonly isInstalling: () => boolean; readonly staysInTray: () => boolean },
): void {
  app.on('window-all-closed', () => {
    if (!isInstalling() && !staysInTray()) quit();
  });
  app.on('before-quit', (event) => {
    if (isInstalling()) return;
    event.preventDefault();
    quit();
  });
}

function followSleep(parts: ElectronParts, onSleep: (asleep: boolean) => void): void {
  const power = parts.power();
  power.on('suspend', () => onSleep(true));
  power.on('resume', () => onSleep(false));
}

/** The page never sees the code or the cookie: main spends the one for the other. */
async function signIn(
  opened: DesktopGantry,
  { parts, fetch, secret }: Pick<ShellDeps, 'parts' | 'fetch' | 'secret'>,
): Promise<{ name: string; value: string }> {
  const answer = await fetch(await opened.openUrl(), { redirect: 'manual' });
  const cookie = sessionCookie(answer.headers.getSetCookie());
  if (cookie === null) {
    const fact = `Gantry refused its own window (status ${answer.status}).`;
    throw new AppError('internal', fact, 'Start the app again; the log has details.');
  }
  secret(cookie.value);
  await parts.session().cookies.set({ url: opened.origin, ...cookie, path: '/', httpOnly: true, sameSite: 'strict' });
  return cookie;
}

function repeat(after: ShellDeps['after'], ms: number, task: () => void): () => void {
  let forget = after(ms, again);
  function again(): void {
    task();
    forget = after(ms, again);
  }
  return () => forget();
}

function faultOf(error: unknown, logs: string): Fault {
  const title = 'Gantry could not start';
  if (error instanceof AppError) return { title, fact: error.fact, action: error.action };
  const fact = error instanceof Error ? error.message : String(error);
  return { title, fact: `It failed unexpectedly: ${fact}`, action: `See the log: \`${logs}\`` };
}
