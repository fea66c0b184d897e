/**
 * Starts Codex in a pane or for one answer: flags, the hooks of this start, environment. Without its background server, which would outlive the pane
 * with the environment of another bot. Nothing is written into the person's home.
 */
import { access } from 'node:fs/promises';
import type { Surroundings } from '../adapter.ts';
import type { ExecStart } from '../exec-run.ts';
import type { BotPaths, BotSpec, ExecMode, Launch } from '../harness.ts';
import { installedProgram, paneLaunch } from '../launch-parts.ts';
import { quote } from '../shell/start-file.ts';
import { hookFlags, toml } from './hooks.ts';
import { codexProgram } from './program.ts';
import { codexHookEvents } from './rules.ts';

/** How long a question waits for an answer elsewhere before Codex asks in the pane, which shows only this status until then. */
export const askElsewhereMs = 60_000;
const askingStatus = 'waiting in the Gantry inbox for a minute; press any key to be asked here';

/** A hook that does not answer blocks the turn; the hook client gives up before this. */
const hookTimeoutSeconds = 10;
/** Codex grants this one no more. */
const interruptTimeoutSeconds = 3;
/** The dialog appears even when the hook gets no answer. */
const questionTimeoutSeconds = askElsewhereMs / 1000 + 15;

/** Sends its status as OSC 21337 only to a terminal of this name. */
const terminal = { TERM_PROGRAM: 'iTerm.app' };

/** What each mode may do without a question: in exec mode nobody can answer one. */
const sandboxes: Readonly<Record<ExecMode, string>> = {
  plan: 'read-only',
  ask: 'read-only',
  accept_edits: 'workspace-write',
};

function codexHooks(paths: BotPaths): string[] {
  const call = (event: string) => [...paths.gantry, 'hook', event].map(quote).join(' ');
  return hookFlags(
    codexHookEvents.map((event) => {
      const hook = { event, command: call(event), timeoutSeconds: hookTimeoutSeconds };
      if (event === 'PermissionRequest')
        return { ...hook, timeoutSeconds: questionTimeoutSeconds, status: askingStatus };
      return event === 'Interrupt' ? { ...hook, timeoutSeconds: interruptTimeoutSeconds } : hook;
    }),
  );
}

/** Settings for both a pane and one answer: no question about an update, the model, the team's culture. */
function settings(bot: BotSpec): string[] {
  return [
    '-c',
    'check_for_update_on_startup=false',
    ...(bot.model === null ? [] : ['-m', bot.model]),
    ...(bot.culture === null ? [] : ['-c', `developer_instructions=${toml(bot.culture)}`]),
  ];
}

/** `resume`: a session that was seen and whose transcript is still there. */
export async function launchCodex(
  around: Surroundings,
  bot: BotSpec,
  paths: BotPaths,
  resume: string | null,
): Promise<Launch> {
  const command: Launch['command'] = [
    await installedProgram(around, 'codex', codexProgram),
    ...(resume === null ? [] : ['resume', resume]),
    '--no-daemon',
    '-a',
    'on-request',
    '-s',
    'workspace-write',
    ...codexHooks(paths),
    ...settings(bot),
  ];
  return paneLaunch(around, bot, paths, command, terminal);
}

/** argv of exec mode; the text comes on stdin, so no text can be an option. */
export async function execCommand(
  around: Surroundings,
  bot: BotSpec,
  mode: ExecMode,
  resume: string | null,
): Promise<ExecStart> {
  return {
    command: [
      await installedProgram(around, 'codex', codexProgram),
      'exec',
      '--json',
      '--skip-git-repo-check',
      '-s',
      sandboxes[mode],
      ...settings(bot),
      ...(resume === null ? [] : ['resume', resume]),
      '-',
    ],
  };
}

export async function isThere(file: unknown): Promise<boolean> {
  return typeof file === 'string' && access(file).then(yes, no);
}

const yes = () => true;
const no = () => false;
