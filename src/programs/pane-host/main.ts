/**
 * The pane host as a program: `pane-host --home <data folder> [--build <version>] [--idle-exit <ms>]`. Started by a runtime, outlives
 * it. With `--adopt <folder>` another host starts it and hands its panes over.
 */
import { mkdirSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { loadEmulatorParts } from './emulator.ts';
import { followOldHost, readHanded } from './hand-over.ts';
import { inheritLock, type Lock, takeLock } from './lock.ts';
import { hostFiles } from './protocol.ts';
import { loadAdoptPty, loadUnixPty, type StartPty } from './pty.ts';
import { type HostServer, idleExitMs, startHostServer } from './server.ts';

const { values } = parseArgs({
  options: {
    home: { type: 'string' },
    build: { type: 'string' },
    'idle-exit': { type: 'string' },
    adopt: { type: 'string' },
  },
});
const log = (line: string): void => void process.stderr.write(`${new Date().toISOString()} ${line}\n`);

async function loadPty(): Promise<StartPty> {
  return process.platform === 'win32' ? (await import('./pty-windows.ts')).loadWindowsPty() : loadUnixPty();
}

async function main(home: string, adopt: string | undefined): Promise<void> {
  const files = hostFiles(home);
  mkdirSync(files.folder, { recursive: true, mode: 0o700 });
  let lock: Lock | null = adopt === undefined ? takeLock(files.lock) : null;
  if (!lock && adopt === undefined) {
    log('another host of this data folder runs; nothing to do');
    return;
  }
  const leave = (why: string): void => {
    log(`ended: ${why}`);
    lock?.release();
    process.exit(0);
  };
  const handed =
    adopt === undefined
      ? undefined
      : { panes: readHanded(adopt), parts: await loadEmulatorParts(), adoptPty: loadAdoptPty() };
  let server: HostServer | undefined;
  try {
    server = await startHostServer({
      files,
      build: values.build ?? '',
      idleExitMs: Number(values['idle-exit'] ?? idleExitMs),
      loadPty,
      now: Date.now,
      log,
      onEnd: leave,
      renewLock: () => lock?.renew(),
      // Its files are the heir's: nothing is closed, let go or removed.
      onHandedOver: () => process.exit(0),
      ...(handed && { handed }),
    });
  } catch (error) {
    lock?.release();
    throw error;
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => void server?.close(`the pane host was ended by ${signal}`).then(() => leave(signal)));
  }
  // A runtime's terminal may go away; its panes stay.
  process.on('SIGHUP', () => {});
  // One pane's fault must not end the others: the host logs it and continues.
  process.on('uncaughtException', (error) => log(`not caught: ${error.stack}`));
  if (adopt === undefined || !handed) {
    log(`started, process ${process.pid}`);
    return;
  }
  const { host, listen } = server;
  followOldHost({
    folder: adopt,
    panes: handed.panes.length,
    async take() {
      // The old host gives its lock away while it lives; after its death the first taker has it.
      lock = process.connected ? inheritLock(files.lock) : takeLock(files.lock);
      if (!lock) return false;
      await listen();
      return true;
    },
    begin() {
      log(`took ${handed.panes.length} panes over, process ${process.pid}`);
      host.goOn();
    },
    leave: (why) => {
      // Nothing here is its own yet.
      log(`ended: ${why}`);
      process.exit(1);
    },
  });
}

if (!values.home) {
  process.stderr.write('pane-host: --home <data folder> is missing\n');
  process.exitCode = 64;
} else {
  await main(values.home, values.adopt);
}
