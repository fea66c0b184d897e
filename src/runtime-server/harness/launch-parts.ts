/** What the launches of all agent programs share: the program itself, its pane, the conversation to continue. */
import { isAbsolute, normalize } from 'node:path';
import { AppError } from '../../contracts/common/errors.ts';
import { type HarnessName, titleOf } from '../../contracts/factory/agent.ts';
import type { Surroundings } from './adapter.ts';
import { botEnvironment } from './environment.ts';
import { findProgram } from './find-program.ts';
import type { BotPaths, BotSpec, Launch } from './harness.ts';
import type { Program } from './program.ts';

/** The harness's program on PATH. */
export async function installedProgram(
  { env }: Surroundings,
  harness: HarnessName,
  { command, install }: Pick<Program & { command: string }, 'command' | 'install'>,
): Promise<string> {
  const file = await findProgram(command, env.PATH);
  if (file) return file;
  throw new AppError(
    'usage',
    `${titleOf(harness)} is not installed: "${command}" was not found on PATH.`,
    `Install it with \`${install}\`, then start the team again.`,
  );
}

/** `own` are the harness's variables for this start. */
export function paneLaunch(
  around: Surroundings,
  bot: BotSpec,
  paths: BotPaths,
  command: Launch['command'],
  own: Readonly<Record<string, string>> = {},
): Launch {
  return { command, cwd: bot.cwd, env: botEnvironment(around.env, bot, paths, own), cols: 120, rows: 40 };
}

/** A harness's name of a conversation becomes an argument of the next start: it must be no option and no path. */
const sessionName = /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/;

type Facts = Readonly<Record<string, unknown>>;

/** The conversation to continue: requested, and with a valid name. */
export function sessionToResume(bot: Pick<BotSpec, 'resume'>, { sessionId }: Facts): string | null {
  return bot.resume === true && typeof sessionId === 'string' && sessionName.test(sessionId) ? sessionId : null;
}

/** Conversation and transcript as a hook names them; null where a name is invalid. Any program with the bot's token can call its hooks. */
export function reportedSession({ session_id: sessionId, transcript_path: transcript }: Facts): Facts | null {
  if (typeof sessionId !== 'string' || !sessionName.test(sessionId) || typeof transcript !== 'string') return null;
  return isAbsolute(transcript) && normalize(transcript) === transcript && transcript.endsWith('.jsonl')
    ? { sessionId, transcript }
    : null;
}
