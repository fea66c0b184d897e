/** What the shell uses of Electron, by Electron's own types: `main.ts` gives the real ones, tests a substitute. */
import type {
  App,
  BrowserWindow,
  BrowserWindowConstructorOptions,
  IpcMain,
  MenuItemConstructorOptions,
  Notification,
  NotificationConstructorOptions,
  PowerMonitor,
  Screen,
  Session,
  Shell,
  Tray,
} from 'electron';

export interface ElectronParts {
  readonly app: Pick<
    App,
    | 'requestSingleInstanceLock'
    | 'on'
    | 'exit'
    | 'whenReady'
    | 'setPath'
    | 'isPackaged'
    | 'setLoginItemSettings'
    | 'setAsDefaultProtocolClient'
  >;
  readonly createWindow: (options: BrowserWindowConstructorOptions) => BrowserWindow;
  readonly session: () => Pick<
    Session,
    'cookies' | 'setPermissionRequestHandler' | 'setPermissionCheckHandler' | 'setDevicePermissionHandler'
  >;
  readonly external: Pick<Shell, 'openExternal' | 'openPath'>;
  readonly ipc: Pick<IpcMain, 'handle'>;
  readonly power: () => Pick<PowerMonitor, 'on'>;
  readonly screen: () => Pick<Screen, 'getAllDisplays'>;
  readonly setMenu: (entries: MenuItemConstructorOptions[]) => void;
  /** Null where the desktop has no place for one. */
  readonly createTray: (entries: MenuItemConstructorOptions[]) => Pick<Tray, 'setToolTip' | 'on' | 'destroy'> & {
    setEntries(entries: MenuItemConstructorOptions[]): void;
  };
  readonly notify: (options: NotificationConstructorOptions) => Pick<Notification, 'on' | 'show'>;
}
