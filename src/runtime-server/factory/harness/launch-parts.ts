/** What every launch of an agent's own program has in common: the program itself, its pane, the conversation to go on with. */
import { AppError } from '../../../contracts/common/errors.ts';
import type { HarnessName } from '../../../contracts/factory/agent.ts';
import type { Surroundings } from './adapter.ts';
import { catalogue } from './catalogue.ts';
import { botEnvironment } from './environment.ts';
import { findProgram } from './find-program.ts';
import type { BotDoors, BotSpec, Launch } from './harness.ts';

/** The harness's program on PATH; `title` is what a person calls it. */
export async function installedProgram({ env }: Surroundings, harness: HarnessName, title: string): Promise<string> {
  const entry = catalogue.find(({ name }) => name === harness);
  const program = entry?.program ?? harness;
  const file = await findProgram(program, env.PATH);
  if (file) return file;
  throw new AppError(
    'usage',
    `${title} is not installed: "${program}" was not found on PATH.`,
    `Install it with \`${entry?.install}\`, then start the team again.`,
  );
}

/** `own` are the harness's variables for this start. */
export function paneLaunch(
  around: Surroundings,
  bot: BotSpec,
  doors: BotDoors,
  command: Launch['command'],
  own: Readonly<Record<string, string>> = {},
): Launch {
  return { command, cwd: bot.cwd, env: botEnvironment(around.env, bot, doors, own), cols: 120, rows: 40 };
}
