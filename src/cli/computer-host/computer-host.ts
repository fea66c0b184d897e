/** `gantry computer-host`: runs hosted computers until it is stopped. */
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { isAbsolute } from 'node:path';
import { AppError } from '../../contracts/common/errors.ts';
import { coresIn } from '../../host/env-number.ts';
import { type CloudToJoin, joinCloud, readCloudToJoin } from '../../host/join-cloud.ts';
import { packageVersion } from '../../host/places.ts';
import { readTokenFile } from '../../kit/secrets/token-file.ts';
import { defaultFolder } from '../../programs/computer-host/protocol.ts';
import { defaultSettings, maxComputers, type WarmSettings } from '../../programs/computer-host/settings.ts';
import { startComputerHost } from '../../programs/computer-host/start.ts';
import { type Action, type Input, integer, optionalText } from '../command.ts';

export const computerHost: Action = async (context, input) => {
  const { output, env, now } = context;
  const clock = { now, monotonic: () => performance.now() };
  const join = cloudToJoin(input);
  const most = integer(input, 'most', 1, maxComputers) ?? defaultSettings.most;
  const host = await startComputerHost(
    {
      folder: folderOf(input),
      owner: userNamed(optionalText(input, 'user') ?? 'root'),
      uplink: optionalText(input, 'uplink') ?? null,
      subnet: rangeOf(optionalText(input, 'subnet')),
      nameServers: serversOf(optionalText(input, 'dns')),
      firstUid: integer(input, 'firstUid', 1000, 2_000_000_000) ?? defaultSettings.firstUid,
      most,
      warm: warmOf(input, most),
      memory: integer(input, 'memory', 512, 1024 * 1024) ?? defaultSettings.memory,
      processes: integer(input, 'processes', 128, 1_000_000) ?? defaultSettings.processes,
      processor: processorOf(optionalText(input, 'processor')),
      metricsPort: integer(input, 'metrics', 0, 65_535) ?? defaultSettings.metricsPort,
    },
    env.PATH ?? '',
    clock,
    packageVersion(),
  );
  if (host.metrics !== null) output.note(`Figures: ${host.metrics.url} (token in ${host.metrics.tokenFile})`);
  output.note(`Ready to make computers: ${host.socket}`);
  const joined = join === null ? null : joinCloud({ to: join, serve: host, clock, tell: (said) => output.note(said) });
  await new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => resolve());
  });
  output.note('Stopping the computers.');
  await joined?.close();
  await host.close();
  return 0;
};

/** Null: it serves only the cloud of this machine. */
function cloudToJoin(input: Input): CloudToJoin | null {
  const cloud = optionalText(input, 'join');
  const file = optionalText(input, 'joinTokenFile');
  if (cloud === undefined && file === undefined) return null;
  if (cloud !== undefined && file !== undefined) return readCloudToJoin(cloud, readTokenFile(file));
  const fact =
    cloud === undefined ? '--join-token-file is given without --join.' : '--join is given without --join-token-file.';
  throw new AppError(
    'usage',
    fact,
    'Give both: --join https://gantry.example --join-token-file /etc/gantry/join-token',
  );
}

function warmOf(input: Input, most: number): WarmSettings {
  const desktop = integer(input, 'warmDesktop', 0, maxComputers) ?? defaultSettings.warm.desktop;
  const shell = integer(input, 'warmShell', 0, maxComputers) ?? defaultSettings.warm.shell;
  if (desktop + shell <= most) return { desktop, shell };
  const fact = `--warm-desktop and --warm-shell are ${desktop + shell} together, more than the ${most} that are kept here at most.`;
  throw new AppError('usage', fact, 'Give smaller numbers, or a larger --most.');
}

const processorOf = (given: string | undefined): number | null =>
  given === undefined ? defaultSettings.processor : coresIn('--processor', given);

function folderOf(input: Input): string {
  const folder = optionalText(input, 'folder') ?? defaultFolder;
  // A socket's path has an end.
  if (isAbsolute(folder) && folder.length <= 50 && /^[\w./-]+$/.test(folder)) return folder.replace(/\/+$/, '');
  throw new AppError(
    'usage',
    `--folder ${folder} is not an absolute path of at most 50 plain characters.`,
    'Choose another.',
  );
}

function rangeOf(text: string | undefined): string | null {
  if (text === undefined) return null;
  const [address = '', bits] = text.split('/');
  if (isIP(address) === 4 && Number(bits) >= 8 && Number(bits) <= 22) return text;
  throw new AppError(
    'usage',
    `--subnet ${text} is not an IPv4 range of at least /22.`,
    'Give one such as 10.231.0.0/22.',
  );
}

function serversOf(text: string | undefined): string[] {
  const servers = (text ?? '').split(',').filter(Boolean);
  const wrong = servers.find((server) => isIP(server) === 0);
  if (wrong === undefined) return servers;
  throw new AppError('usage', `--dns ${wrong} is not an IP address.`, 'Give comma-separated addresses.');
}

/** From the machine's own list: other sources of users would have to be asked by other means. */
function userNamed(name: string): { uid: number; gid: number } {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((each) => each.startsWith(`${name}:`));
  const [, , uid, gid] = line?.split(':') ?? [];
  if (uid !== undefined && gid !== undefined) return { uid: Number(uid), gid: Number(gid) };
  throw new AppError('usage', `There is no user ${name} on this machine.`, 'Give the user that the cloud runs as.');
}
