/** The desktop program's entry: hands Electron to the shell. The one file that imports electron as a value. */
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  app,
  BrowserWindow,
  crashReporter,
  ipcMain,
  Menu,
  Notification,
  nativeImage,
  powerMonitor,
  screen,
  session,
  shell,
  Tray,
} from 'electron';
import { openDesktop } from '../host/desktop.ts';
import { dataFolder, packageRoot, placesIn } from '../host/places.ts';
import { systemClock } from '../kit/clock/clock.ts';
import { createLog } from '../kit/log/log.ts';
import { personPath } from './person-path.ts';
import { type RunningShell, runShell } from './shell.ts';
import type { Updater } from './updates.ts';

const places = placesIn(dataFolder(process.env));
const secrets: string[] = [];
const log = createLog({ folder: places.logs, name: 'desktop', clock: systemClock, known: () => secrets });
let running: RunningShell | null = null;

/** What nobody caught: written down, closed in order, and said by the exit code. */
function fatal(error: unknown): void {
  log.error('The desktop program met a fault that nobody caught.', { error });
  process.stderr.write(`Gantry: ${error instanceof Error ? error.stack : String(error)}\n`);
  if (running === null) app.exit(70);
  else running.quit(70);
}
process.on('uncaughtException', fatal);
process.on('unhandledRejection', fatal);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => (running === null ? app.exit(0) : running.quit(0)));
}

// Dumps stay on this computer.
crashReporter.start({ uploadToServer: false });
app.enableSandbox();
app.setAppUserModelId('dev.gantry.desktop');

const icon = (name: string) => nativeImage.createFromPath(join(packageRoot(), 'build', name));

running = runShell({
  parts: {
    app,
    createWindow: (options) => new BrowserWindow({ ...options, icon: icon('icon.png') }),
    session: () => session.defaultSession,
    external: shell,
    ipc: ipcMain,
    power: () => powerMonitor,
    screen: () => screen,
    setMenu: (entries) => Menu.setApplicationMenu(Menu.buildFromTemplate(entries)),
    createTray(entries) {
      const tray = new Tray(icon(process.platform === 'darwin' ? 'trayTemplate.png' : 'tray.png'));
      tray.setContextMenu(Menu.buildFromTemplate(entries));
      return Object.assign(tray, {
        setEntries: (next: typeof entries) => tray.setContextMenu(Menu.buildFromTemplate(next)),
      });
    },
    notify: (options) => new Notification(options),
  },
  platform: process.platform,
  argv: process.argv,
  env: process.env,
  execPath: process.execPath,
  userHome: homedir(),
  profile: join(places.home, 'desktop'),
  logs: places.logs,
  preload: fileURLToPath(new URL('../preload/preload.cjs', import.meta.url)),
  log,
  async openGantry() {
    const path = await personPath({ platform: process.platform, packaged: app.isPackaged, env: process.env });
    if (path !== null) process.env.PATH = path;
    // An AppImage runs from a folder that goes with its process.
    const again = [process.env.APPIMAGE ?? process.execPath, ...process.argv.slice(1)];
    return openDesktop({ env: process.env, again });
  },
  loadUpdater: async () => (await import('electron-updater')).autoUpdater as unknown as Updater,
  fetch,
  now: systemClock.now,
  after(ms, task) {
    const timer = setTimeout(task, ms);
    return () => clearTimeout(timer);
  },
  secret: (value) => secrets.push(value),
});
// Not awaited: Electron is ready only once this file has run to its end.
running?.started.catch(fatal);
