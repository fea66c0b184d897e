/** `gantry desktop install`: fetches Electron's program, because a person asked for it. Starting Gantry never does. */
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { AppError } from '../../contracts/common/errors.ts';
import { size } from '../backup/backup.ts';
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
  const progress = context.output.progress('Downloading Electron');
  // A download that fails is tried again by the installer, which also says whether Electron is there.
  await downloadElectron(folder, context.env, progress.at).catch(() => {});
  progress.end();
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

/** The part of @electron/get that is used. It comes with Electron, whose installer calls it in the same way but says nothing while it downloads. */
interface ElectronGet {
  downloadArtifact(how: {
    readonly version: string;
    readonly artifactName: string;
    readonly checksums: unknown;
    readonly platform: string;
    readonly arch: string;
    readonly cacheRoot?: string;
    readonly downloadOptions: {
      readonly quiet: true;
      readonly getProgressCallback: (now: { transferred: number; total: number | null }) => Promise<void>;
    };
  }): Promise<string>;
}

/**
 * Downloads Electron's archive into the cache of @electron/get, where the installer in `folder` finds it, and returns its path there. `onProgress`
 * gets bytes.
 */
export async function downloadElectron(
  folder: string,
  env: Readonly<Record<string, string | undefined>>,
  onProgress: (done: number, total: number, what?: string) => void,
): Promise<string> {
  const require = createRequire(join(folder, 'install.js'));
  const { downloadArtifact } = (await import(
    pathToFileURL(require.resolve('@electron/get')).href
  )) as unknown as ElectronGet;
  return downloadArtifact({
    version: (require('./package.json') as { version: string }).version,
    artifactName: 'electron',
    checksums: require('./checksums.json'),
    platform: env.ELECTRON_INSTALL_PLATFORM || env.npm_config_platform || process.platform,
    arch: env.ELECTRON_INSTALL_ARCH || env.npm_config_arch || process.arch,
    ...(env.electron_config_cache === undefined ? {} : { cacheRoot: env.electron_config_cache }),
    downloadOptions: {
      quiet: true,
      async getProgressCallback({ transferred, total }) {
        if (total !== null) onProgress(transferred, total, `${size(transferred)} of ${size(total)}`);
      },
    },
  });
}

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
