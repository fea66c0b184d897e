/** `gantry desktop install`: fetches Electron's program, because a person asked for it. Starting Gantry never does. */
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { AppError } from '../../contracts/common/errors.ts';
import { type Action, flag } from '../command.ts';
import { findElectron } from '../start/surroundings.ts';

export const install: Action = async (context, input) => {
  const there = findElectron(context.env);
  if (there !== null) {
    context.output.result({ installed: there, fetched: false }, () => `Electron is already installed: ${there}`);
    return undefined;
  }
  const { folder, script } = installer();
  if (flag(input, 'dryRun')) {
    const plan = { run: [process.execPath, script], writes: join(folder, 'dist') };
    context.output.result({ dryRun: true, plan }, () => `Would download Electron, over 100 MB, into ${plan.writes}.`);
    return undefined;
  }
  context.output.note('Downloading Electron, over 100 MB …');
  const code = await new Promise<number | null>((resolve) => {
    const child = spawn(process.execPath, [script], { cwd: folder, stdio: 'ignore', env: context.env });
    child.on('error', () => resolve(null));
    child.on('exit', resolve);
  });
  const file = findElectron(context.env);
  if (code !== 0 || file === null) {
    throw new AppError(
      'transport',
      `Electron could not be downloaded (${code === null ? 'its installer did not start' : `its installer ended with ${code}`}).`,
      `Check the network and try again, or use the browser: ${context.names.gantry} open`,
    );
  }
  context.output.result(
    { installed: file, fetched: true },
    () => `Electron is installed. Start Gantry again: ${context.names.start}`,
  );
  return undefined;
};

function installer(): { folder: string; script: string } {
  try {
    const folder = dirname(createRequire(import.meta.url).resolve('electron/package.json'));
    return { folder, script: join(folder, 'install.js') };
  } catch (cause) {
    throw new AppError('not_found', 'The package electron is not installed.', 'In a clone of Gantry run: npm ci', {
      cause,
    });
  }
}
