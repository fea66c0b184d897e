/** The pane host as a program: `pane-host --home <data folder> [--idle-exit <ms>]`. Started by a runtime, outlives it. */
import { mkdirSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { takeLock } from './lock.ts';
import { hostFiles } from './protocol.ts';
import { loadUnixPty, type StartPty } from './pty.ts';
import { type HostServer, idleExitMs, startHostServer } from './server.ts';

const { values } = parseArgs({ options: { home: { type: 'string' }, 'idle-exit': { type: 'string' } } });
const log = (line: string): void => void process.stderr.write(`${new Date().toISOString()} ${line}\n`);

async function loadPty(): Promise<StartPty> {
  return process.platform === 'win32' ? (await import('./pty-windows.ts')).loadWindowsPty() : loadUnixPty();
}

async function main(home: string): Promise<void> {
  const files = hostFiles(home);
  mkdirSync(files.folder, { recursive: true, mode: 0o700 });
  const lock = takeLock(files.lock);
  if (!lock) {
    log('another host of this data folder runs; nothing to do');
    return;
  }
  const leave = (why: string): void => {
    log(`ended: ${why}`);
    lock.release();
    process.exit(0);
  };
  let server: HostServer | undefined;
  try {
    server = await startHostServer({
      files,
      idleExitMs: Number(values['idle-exit'] ?? idleExitMs),
      loadPty,
      now: Date.now,
      log,
      onEnd: leave,
    });
  } catch (error) {
    lock.release();
    throw error;
  }
  log(`started, process ${process.pid}`);
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => void server?.close(`the pane host was ended by ${signal}`).then(() => leave(signal)));
  }
  // A runtime's terminal may go away; its panes stay.
  process.on('SIGHUP', () => {});
  // One pane's fault must not end the others: it is written down and the host goes on.
  process.on('uncaughtException', (error) => log(`not caught: ${error.stack}`));
}

if (!values.home) {
  process.stderr.write('pane-host: --home <data folder> is missing\n');
  process.exitCode = 64;
} else {
  await main(values.home);
}
