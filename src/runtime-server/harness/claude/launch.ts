/**
 * Starts Claude Code in a pane or for one answer: flags, the settings and tools files of this start, environment. Everything is given per start;
 * nothing is written into the person's home.
 */
import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { mcpServer } from '../../../contracts/tool-server/mcp.ts';
import type { Surroundings } from '../adapter.ts';
import type { ExecStart } from '../exec-run.ts';
import type { BotPaths, BotSpec, ExecMode, Launch } from '../harness.ts';
import { installedProgram, paneLaunch } from '../launch-parts.ts';
import { quote } from '../shell/start-file.ts';
import { claudeProgram } from './program.ts';
import { toolEndEvents } from './questions.ts';
import { claudeHookEvents } from './rules.ts';

/** A hook that does not answer blocks the turn; the hook client gives up before this. */
const hookTimeoutSeconds = 10;
/** Claude Code shows its dialog while this hook waits, so it blocks nothing. Longer than an approval lives. */
const questionTimeoutSeconds = 26 * 60 * 60;

/** Claude Code's default is a mode in which a classifier approves tools; a bot starts in the mode that asks. */
const permissionModes: Readonly<Record<ExecMode, string>> = {
  plan: 'plan',
  ask: 'manual',
  accept_edits: 'acceptEdits',
};

/** Claude Code sends progress as OSC 9;4 only to terminals that it knows. */
const terminal = { TERM_PROGRAM: 'ghostty' };

/** Exists while a question of this bot waits: only then does it matter that a tool has run. */
export function askingMark(folder: string): string {
  return join(folder, 'asking');
}

/**
 * The settings of one start: every hook that a rule reads calls `gantry hook <Event>`. A finished tool shows that its question was answered in the
 * pane; without an open question its hook starts no program, or every tool call would cost one.
 */
function claudeSettings(paths: BotPaths, withTools: boolean): Record<string, unknown> {
  const call = (event: string) => [...paths.gantry, 'hook', event].map(quote).join(' ');
  const hook = (command: string, timeout: number) => [{ hooks: [{ type: 'command', command, timeout }] }];
  const mark = quote(askingMark(paths.folder));
  const hooks = [
    ...claudeHookEvents.map((event) => [
      event,
      hook(call(event), event === 'PermissionRequest' ? questionTimeoutSeconds : hookTimeoutSeconds),
    ]),
    ...toolEndEvents.map((event) => [event, hook(`[ ! -e ${mark} ] || exec ${call(event)}`, hookTimeoutSeconds)]),
  ];
  // Gantry's own tools ask for approval themselves, after the person's rules: a dialog here would ask twice.
  const permissions = withTools ? { permissions: { allow: [`mcp__${toolServer}`] } } : {};
  return { hooks: Object.fromEntries(hooks), ...permissions };
}

/** Claude Code calls its tools `mcp__gantry__<tool>`; this server overrides one of the same name in the person's own files. */
const toolServer = 'gantry';

/**
 * Gantry's tools for this bot: the engine's port, with the bot's token. A shell reads the token from its file when Claude Code connects, so it is in
 * no argument, environment or other file. Null: no engine has published its port.
 */
async function toolServerConfig(paths: BotPaths): Promise<Record<string, unknown> | null> {
  const url = await readFile(paths.urlFile, 'utf8').then(
    (text) => text.trim(),
    () => null,
  );
  if (url === null || !url.startsWith('http')) return null;
  const headersHelper = `printf '{"Authorization":"Bearer %s"}' "$(cat ${quote(paths.tokenFile)})"`;
  return {
    mcpServers: { [toolServer]: { type: 'http', url: `${url}${mcpServer.path}?names=safe`, headersHelper } },
  };
}

export async function launchClaude(
  around: Surroundings,
  bot: BotSpec,
  paths: BotPaths,
  sessionToResume: string | null,
): Promise<{ launch: Launch; sessionId: string }> {
  const file = await installedProgram(around, 'claude', claudeProgram);
  const toolsFile = join(paths.folder, 'claude-tools.json');
  const config = await toolServerConfig(paths);
  if (config !== null) await writeFile(toolsFile, `${JSON.stringify(config, null, 2)}\n`, { mode: 0o600 });
  const settings = join(paths.folder, 'claude-settings.json');
  const given = claudeSettings(paths, config !== null);
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
  return { sessionId, launch: paneLaunch(around, bot, paths, command, terminal) };
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
      await installedProgram(around, 'claude', claudeProgram),
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
