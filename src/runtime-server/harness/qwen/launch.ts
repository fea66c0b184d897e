/**
 * Starts Qwen Code in a pane or for one answer: flags, the files of this start, environment. Everything is given per start; nothing is written into
 * the person's home.
 */
import { randomUUID } from 'node:crypto';
import { access, chmod, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Surroundings } from '../adapter.ts';
import type { ExecStart } from '../exec-run.ts';
import type { BotPaths, BotSpec, ExecMode, Launch } from '../harness.ts';
import { installedProgram, paneLaunch } from '../launch-parts.ts';
import { qwenProgram } from './program.ts';

/** Qwen Code's default is a mode in which a classifier approves tools; a bot starts in the mode that asks. */
const approvalModes: Readonly<Record<ExecMode, string>> = {
  plan: 'plan',
  ask: 'default',
  accept_edits: 'auto-edit',
};

/** Each in one word: a text that begins with a dash would be read as an option. */
const given = (bot: BotSpec): string[] => [
  ...(bot.model === null ? [] : [`--model=${bot.model}`]),
  ...(bot.culture === null ? [] : [`--append-system-prompt=${bot.culture}`]),
];

/** Sends progress as OSC 9;4 only to terminals that it knows. */
const terminal = { TERM_PROGRAM: 'ghostty' };

/** Where a company's own settings lie; they are not to be put aside. */
const companySettings: Readonly<Partial<Record<NodeJS.Platform, string>>> = {
  linux: '/etc/qwen-code/settings.json',
  darwin: '/Library/Application Support/QwenCode/settings.json',
  win32: 'C:\\ProgramData\\qwen-code\\settings.json',
};
const settingsVariable = 'QWEN_CODE_SYSTEM_SETTINGS_PATH';

/** The file of its input, and the file of its events. */
export interface Channel {
  readonly input: string;
  readonly events: string;
}

/** Where Qwen Code keeps its conversations for this bot. */
export function qwenHome({ env, home }: Pick<Surroundings, 'env' | 'home'>, bot?: Pick<BotSpec, 'env'>): string {
  const set = (name: string) => bot?.env[name] || env[name];
  return set('QWEN_HOME') || join(set('HOME') || home, '.qwen');
}

export function transcriptFile(home: string, cwd: string, sessionId: string): string {
  return join(home, 'projects', cwd.replace(/[^A-Za-z0-9]/g, '-'), 'chats', `${sessionId}.jsonl`);
}

/** No updates and no telemetry of this start, by the settings that come last; where a company has its own there, those hold. */
async function quietSettings(around: Surroundings, paths: BotPaths): Promise<Record<string, string>> {
  const theirs = companySettings[process.platform];
  const given = around.env[settingsVariable] !== undefined || (theirs !== undefined && (await exists(theirs)));
  if (given) return {};
  const file = join(paths.folder, 'qwen-settings.json');
  const settings = {
    general: { enableAutoUpdate: false, disableAutoUpdate: true },
    privacy: { usageStatisticsEnabled: false },
    telemetry: { enabled: false },
  };
  await writeFile(file, `${JSON.stringify(settings, null, 2)}\n`, { mode: 0o600 });
  return { [settingsVariable]: file };
}

export async function launchQwen(
  around: Surroundings,
  bot: BotSpec,
  paths: BotPaths,
  sessionToResume: string | null,
): Promise<{ launch: Launch; sessionId: string; channel: Channel }> {
  const file = await installedProgram(around, 'qwen', qwenProgram);
  const channel = {
    input: join(paths.folder, 'qwen-input.jsonl'),
    events: join(paths.folder, 'qwen-events.jsonl'),
  };
  for (const path of [channel.input, channel.events]) {
    // Input and events of an earlier start do not belong to this one.
    await rm(path, { force: true });
    await writeFile(path, '', { mode: 0o600 });
    await chmod(path, 0o600);
  }
  const sessionId = sessionToResume ?? randomUUID();
  const own = { ...terminal, ...(await quietSettings(around, paths)) };
  const command: Launch['command'] = [
    file,
    ...(sessionToResume === null ? ['--session-id', sessionId] : ['--resume', sessionId]),
    '--approval-mode',
    approvalModes.ask,
    '--input-file',
    channel.input,
    '--json-file',
    channel.events,
    ...given(bot),
  ];
  return { sessionId, channel, launch: paneLaunch(around, bot, paths, command, own) };
}

/** argv and environment of exec mode; the text comes on stdin, so no text can be an option. */
export async function execCommand(
  around: Surroundings,
  bot: BotSpec,
  mode: ExecMode,
  sessionToResume: string | null,
  paths: BotPaths,
): Promise<ExecStart> {
  return {
    command: [
      await installedProgram(around, 'qwen', qwenProgram),
      '--output-format',
      'json',
      '--approval-mode',
      approvalModes[mode],
      ...(sessionToResume === null ? [] : ['--resume', sessionToResume]),
      ...given(bot),
    ],
    own: await quietSettings(around, paths),
  };
}

function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}
