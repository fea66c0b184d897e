/**
 * `gantry trust`: what the workspace says about what may run and nobody has agreed to yet, in words and as a diff, and the person's
 * answer. In a terminal it asks; elsewhere it takes the hash of what was shown, so that nothing is agreed to that was not seen.
 */
import { createInterface } from 'node:readline/promises';
import { AppError, exitCode } from '../../contracts/common/errors.ts';
import type { WaitingFile, WorkspaceTrust } from '../../contracts/factory/routes.ts';
import { type Action, type Context, flag, type Input, optionalText } from '../command.ts';
import { count, inCell, oneLine } from '../words.ts';

export const trust: Action = async (context, input) => {
  const { factory } = await context.connect();
  const shown = await factory.getTrust();
  const answer = givenAnswer(input) ?? (await asked(context, shown, flag(input, 'dryRun')));
  if (answer === null || flag(input, 'dryRun')) {
    context.output.result(shown, () => report(context, shown));
    return shown.hash === null ? undefined : exitCode.needs_person;
  }
  const only = list(optionalText(input, 'file'));
  const names = [...list(optionalText(input, 'allow')), ...answer.names];
  const done = await factory.answerTrust({
    body: {
      answer: answer.said,
      hash: answer.hash,
      ...(only.length === 0 ? {} : { files: only }),
      ...(names.length === 0 ? {} : { names }),
    },
  });
  context.output.result(done, () => {
    const what = count(done.answered.length, 'file');
    const left =
      done.waits.length === 0 ? '' : ` Still waiting: ${done.waits.map((path) => oneLine(path, 200)).join(', ')}.`;
    return answer.said === 'yes' ? `You agreed to ${what}.${left}` : `You refused ${what}: they have no effect.${left}`;
  });
  return undefined;
};

interface Answer {
  readonly said: 'yes' | 'no';
  readonly hash: string;
  readonly names: readonly string[];
}

function givenAnswer(input: Input): Answer | null {
  const [yes, no] = [optionalText(input, 'yes'), optionalText(input, 'no')];
  if (yes !== undefined && no !== undefined) {
    throw new AppError('usage', 'Both --yes and --no were given.', 'Give one of them.');
  }
  if (yes !== undefined) return { said: 'yes', hash: yes, names: [] };
  return no === undefined ? null : { said: 'no', hash: no, names: [] };
}

const list = (text: string | undefined): string[] =>
  (text ?? '')
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '');

/** Only somebody at a terminal is asked. Null: nobody answered. */
async function asked(context: Context, shown: WorkspaceTrust, dryRun: boolean): Promise<Answer | null> {
  const { stdin, stdout } = context.terminal;
  if (shown.hash === null || dryRun || context.output.json || stdin.isTTY !== true || stdout.isTTY !== true)
    return null;
  context.output.line(report(context, shown));
  const lines = createInterface({ input: stdin, output: stdout });
  try {
    const names: string[] = [];
    const loads = shown.files.flatMap((file) => file.loads);
    for (const { bot, name, value } of loads) {
      const question = `${inCell(bot)} sets ${inCell(name)}=${oneLine(value, 200)}. Every program it starts loads or runs what that names.\nType ${inCell(name)} to allow it: `;
      if ((await lines.question(question)).trim() !== name) return null;
      names.push(name);
    }
    const said = (await lines.question('Agree to all of this? yes, no, or Enter to decide later: '))
      .trim()
      .toLowerCase();
    if (said === 'yes' || said === 'y') return { said: 'yes', hash: shown.hash, names };
    return said === 'no' || said === 'n' ? { said: 'no', hash: shown.hash, names: [] } : null;
  } finally {
    lines.close();
  }
}

function report(context: Context, shown: WorkspaceTrust): string {
  if (shown.hash === null) return `Nothing in ${inCell(shown.workspace)} waits for your yes.`;
  const names = [...new Set(shown.files.flatMap((file) => file.loads.map(({ name }) => name)))];
  const allow = names.length === 0 ? '' : ` --allow ${inCell(names.join(','))}`;
  const { gantry } = context.names;
  return [
    `In ${inCell(shown.workspace)}, ${count(shown.files.length, 'file')} on what may run need your yes. Until then they have no effect, and changed rules only make Gantry stricter.`,
    ...shown.files.map(part),
    '',
    `Agree:   ${gantry} trust --yes ${shown.hash}${allow}`,
    `Refuse:  ${gantry} trust --no ${shown.hash}`,
    `To start without a terminal:  ${gantry} start --headless --trust ${shown.hash}`,
  ].join('\n');
}

function part(file: WaitingFile): string {
  const state = file.refused ? `${file.change}, refused` : file.change;
  const words = file.words.map((word) => `  - ${oneLine(word, 400)}`);
  const diff =
    file.diff === null
      ? ['  (The content is not shown here.)']
      : file.diff
          .trimEnd()
          .split('\n')
          .map((line) => `  ${line}`);
  return ['', `${oneLine(file.path, 400)} (${state})`, ...words, ...diff].join('\n');
}
