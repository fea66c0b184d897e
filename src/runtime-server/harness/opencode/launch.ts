/**
 * Starts opencode in a pane or for one answer: flags, the settings of this start, environment. Everything is given per start by variables and files
 * of the bot's own folder; nothing is written into the person's home.
 */
import { randomBytes } from 'node:crypto';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { Surroundings } from '../adapter.ts';
import type { ExecStart } from '../exec-run.ts';
import type { BotPaths, BotSpec, ExecMode, Launch } from '../harness.ts';
import { installedProgram, paneLaunch } from '../launch-parts.ts';
import { opencodeProgram } from './program.ts';

/** Where the server of one start listens, and the credentials that it requires. */
export interface ServerAccess {
  readonly port: number;
  readonly password: string;
}

/** In one word: a name that begins with a dash would be read as an option. */
const model = (bot: BotSpec): string[] => (bot.model === null ? [] : [`--model=${bot.model}`]);

type Permission = 'ask' | 'allow' | 'deny';

/** Without these opencode runs everything unasked. */
const asking: Readonly<Record<string, Permission>> = {
  bash: 'ask',
  edit: 'ask',
  webfetch: 'ask',
  external_directory: 'ask',
};

/** What exec mode allows; it refuses what would be asked, since nobody is at the terminal. */
const execPermissions: Readonly<Record<ExecMode, Readonly<Record<string, Permission>>>> = {
  plan: { ...asking, bash: 'deny', edit: 'deny', external_directory: 'deny' },
  ask: asking,
  accept_edits: { ...asking, edit: 'allow' },
};

/** Laid over the person's own settings and the project's, whose providers, keys and agents stay. */
function settingsOf(
  bot: BotSpec,
  permission: Readonly<Record<string, Permission>>,
  culture: string | null,
): Record<string, unknown> {
  return {
    autoupdate: false,
    share: 'disabled',
    permission,
    // A cloned project may name its own starting agent, one that asks nothing.
    default_agent: 'build',
    // An agent's own permissions come before the general ones; the second is the helper that the first calls.
    agent: { build: { permission }, general: { permission } },
    ...(bot.model !== null && { model: bot.model }),
    ...(culture !== null && { instructions: [culture] }),
  };
}

async function environmentOf(
  bot: BotSpec,
  paths: BotPaths,
  permission: Readonly<Record<string, Permission>>,
): Promise<Record<string, string>> {
  const culture = bot.culture === null ? null : join(paths.folder, 'opencode-culture.md');
  if (culture !== null) await writeFile(culture, `${bot.culture}\n`, { mode: 0o600 });
  return {
    OPENCODE_CONFIG_CONTENT: JSON.stringify(settingsOf(bot, permission, culture)),
    OPENCODE_DISABLE_AUTOUPDATE: '1',
    OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
  };
}

export async function launchOpencode(
  around: Surroundings,
  bot: BotSpec,
  paths: BotPaths,
  sessionToResume: string | null,
): Promise<{ launch: Launch; serverFile: string }> {
  const file = await installedProgram(around, 'opencode', opencodeProgram);
  const serverAccess: ServerAccess = { port: await freePort(), password: randomBytes(32).toString('base64url') };
  const serverFile = join(paths.folder, 'opencode-server.json');
  await writeFile(serverFile, `${JSON.stringify(serverAccess)}\n`, { mode: 0o600 });
  // `mode` holds only for a new file.
  await chmod(serverFile, 0o600);
  const own = await environmentOf(bot, paths, asking);
  const command: Launch['command'] = [
    file,
    // A plugin that cannot be fetched leaves the screen blank for more than a minute.
    '--pure',
    '--hostname',
    '127.0.0.1',
    '--port',
    String(serverAccess.port),
    ...(sessionToResume === null ? [] : ['--session', sessionToResume]),
    ...model(bot),
  ];
  const launch = paneLaunch(around, bot, paths, command, own);
  return { serverFile, launch: { ...launch, env: { ...launch.env, OPENCODE_SERVER_PASSWORD: serverAccess.password } } };
}

/** argv and environment of exec mode; the text comes on stdin, so no text can be an option. */
export async function execCommand(
  around: Surroundings,
  bot: BotSpec,
  mode: ExecMode,
  sessionToResume: string | null,
  paths: BotPaths,
): Promise<ExecStart> {
  const own = await environmentOf(bot, paths, execPermissions[mode]);
  return {
    command: [
      await installedProgram(around, 'opencode', opencodeProgram),
      'run',
      '--pure',
      '--format',
      'json',
      ...(sessionToResume === null ? [] : ['--session', sessionToResume]),
      ...model(bot),
    ],
    own,
  };
}

/** Null where the file is missing or invalid. */
export async function readServerAccess(file: string): Promise<ServerAccess | null> {
  try {
    const serverAccess = JSON.parse(await readFile(file, 'utf8')) as Partial<ServerAccess>;
    return typeof serverAccess.port === 'number' && typeof serverAccess.password === 'string'
      ? { port: serverAccess.port, password: serverAccess.password }
      : null;
  } catch {
    return null;
  }
}

/** The port was free a moment ago: if another program takes it before opencode does, opencode fails to start and the pane says so (`listener.ts`). */
function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
