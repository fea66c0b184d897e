/** Gantry as a service of the person's own session, on the system at hand: which file, which commands. Never needs an administrator. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join, sep } from 'node:path';
import { dataFolder, packageRoot, placesIn } from '../../host/places.ts';
import { userName } from '../../host/user-name.ts';
import type { Env } from '../connect.ts';
import { launchdPlist, type Program, serviceName, systemdUnit, type Unit, windowsTask } from './units.ts';

export interface Service {
  readonly unit: Unit;
  /** `utf8`, or what the system's own tool reads. */
  readonly encoding: 'utf8' | 'utf16le';
  /** Run in this order once the file is there; `start` is left away while a Gantry runs. */
  readonly enable: readonly (readonly string[])[];
  readonly start: readonly (readonly string[])[];
  /** Run before the file is removed, and after. */
  readonly disable: readonly (readonly string[])[];
  readonly forget: readonly (readonly string[])[];
  /** Answers 0 where services of a person can be used at all. */
  readonly probe: readonly string[];
  /** Answers 0 while the system knows it. */
  readonly known: readonly string[];
  readonly system: 'systemd' | 'launchd' | 'Task Scheduler';
}

export function serviceHere(env: Env, platform: NodeJS.Platform = process.platform): Service {
  const home = dataFolder(env);
  const person = env.HOME || homedir();
  const defaultHome = join(person, '.gantry');
  const name = serviceName(home, defaultHome);
  const root = packageRoot();
  const program: Program = {
    command: [process.execPath, join(root, 'scripts', 'gantry.mjs'), 'start', '--service', home],
    variables: { PATH: lastingPath(env.PATH ?? '') },
    logs: placesIn(home).logs,
    docs: join(root, 'docs', 'operating.md'),
  };
  if (platform === 'darwin') return launchd(launchdPlist(name, join(person, 'Library', 'LaunchAgents'), program));
  if (platform === 'win32') return taskScheduler(windowsTask(name, home, program, userName()));
  return systemd(systemdUnit(name, join(env.XDG_CONFIG_HOME || join(person, '.config'), 'systemd', 'user'), program));
}

/** What npm and a bot's pane put in front is gone tomorrow. */
export function lastingPath(path: string): string {
  const lasting = path
    .split(delimiter)
    .filter(
      (folder) =>
        folder !== '' && !folder.includes(`node_modules${sep}`) && !folder.includes(`${sep}run${sep}bots${sep}`),
    );
  return [...new Set(lasting)].join(delimiter);
}

function systemd(unit: Unit): Service {
  const user = (...words: string[]) => ['systemctl', '--user', ...words];
  return {
    unit,
    encoding: 'utf8',
    enable: [user('daemon-reload'), user('enable', unit.name)],
    start: [user('start', unit.name)],
    disable: [user('disable', unit.name)],
    forget: [user('daemon-reload')],
    probe: user('show-environment'),
    known: user('is-enabled', '--quiet', unit.name),
    system: 'systemd',
  };
}

function launchd(unit: Unit): Service {
  const domain = `gui/${process.getuid?.() ?? 501}`;
  return {
    unit,
    encoding: 'utf8',
    enable: [],
    start: [['launchctl', 'bootstrap', domain, unit.file]],
    disable: [],
    forget: [],
    probe: ['launchctl', 'print', domain],
    known: ['launchctl', 'print', `${domain}/${unit.name}`],
    system: 'launchd',
  };
}

function taskScheduler(unit: Unit): Service {
  return {
    unit,
    encoding: 'utf16le',
    enable: [['schtasks', '/Create', '/TN', unit.name, '/XML', unit.file, '/F']],
    start: [['schtasks', '/Run', '/TN', unit.name]],
    disable: [['schtasks', '/Delete', '/TN', unit.name, '/F']],
    forget: [],
    probe: ['schtasks', '/Query', '/TN', '\\'],
    known: ['schtasks', '/Query', '/TN', unit.name],
    system: 'Task Scheduler',
  };
}

interface Ran {
  readonly ok: boolean;
  readonly said: string;
}

export function runTool(command: readonly string[], env: Env): Ran {
  const [program = '', ...rest] = command;
  const { status, stdout, stderr, error } = spawnSync(program, rest, {
    env: { ...env },
    encoding: 'utf8',
    timeout: 30_000,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (error !== undefined) {
    const missing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    return { ok: false, said: missing ? `${program} is not installed` : error.message };
  }
  return { ok: status === 0, said: (stderr || stdout).trim().split('\n')[0] ?? '' };
}

/** Without this a service of a person ends when they sign out and begins only when they sign in. Null where it does not apply. */
export function lingers(service: Service): boolean | null {
  if (service.system !== 'systemd') return null;
  return existsSync(join('/var/lib/systemd/linger', userName()));
}
