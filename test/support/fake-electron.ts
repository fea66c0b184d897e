/**
 * A substitute for Electron's main process, typed by its own `electron.d.ts`: when Electron changes a signature used here, this file no
 * longer compiles. It keeps what it was told and lets a test raise events. Types only: importing electron as a value starts a download.
 */
import { EventEmitter } from 'node:events';
import type {
  BrowserWindow,
  BrowserWindowConstructorOptions,
  CookiesSetDetails,
  Details,
  IpcMainInvokeEvent,
  LoginItemSettings,
  MenuItemConstructorOptions,
  NotificationConstructorOptions,
  Rectangle,
  RenderProcessGoneDetails,
  Session,
  WebContents,
  WebFrameMain,
} from 'electron';
import type { ElectronParts } from '../../src/main/parts.ts';

type PermissionRequest = NonNullable<Parameters<Session['setPermissionRequestHandler']>[0]>;
type PermissionCheck = NonNullable<Parameters<Session['setPermissionCheckHandler']>[0]>;
type DeviceHandler = NonNullable<Parameters<Session['setDevicePermissionHandler']>[0]>;
type OpenHandler = Parameters<WebContents['setWindowOpenHandler']>[0];
type IpcHandler = (event: IpcMainInvokeEvent, ...payload: unknown[]) => unknown;

export interface FakeOptions {
  readonly secondInstance?: boolean;
  readonly packaged?: boolean;
  readonly tray?: false;
  readonly displays?: readonly Rectangle[];
}

export interface FakeWindow {
  readonly options: BrowserWindowConstructorOptions;
  readonly id: number;
  /** Addresses that it was asked to load. */
  readonly loaded: string[];
  /** What was sent to its page: channel and words. */
  readonly sent: [string, unknown][];
  /** `show`, `focus`, `restore`, `maximize`, `reload`, `crash`. */
  readonly done: string[];
  url: string;
  focused: boolean;
  minimized: boolean;
  bounds: Rectangle;
  /** As the person closes it. */
  close(): void;
  gone(reason: RenderProcessGoneDetails['reason']): void;
  raise(event: 'unresponsive' | 'responsive'): void;
  failLoad(code: number, address: string, isMainFrame?: boolean): void;
  /** Raises an event of its contents; answers whether it was prevented. */
  go(event: 'will-navigate' | 'will-redirect' | 'will-frame-navigate' | 'will-attach-webview', url: string): boolean;
  /** As the page opens a window. */
  open(url: string): ReturnType<OpenHandler>;
}

export type FakeElectron = ReturnType<typeof createFakeElectron>;

/** Only what the shell uses stands behind these types. */
const as = <T>(value: object): T => value as T;

export function createFakeElectron(options: FakeOptions = {}) {
  /** Everything that was done, in order: `path userData …`, `lock`, `ready`, `exit 0`, `external https://…`, … */
  const done: string[] = [];
  const windows: FakeWindow[] = [];
  const cookies: CookiesSetDetails[] = [];
  const notifications: { options: NotificationConstructorOptions; click(): void; press(index: number): void }[] = [];
  const loginItems: Partial<LoginItemSettings>[] = [];
  const app = new EventEmitter();
  const power = new EventEmitter();
  const ipc = new Map<string, IpcHandler>();
  const menus: { app: MenuItemConstructorOptions[]; tray: MenuItemConstructorOptions[] } = { app: [], tray: [] };
  const tray = Object.assign(new EventEmitter(), {
    tip: '',
    alive: false,
    setToolTip(tip: string) {
      tray.tip = tip;
    },
    setEntries(entries: MenuItemConstructorOptions[]) {
      menus.tray = entries;
    },
    destroy() {
      tray.alive = false;
    },
  });
  let request: PermissionRequest | null = null;
  let check: PermissionCheck | null = null;
  let device: DeviceHandler | null = null;
  let lastId = 0;

  function createWindow(given: BrowserWindowConstructorOptions): BrowserWindow {
    lastId += 1;
    const id = lastId;
    let openHandler: OpenHandler | undefined;
    let destroyed = false;
    const contents = Object.assign(new EventEmitter(), {
      id,
      setWindowOpenHandler: (handler: OpenHandler) => {
        openHandler = handler;
      },
      getURL: () => fake.url,
      reload: () => void fake.done.push('reload'),
      forcefullyCrashRenderer: () => void fake.done.push('crash'),
      send: (channel: string, words: unknown) => void fake.sent.push([channel, words]),
    });
    const window = Object.assign(new EventEmitter(), {
      webContents: contents,
      show: () => void fake.done.push('show'),
      focus: () => {
        fake.done.push('focus');
        window.emit('focus');
      },
      restore: () => {
        fake.minimized = false;
        fake.done.push('restore');
      },
      maximize: () => void fake.done.push('maximize'),
      isMinimized: () => fake.minimized,
      isMaximized: () => fake.done.includes('maximize'),
      isFocused: () => fake.focused,
      isDestroyed: () => destroyed,
      getBounds: () => fake.bounds,
      getNormalBounds: () => fake.bounds,
      loadURL: async (address: string) => {
        fake.url = address;
        fake.loaded.push(address);
        window.emit('ready-to-show');
      },
    });
    const fake: FakeWindow = {
      options: given,
      id,
      loaded: [],
      sent: [],
      done: [],
      url: '',
      focused: false,
      minimized: false,
      bounds: { x: given.x ?? 40, y: given.y ?? 40, width: given.width ?? 0, height: given.height ?? 0 },
      close() {
        window.emit('close');
        destroyed = true;
        windows.splice(windows.indexOf(fake), 1);
        window.emit('closed');
        if (windows.length === 0) app.emit('window-all-closed');
      },
      gone: (reason) =>
        void contents.emit('render-process-gone', {}, { reason, exitCode: 9 } satisfies RenderProcessGoneDetails),
      raise: (event) => void window.emit(event),
      failLoad: (code, address, isMainFrame = true) =>
        void contents.emit('did-fail-load', {}, code, 'ERR_CONNECTION_REFUSED', address, isMainFrame, 1, 1),
      go(event, url) {
        let prevented = false;
        contents.emit(event, {
          url,
          preventDefault: () => {
            prevented = true;
          },
        });
        return prevented;
      },
      open(url) {
        if (openHandler === undefined) throw new Error('No window-open handler was set.');
        return openHandler(as<Parameters<OpenHandler>[0]>({ url }));
      },
    };
    windows.push(fake);
    app.emit('web-contents-created', {}, contents);
    return as<BrowserWindow>(window);
  }

  const parts: ElectronParts = {
    app: as<ElectronParts['app']>(
      Object.assign(app, {
        isPackaged: options.packaged === true,
        requestSingleInstanceLock: () => {
          done.push('lock');
          return options.secondInstance !== true;
        },
        exit: (code?: number) => void done.push(`exit ${code}`),
        whenReady: async () => void done.push('ready'),
        setPath: (name: string, path: string) => void done.push(`path ${name} ${path}`),
        setLoginItemSettings: (settings: Partial<LoginItemSettings>) => void loginItems.push(settings),
        setAsDefaultProtocolClient: (name: string) => {
          done.push(`protocol ${name}`);
          return true;
        },
      }),
    ),
    createWindow,
    session: () =>
      as<ReturnType<ElectronParts['session']>>({
        cookies: {
          set: async (details: CookiesSetDetails) => {
            done.push('cookie');
            cookies.push(details);
          },
        },
        setPermissionRequestHandler: (handler: PermissionRequest | null) => {
          request = handler;
        },
        setPermissionCheckHandler: (handler: PermissionCheck | null) => {
          check = handler;
        },
        setDevicePermissionHandler: (handler: DeviceHandler | null) => {
          device = handler;
        },
      }),
    external: {
      openExternal: async (url: string) => void done.push(`external ${url}`),
      openPath: async (path: string) => {
        done.push(`path ${path}`);
        return '';
      },
    },
    ipc: { handle: (channel: string, handler: IpcHandler) => void ipc.set(channel, handler) },
    power: () => as<ReturnType<ElectronParts['power']>>(power),
    screen: () =>
      as<ReturnType<ElectronParts['screen']>>({
        getAllDisplays: () =>
          (options.displays ?? [{ x: 0, y: 0, width: 1920, height: 1080 }]).map((workArea) => ({ workArea })),
      }),
    setMenu(entries) {
      menus.app = entries;
    },
    createTray(entries) {
      if (options.tray === false) throw new Error('no tray');
      menus.tray = entries;
      tray.alive = true;
      return as<ReturnType<ElectronParts['createTray']>>(tray);
    },
    notify(given) {
      const one = new EventEmitter();
      notifications.push({
        options: given,
        click: () => void one.emit('click'),
        press: (actionIndex) => void one.emit('action', { actionIndex }),
      });
      return as<ReturnType<ElectronParts['notify']>>(Object.assign(one, { show: () => void done.push('notified') }));
    },
  };

  return {
    parts,
    done,
    windows,
    cookies,
    notifications,
    loginItems,
    menus,
    tray,
    raise(event: 'window-all-closed' | 'activate'): void {
      app.emit(event);
    },
    secondInstance: (argv: string[]) => void app.emit('second-instance', {}, argv, '/', null),
    childGone: (details: Details) => void app.emit('child-process-gone', {}, details),
    /** Answers whether the system's own way was kept from it. */
    prevented(event: 'open-url' | 'before-quit', url?: string): boolean {
      let prevented = false;
      const raised = {
        preventDefault: () => {
          prevented = true;
        },
      };
      app.emit(event, raised, url);
      return prevented;
    },
    power: (event: 'suspend' | 'resume') => void power.emit(event),
    /** As a page calls main. */
    async call(
      channel: string,
      payload: unknown[],
      from: { id: number; url: string; frame?: 'child' | 'gone' },
    ): Promise<unknown> {
      const handler = ipc.get(channel);
      if (handler === undefined) throw new Error(`Nothing is handled on ${channel}.`);
      const frame = as<WebFrameMain>({ url: from.url, parent: from.frame === 'child' ? {} : null });
      const senderFrame = from.frame === 'gone' ? null : frame;
      return handler(as<IpcMainInvokeEvent>({ sender: { id: from.id }, senderFrame }), ...payload);
    },
    channels: () => [...ipc.keys()].sort(),
    mayUse(permission: string, from: string): { asked: boolean; checked: boolean; device: boolean } {
      let asked = false;
      const page = as<WebContents>({ getURL: () => from });
      type Permission = Parameters<PermissionRequest>[1];
      request?.(
        page,
        permission as Permission,
        (granted) => {
          asked = granted;
        },
        as<Parameters<PermissionRequest>[3]>({}),
      );
      const checked = check?.(page, permission as Parameters<PermissionCheck>[1], from, {} as never);
      return { asked, checked: checked === true, device: device?.(as<Parameters<DeviceHandler>[0]>({})) === true };
    },
  };
}
