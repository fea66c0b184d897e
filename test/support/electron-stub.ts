/**
 * Stands for the module `electron` in a process of its own, so that the desktop program runs whole, with its real servers, under Node. Says
 * what it is told as JSON lines on stdout, and takes `quit`, `fault` and `link <address>` on stdin. Decides nothing.
 */
import { EventEmitter } from 'node:events';
import { registerHooks } from 'node:module';
import { createInterface } from 'node:readline';
import type { BrowserWindowConstructorOptions, CookiesSetDetails } from 'electron';

// A packed app: its programs are looked for as Electron has them.
const resources = process.env.GANTRY_STUB_RESOURCES;
if (resources !== undefined) {
  Object.defineProperty(process, 'versions', { value: { ...process.versions, electron: '45.0.0' } });
  Object.assign(process, { resourcesPath: resources });
}

const self = import.meta.url;
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'electron'
      ? { url: self, format: 'module-typescript', shortCircuit: true }
      : next(specifier, context),
});

const say = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);

export const app = Object.assign(new EventEmitter(), {
  isPackaged: false,
  setPath: (name: string, path: string) => say({ path: name, to: path }),
  requestSingleInstanceLock: () => true,
  whenReady: async () => {},
  enableSandbox() {},
  setAppUserModelId() {},
  setLoginItemSettings() {},
  setAsDefaultProtocolClient: () => true,
  exit(code: number) {
    say({ exit: code });
    process.exit(code);
  },
});
let cookie = '';
export const session = {
  defaultSession: {
    cookies: {
      async set({ name, value, httpOnly, sameSite }: CookiesSetDetails) {
        cookie = `${name}=${value}`;
        say({ cookie: name, httpOnly, sameSite });
      },
    },
    setPermissionRequestHandler() {},
    setPermissionCheckHandler() {},
    setDevicePermissionHandler() {},
  },
};
let contents = 0;
export class BrowserWindow extends EventEmitter {
  readonly webContents: EventEmitter & { readonly id: number };
  constructor(options: BrowserWindowConstructorOptions) {
    super();
    contents += 1;
    this.webContents = Object.assign(new EventEmitter(), {
      id: contents,
      setWindowOpenHandler() {},
      getURL: () => '',
      send: (_channel: string, words: object) => say({ said: words }),
    });
    say({ window: contents, sandbox: options.webPreferences?.sandbox });
    app.emit('web-contents-created', {}, this.webContents);
  }
  /** As its page asks Gantry who it is: with the cookie that main has set, and nothing else. */
  async loadURL(address: string): Promise<void> {
    if (!address.startsWith('http')) return say({ load: decodeURIComponent(address) });
    const session = await fetch(new URL('/api/v1/session', address), { headers: { cookie } });
    say({ load: address, session: session.status });
  }
  show(): void {}
  focus(): void {}
  isDestroyed = (): boolean => false;
  isMinimized = (): boolean => false;
  isFocused = (): boolean => false;
  isMaximized = (): boolean => false;
  getBounds = () => ({ x: 0, y: 0, width: 800, height: 600 });
  getNormalBounds = () => this.getBounds();
}
export class Tray extends EventEmitter {
  setContextMenu(): void {}
  setToolTip = (tip: string): void => say({ tip });
  destroy(): void {}
}
export class Notification extends EventEmitter {
  show(): void {}
}
export const Menu = { setApplicationMenu() {}, buildFromTemplate: () => ({}) };
export const crashReporter = { start: (options: object) => say({ crashReporter: options }) };
export const ipcMain = { handle() {} };
export const nativeImage = { createFromPath: () => ({}) };
export const powerMonitor = new EventEmitter();
export const screen = { getAllDisplays: () => [] };
export const shell = { openExternal: async () => {}, openPath: async () => '' };

createInterface({ input: process.stdin }).on('line', (line) => {
  if (line === 'quit') app.emit('before-quit', { preventDefault() {} });
  else if (line === 'fault') setImmediate(() => JSON.parse('{'));
  else app.emit('second-instance', {}, ['gantry', line.replace('link ', '')]);
});
