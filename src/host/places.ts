/** The locations of Gantry's own files and its data. Must not open any of them except package.json. */
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { unpacked } from '../kit/process/programs.ts';

/** The folder with package.json, from source and once built (`out/…`); of a packed app the part that Node can read, too. */
export function packageRoot(moduleUrl: string = import.meta.url): string {
  const self = fileURLToPath(moduleUrl);
  if (self.endsWith('.ts')) return resolve(dirname(self), '..', '..');
  const built = self.lastIndexOf(`${sep}out${sep}`);
  if (built < 0) throw new Error(`${self} is neither in src/ nor in out/: Gantry's files cannot be found from it.`);
  return unpacked(self.slice(0, built));
}

export function packageVersion(root: string = packageRoot()): string {
  return (JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }).version;
}

/** `GANTRY_HOME`, else `~/.gantry`. */
export function dataFolder(env: Readonly<Record<string, string | undefined>>): string {
  return resolve(env.GANTRY_HOME || join(homedir(), '.gantry'));
}

/** Everything in the data folder, by name. */
export function placesIn(home: string) {
  const run = join(home, 'run');
  return {
    home,
    run,
    runtimeDb: join(home, 'runtime.db'),
    cloudDb: join(home, 'cloud.db'),
    token: join(home, 'token'),
    masterKey: join(home, 'master.key'),
    internalToken: join(home, 'internal-token'),
    issuerKeys: join(home, 'issuer-keys.json'),
    computer: join(home, 'computer.json'),
    pairing: join(home, 'pairing.json'),
    settings: join(home, 'settings.json'),
    serviceEnv: join(home, 'service.env'),
    demoPhone: join(home, 'demo-phone.json'),
    lastWorkspace: join(home, 'last-workspace'),
    defaultWorkspace: join(home, 'workspace'),
    logs: join(home, 'logs'),
    lock: join(run, 'lock'),
    holder: join(run, 'holder.json'),
    beat: join(run, 'beat'),
    commandNotes: join(run, 'commands'),
    engineSocket: join(run, 'engine.sock'),
    panesSocket: join(run, 'panes-v1.sock'),
    url: join(run, 'url'),
  } as const;
}

export type Places = ReturnType<typeof placesIn>;
