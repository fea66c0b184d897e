/**
 * How Gemini CLI is started in a pane or for one answer: flags and environment. It has no hooks of ours: it takes settings for one start
 * only from a file that root owns, and the person's home is not written to.
 */
import { randomUUID } from 'node:crypto';
import { AppError } from '../../../../contracts/common/errors.ts';
import type { Surroundings } from '../adapter.ts';
import { botEnvironment } from '../environment.ts';
import { findProgram } from '../find-program.ts';
import type { BotDoors, BotSpec, ExecMode, Launch } from '../harness.ts';

const approvalModes: Readonly<Record<ExecMode, string>> = {
  plan: 'plan',
  ask: 'default',
  accept_edits: 'auto_edit',
};

async function findGemini({ env }: Surroundings): Promise<string> {
  const file = await findProgram('gemini', env.PATH);
  if (file) return file;
  throw new AppError(
    'usage',
    'Gemini CLI is not installed: "gemini" was not found on PATH.',
    'Install it with `npm install -g @google/gemini-cli`, then start the team again.',
  );
}

const model = (bot: BotSpec): string[] => (bot.model === null ? [] : ['-m', bot.model]);

/** `resume`: a session that was seen and whose transcript is still there. */
export async function launchGemini(
  around: Surroundings,
  bot: BotSpec,
  doors: BotDoors,
  resume: string | null,
): Promise<{ launch: Launch; sessionId: string }> {
  const sessionId = resume ?? randomUUID();
  return {
    sessionId,
    launch: {
      command: [
        await findGemini(around),
        resume === null ? '--session-id' : '--resume',
        sessionId,
        '--approval-mode',
        approvalModes.ask,
        ...model(bot),
      ],
      cwd: bot.cwd,
      env: botEnvironment(around.env, bot, doors),
      cols: 120,
      rows: 40,
    },
  };
}

/** argv of exec mode; the text comes on stdin, so no text can be an option. */
export async function execCommand(
  around: Surroundings,
  bot: BotSpec,
  mode: ExecMode,
  resume: string | null,
): Promise<[string, ...string[]]> {
  return [
    await findGemini(around),
    '-o',
    'stream-json',
    '--approval-mode',
    approvalModes[mode],
    ...(resume === null ? [] : ['--resume', resume]),
    ...model(bot),
  ];
}
