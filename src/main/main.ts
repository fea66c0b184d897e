/** The desktop program's entry: hands Electron to the shell. The one file that imports electron as a value. */
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { app, BrowserWindow, session, shell } from 'electron';
import { runShell } from './shell.ts';

const openAddress = process.env.GANTRY_WINDOW_ADDRESS;
delete process.env.GANTRY_WINDOW_ADDRESS;

await runShell({
  app,
  createWindow: (options) => new BrowserWindow(options),
  session: () => session.defaultSession,
  external: shell,
  fetch,
  preload: fileURLToPath(new URL('../preload/preload.cjs', import.meta.url)),
  profile: join(process.env.GANTRY_HOME || join(homedir(), '.gantry'), 'desktop'),
  openAddress,
  say: (sentence) => process.stderr.write(`${sentence}\n`),
});
