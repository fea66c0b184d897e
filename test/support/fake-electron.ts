/**
 * A substitute for Electron's main process, typed by its own `electron.d.ts`: when Electron changes a signature used here, this file no
 * longer compiles. It keeps what it was told and lets a test raise events. Types only: importing electron as a value starts a download.
 */
import { EventEmitter } from 'node:events';
import type {
  App,
  BrowserWindow,
  BrowserWindowConstructorOptions,
  Cookies,
  CookiesSetDetails,
  Session,
  Shell,
  WebContents,
} from 'electron';

type PermissionRequest = NonNullable<Parameters<Session['setPermissionRequestHandler']>[0]>;
type PermissionCheck = NonNullable<Parameters<Session['setPermissionCheckHandler']>[0]>;
type OpenHandler = Parameters<WebContents['setWindowOpenHandler']>[0];

export interface FakeElectron {
  readonly app: Pick<App, 'requestSingleInstanceLock' | 'on' | 'quit' | 'exit' | 'whenReady' | 'setPath'>;
  readonly createWindow: (options: BrowserWindowConstructorOptions) => BrowserWindow;
  readonly session: () => Pick<Session, 'cookies' | 'setPermissionRequestHandler' | 'setPermissionCheckHandler'>;
  readonly external: Pick<Shell, 'openExternal'>;
  /** Everything that was done, in order: `quit`, `exit 3`, `window`, `load <address>`, `show`, … */
  readonly done: string[];
  readonly windows: BrowserWindowConstructorOptions[];
  readonly cookies: CookiesSetDetails[];
  raise(event: 'second-instance' | 'window-all-closed'): void;
  /** Raises an event of a page's contents; answers whether it was prevented. */
  contents(
    event: 'will-navigate' | 'will-redirect' | 'will-frame-navigate' | 'will-attach-webview',
    url: string,
  ): boolean;
  openWindow(url: string): ReturnType<OpenHandler>;
  mayUse(permission: string, from: string): { asked: boolean; checked: boolean };
}

export function createFakeElectron(options: { secondInstance?: boolean; minimized?: boolean } = {}): FakeElectron {
  const done: string[] = [];
  const windows: BrowserWindowConstructorOptions[] = [];
  const cookies: CookiesSetDetails[] = [];
  const appEvents = new EventEmitter();
  const contentEvents = new EventEmitter();
  let openHandler: OpenHandler | undefined;
  let request: PermissionRequest | undefined;
  let check: PermissionCheck | undefined;

  const contents = Object.assign(contentEvents, {
    setWindowOpenHandler: (handler: OpenHandler) => {
      openHandler = handler;
    },
    getURL: () => 'about:blank',
  }) as unknown as WebContents;

  const app = Object.assign(appEvents, {
    requestSingleInstanceLock: () => options.secondInstance !== true,
    quit: () => void done.push('quit'),
    exit: (code?: number) => void done.push(`exit ${code}`),
    whenReady: async () => {
      done.push('ready');
    },
    setPath: (name: string, path: string) => void done.push(`path ${name} ${path}`),
  }) as unknown as FakeElectron['app'];

  const windowEvents = new EventEmitter();
  return {
    app,
    done,
    windows,
    cookies,
    createWindow(given) {
      windows.push(given);
      done.push('window');
      appEvents.emit('web-contents-created', {}, contents);
      const window = Object.assign(windowEvents, {
        show: () => void done.push('show'),
        focus: () => void done.push('focus'),
        restore: () => void done.push('restore'),
        isMinimized: () => options.minimized === true,
        loadURL: async (address: string) => {
          done.push(`load ${address}`);
          windowEvents.emit('ready-to-show');
        },
      });
      return window as unknown as BrowserWindow;
    },
    session: () => ({
      cookies: {
        set: async (details: CookiesSetDetails) => {
          done.push('cookie');
          cookies.push(details);
        },
      } as Cookies,
      setPermissionRequestHandler: (handler) => {
        request = handler ?? undefined;
      },
      setPermissionCheckHandler: (handler) => {
        check = handler ?? undefined;
      },
    }),
    external: {
      openExternal: async (url: string) => {
        done.push(`external ${url}`);
      },
    },
    raise: (event) => void appEvents.emit(event),
    contents(event, url) {
      let prevented = false;
      contentEvents.emit(event, {
        url,
        preventDefault: () => {
          prevented = true;
        },
      });
      return prevented;
    },
    openWindow(url) {
      if (openHandler === undefined) throw new Error('No window-open handler was set.');
      return openHandler({ url } as Parameters<OpenHandler>[0]);
    },
    mayUse(permission, from) {
      let asked = false;
      const page = { getURL: () => from } as WebContents;
      type Permission = Parameters<PermissionRequest>[1];
      request?.(
        page,
        permission as Permission,
        (granted) => {
          asked = granted;
        },
        {} as Parameters<PermissionRequest>[3],
      );
      const checked = check?.(
        page,
        permission as Parameters<PermissionCheck>[1],
        from,
        {} as Parameters<PermissionCheck>[3],
      );
      return { asked, checked: checked === true };
    },
  };
}
