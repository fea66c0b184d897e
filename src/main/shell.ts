/**
 * The desktop window: one instance, one window, quit. It shows what `gantry start` serves and owns no server; when it ends, the
 * process that started it ends the servers. Electron is passed in, so that this runs without its program.
 */
import type { App, BrowserWindow, BrowserWindowConstructorOptions, Session, Shell } from 'electron';
import { externalTarget, mayNavigate, mayUse, readOpenAddress, sessionCookie, windowOptions } from './navigation.ts';

export interface ShellDeps {
  readonly app: Pick<App, 'requestSingleInstanceLock' | 'on' | 'quit' | 'exit' | 'whenReady' | 'setPath'>;
  readonly createWindow: (options: BrowserWindowConstructorOptions) => BrowserWindow;
  readonly session: () => Pick<Session, 'cookies' | 'setPermissionRequestHandler' | 'setPermissionCheckHandler'>;
  readonly external: Pick<Shell, 'openExternal'>;
  readonly fetch: typeof fetch;
  readonly preload: string;
  /** Profile folder: one window for each of Gantry's data folders. */
  readonly profile: string;
  readonly openAddress: string | undefined;
  readonly say: (sentence: string) => void;
}

/** Exit code 3 (`transport`) when there is nothing to show. */
export async function runShell(deps: ShellDeps): Promise<void> {
  const { app } = deps;
  app.setPath('userData', deps.profile);
  const target = readOpenAddress(deps.openAddress);
  if (target === null) {
    deps.say('The desktop window is started by gantry start, not by itself.');
    app.exit(3);
    return;
  }
  if (!app.requestSingleInstanceLock()) {
    app.quit();
    return;
  }
  app.on('web-contents-created', (_event, contents) => {
    contents.on('will-attach-webview', (event) => event.preventDefault());
    contents.setWindowOpenHandler(({ url }) => {
      const outside = externalTarget(url);
      if (outside !== null) void deps.external.openExternal(outside);
      return { action: 'deny' };
    });
    const stay = (event: { preventDefault(): void; readonly url: string }): void => {
      if (!mayNavigate(event.url, target.origin)) event.preventDefault();
    };
    contents.on('will-navigate', stay);
    contents.on('will-redirect', stay);
    contents.on('will-frame-navigate', stay);
  });
  app.on('window-all-closed', () => app.quit());

  await app.whenReady();
  const session = deps.session();
  session.setPermissionRequestHandler((contents, permission, answer) =>
    answer(mayUse(permission, contents.getURL(), target.origin)),
  );
  session.setPermissionCheckHandler((_contents, permission, requester) => mayUse(permission, requester, target.origin));
  const answer = await deps.fetch(target.address, { redirect: 'manual' });
  const cookie = sessionCookie(answer.headers.getSetCookie());
  if (cookie === null) {
    deps.say(`Gantry did not let the desktop window in (status ${answer.status}).`);
    app.exit(3);
    return;
  }
  await session.cookies.set({ url: target.origin, ...cookie, path: '/', httpOnly: true, sameSite: 'strict' });

  const window = deps.createWindow(windowOptions(deps.preload));
  app.on('second-instance', () => {
    if (window.isMinimized()) window.restore();
    window.focus();
  });
  window.once('ready-to-show', () => window.show());
  await window.loadURL(`${target.origin}/`);
}
