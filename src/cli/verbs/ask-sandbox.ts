/** Asks what the bots of a team run in before they are started, where the team file does not say and somebody is at the terminal. */
import { createInterface } from 'node:readline/promises';
import { AppError } from '../../contracts/common/errors.ts';
import { type SandboxMode, sandboxModes } from '../../contracts/factory/team-file.ts';
import type { SandboxQuestion } from '../../contracts/factory/teams-routes.ts';
import { type Context, flag, type Input, optionalText, text } from '../command.ts';
import { inCell, oneLine } from '../words.ts';

const meaning: Readonly<Record<SandboxMode, string>> = {
  closed: 'they see only the files they work with, and ask you before they reach a new server',
  files: 'they see only the files they work with; the network is yours',
  none: 'they read and change whatever you can, and reach every server',
};

export function givenSandbox(input: Input): SandboxMode | undefined {
  const given = optionalText(input, 'sandbox');
  const mode = sandboxModes.find((one) => one === given);
  if (given === undefined || mode !== undefined) return mode;
  throw new AppError('usage', `--sandbox is ${JSON.stringify(given)}.`, `Use ${sandboxModes.join(', ')}.`);
}

/** `undefined`: the team file says it, or nobody was asked. */
export async function sandboxFor(input: Input, context: Context): Promise<SandboxMode | undefined> {
  const given = givenSandbox(input);
  if (given !== undefined) return given;
  const { stdin, stdout } = context.terminal;
  if (flag(input, 'dryRun') || context.output.json || stdin.isTTY !== true || stdout.isTTY !== true) return undefined;
  const { factory } = await context.connect();
  const [preset, on] = [optionalText(input, 'preset'), optionalText(input, 'on')];
  const body = { ...(preset === undefined ? {} : { preset }), ...(on === undefined ? {} : { on }), dryRun: true };
  const { sandbox } = await factory.teamUp({ params: { name: text(input, 'team') }, body });
  return sandbox === undefined ? undefined : ask(context, sandbox);
}

async function ask(context: Context, { file, suggests, why }: SandboxQuestion): Promise<SandboxMode> {
  const modes = sandboxModes.slice(0, sandboxModes.indexOf(suggests) + 1).reverse();
  context.output.line(`${inCell(file)} does not say what its bots run in. Your answer is written into it.`);
  for (const mode of modes) context.output.line(`  ${mode.padEnd(7)} ${meaning[mode]}`);
  if (why !== null) context.output.line(`A stricter one cannot be used: ${oneLine(why, 300)}.`);
  const lines = createInterface({ input: context.terminal.stdin, output: context.terminal.stdout });
  const ended = new AbortController();
  lines.once('SIGINT', () => ended.abort());
  lines.once('close', () => ended.abort());
  try {
    for (;;) {
      const said = (
        await lines.question(`Press Enter for ${suggests}, or type another: `, { signal: ended.signal })
      ).trim();
      if (said === '') return suggests;
      const mode = modes.find((one) => one === said.toLowerCase());
      if (mode !== undefined) return mode;
      context.output.line(`${JSON.stringify(oneLine(said, 40))} is not one of ${modes.join(', ')}.`);
    }
  } catch (error) {
    if (!ended.signal.aborted) throw error;
    throw new AppError('needs_person', 'Nothing was started: the question was not answered.', 'Start the team again.');
  } finally {
    lines.close();
  }
}
