/**
 * How Claude Code is started in a pane or for one answer: flags, the settings and tools files of this start, environment.
 * Everything is given per start; nothing is written into the person's home.
 */
import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { mcpServer } from '../../../contracts/tool-server/mcp.ts';
import type { Surroundings } from '../adapter.ts';
import type { ExecStart } from '../exec-run.ts';
import type { BotDoors, BotSpec, ExecMode, Launch } from '../harness.ts';
import { installedProgram, paneLaunch } from '../launch-parts.ts';
import { quote } from '../shell/start-file.ts';
import { toolEndEvents } from './questions.ts';
import { claudeHookEvents } from './rules.ts';

/** A hook that does not answer holds the turn up: the client gives up sooner by itself. */
const hookTimeoutSeconds = 10;
/** Its dialog stands on the screen meanwhile, so this hook holds nothing up. Longer than an approval lives. */
const questionTimeoutSeconds = 26 * 60 * 60;

/** Its default is a mode in which a classifier approves tools by itself; a bot starts from asking. */
const permissionModes: Readonly<Record<ExecMode, string>> = {
  plan: 'plan',
  ask: 'manual',
  accept_edits: 'acceptEdits',
};

/** Sends progress as OSC 9;4 only to terminals that it knows. */
const terminal = { TERM_PROGRAM: 'ghostty' };

/** Exists while a question of this bot waits: only then is it of interest that a tool has run. */
export function askingMark(folder: string): string {
  return join(folder, 'asking');
}

/**
 * The settings of one start: every hook that a rule reads calls `gantry hook <Event>`. That a tool has run says that its
 * question was answered in the pane; without a question it starts no program, or every tool call would cost one.
 */
export function claudeSettings(doors: BotDoors, withTools: boolean): Record<string, unknown> {
  const call = (event: string) => [...doors.gantry, 'hook', event].map(quote).join(' ');
  const hook = (command: string, timeout: number) => [{ hooks: [{ type: 'command', command, timeout }] }];
  const mark = quote(askingMark(doors.folder));
  const hooks = [
    ...claudeHookEvents.map((event) => [
      event,
      hook(call(event), event === 'PermissionRequest' ? questionTimeoutSeconds : hookTimeoutSeconds),
    ]),
    ...toolEndEvents.map((event) => [event, hook(`[ ! -e ${mark} ] || exec ${call(event)}`, hookTimeoutSeconds)]),
  ];
  // Gantry's own tools ask where they run, after the person's rules: a dialog here would ask twice.
  const permissions = withTools ? { permissions: { allow: [`mcp__${toolServer}`] } } : {};
  return { hooks: Object.fromEntries(hooks), ...permissions };
}

/** Claude Code calls a tool of it `mcp__gantry__<tool>`; a server of that name in the person's own files stands back. */
const toolServer = 'gantry';

/**
 * The tools of this computer, for this bot: at the engine's port, with the token that the bot has. A shell reads it from its file when
 * Claude Code connects, so it is in no argument, no environment and no other file. Null: no engine has said where it is.
 */
export async function toolServerConfig(doors: BotDoors): Promise<Record<string, unknown> | null> {
  const url = await readFile(doors.urlFile, 'utf8').then(
    (text) => text.trim(),
    () => null,
  );
  if (url === null || !url.startsWith('http')) return null;
  const headersHelper = `printf '{"Authorization":"Bearer %s"}' "$(cat ${quote(doors.tokenFile)})"`;
  return {
    mcpServers: { [toolServer]: { type: 'http', url: `${url}${mcpServer.path}?names=safe`, headersHelper } },
  };
}

export async function launchClaude(
  around: Surroundings,
  bot: BotSpec,
  doors: BotDoors,
  sessionToResume: string | null,
): Promise<{ launch: Launch; sessionId: string }> {
  const file = await installedProgram(around, 'claude', 'Claude Code');
  const toolsFile = join(doors.folder, 'claude-tools.json');
  const config = await toolServerConfig(doors);
  if (config !== null) await writeFile(toolsFile, `${JSON.stringify(config, null, 2)}\n`, { mode: 0o600 });
  const settings = join(doors.folder, 'claude-settings.json');
  const given = claudeSettings(doors, config !== null);
  await writeFile(settings, `${JSON.stringify(given, null, 2)}\n`, { mode: 0o600 });
  const sessionId = sessionToResume ?? randomUUID();
  const command: Launch['command'] = [
    file,
    '--settings',
    settings,
    ...(sessionToResume === null ? ['--session-id', sessionId] : ['--resume', sessionId]),
    '--permission-mode',
    permissionModes.ask,
    ...(config === null ? [] : ['--mcp-config', toolsFile]),
    ...(bot.model === null ? [] : ['--model', bot.model]),
    ...(bot.culture === null ? [] : ['--append-system-prompt', bot.culture]),
  ];
  return { sessionId, launch: paneLaunch(around, bot, doors, command, terminal) };
}

/** argv of exec mode; the text comes on stdin, so no text can be an option. */
export async function execCommand(
  around: Surroundings,
  bot: BotSpec,
  mode: ExecMode,
  sessionToResume: string | null,
): Promise<ExecStart> {
  return {
    command: [
      await installedProgram(around, 'claude', 'Claude Code'),
      '-p',
      '--output-format',
      'json',
      '--permission-mode',
      permissionModes[mode],
      ...(sessionToResume === null ? [] : ['--resume', sessionToResume]),
      ...(bot.model === null ? [] : ['--model', bot.model]),
      ...(bot.culture === null ? [] : ['--append-system-prompt', bot.culture]),
    ],
  };
}
