/**
 * Starts Gemini CLI in a pane or for one answer: flags and environment. It has no hooks of ours: it takes settings for one start only from a file
 * that root owns, and the person's home is not written to.
 */
import { randomUUID } from 'node:crypto';
import type { Surroundings } from '../adapter.ts';
import type { ExecStart } from '../exec-run.ts';
import type { BotPaths, BotSpec, ExecMode, Launch } from '../harness.ts';
import { installedProgram, paneLaunch } from '../launch-parts.ts';
import { geminiProgram } from './program.ts';

const approvalModes: Readonly<Record<ExecMode, string>> = {
  plan: 'plan',
  ask: 'default',
  accept_edits: 'auto_edit',
};

/** In one word: a name that begins with a dash would be read as an option. */
const model = (bot: BotSpec): string[] => (bot.model === null ? [] : [`--model=${bot.model}`]);

/** `resume`: a session that was seen and whose transcript is still there. */
export async function launchGemini(
  around: Surroundings,
  bot: BotSpec,
  paths: BotPaths,
  resume: string | null,
): Promise<{ launch: Launch; sessionId: string }> {
  const sessionId = resume ?? randomUUID();
  const command: Launch['command'] = [
    await installedProgram(around, 'gemini', geminiProgram),
    resume === null ? '--session-id' : '--resume',
    sessionId,
    '--approval-mode',
    approvalModes.ask,
    ...model(bot),
  ];
  return { sessionId, launch: paneLaunch(around, bot, paths, command) };
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
      await installedProgram(around, 'gemini', geminiProgram),
      '-o',
      'stream-json',
      '--approval-mode',
      approvalModes[mode],
      ...(resume === null ? [] : ['--resume', resume]),
      ...model(bot),
    ],
  };
}
