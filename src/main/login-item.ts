/**
 * Starting with the person's session, as they chose it. macOS and Windows have a register for it; on Linux it is a file of the desktop's
 * autostart folder, which Electron does not write.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { App } from 'electron';

/** Said to the program by such a start: it shows no window. */
export const quietly = '--quietly';

export interface LoginItemDeps {
  readonly app: Pick<App, 'isPackaged' | 'setLoginItemSettings'>;
  readonly platform: string;
  readonly execPath: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly userHome: string;
}

/** When run from sources, the program's path is Electron's, which starts nothing of Gantry without arguments. */
export const canOpenAtLogin = ({ app }: Pick<LoginItemDeps, 'app'>): boolean => app.isPackaged;

export function setOpenAtLogin(deps: LoginItemDeps, on: boolean): void {
  if (!canOpenAtLogin(deps)) return;
  if (deps.platform !== 'linux') {
    deps.app.setLoginItemSettings({ openAtLogin: on, args: [quietly] });
    return;
  }
  const file = autostartFile(deps);
  if (!on) {
    rmSync(file, { force: true });
    return;
  }
  mkdirSync(dirname(file), { recursive: true });
  // An AppImage is mounted at another place each time: its own file is what stays.
  writeFileSync(file, autostartEntry(deps.env.APPIMAGE || deps.execPath));
}

function autostartFile({ env, userHome }: Pick<LoginItemDeps, 'env' | 'userHome'>): string {
  return join(env.XDG_CONFIG_HOME || join(userHome, '.config'), 'autostart', 'gantry.desktop');
}

export function autostartEntry(program: string): string {
  // The format's own quoting: a backslash before these, then once more as a value of the file, and %% for %.
  const quoted = program
    .replace(/["`$\\]/g, '\\$&')
    .replaceAll('\\', '\\\\')
    .replaceAll('%', '%%');
  return [
    '[Desktop Entry]',
    'Type=Application',
    'Name=Gantry',
    `Exec="${quoted}" ${quietly}`,
    'X-GNOME-Autostart-enabled=true',
    '',
  ].join('\n');
}
