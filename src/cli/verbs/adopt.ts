/** `gantry agents sessions` and `gantry agents adopt`: conversations begun outside of Gantry, and taking one up as a bot. */
import { resolve } from 'node:path';
import { AppError } from '../../contracts/common/errors.ts';
import { Adoptable, adoptable, type KeptSession } from '../../contracts/factory/adopt-routes.ts';
import { type Action, flag, optionalText, text } from '../command.ts';
import { table } from '../table.ts';
import { ago, oneLine } from '../words.ts';

function harnessOf(word: string): Adoptable {
  const read = Adoptable.safeParse(word);
  if (read.success) return read.data;
  throw new AppError('usage', `"${word}" keeps no conversations that can be listed.`, `Use ${adoptable.join(', ')}.`);
}

function openWords({ openBy }: KeptSession): string {
  if (openBy === null) return '-';
  return openBy.bot ?? `process ${openBy.pid}${openBy.sure ? '' : '?'}`;
}

export const sessions: Action = async (context, input) => {
  const { factory } = await context.connect();
  const harness = optionalText(input, 'harness');
  const cwd = optionalText(input, 'cwd');
  const query = {
    ...(harness === undefined ? {} : { harness: harnessOf(harness) }),
    ...(cwd === undefined ? {} : { cwd: resolve(cwd) }),
  };
  const answer = await factory.listKeptSessions({ query });
  context.output.result(answer, () => {
    if (answer.sessions.length === 0) return 'No harness keeps a conversation here.';
    const rows = answer.sessions.map((session) => [
      session.harness,
      session.id,
      ago(session.lastUsed, context.now()),
      openWords(session),
      session.cwd,
      oneLine(session.title, 80),
    ]);
    const heads = ['harness', 'session', 'last used', 'open in', 'folder', 'title'];
    return `${table(heads, rows, context.output.width)}\nTake one up as a bot: ${context.names.gantry} agents adopt <harness> <session>`;
  });
  return undefined;
};

export const adopt: Action = async (context, input) => {
  const harness = harnessOf(text(input, 'harness'));
  const { factory } = await context.connect();
  const dryRun = flag(input, 'dryRun');
  const as = optionalText(input, 'as');
  const team = optionalText(input, 'team');
  const answer = await factory.adoptKeptSession({
    body: {
      harness,
      id: text(input, 'session'),
      ...(as === undefined ? {} : { as }),
      ...(team === undefined ? {} : { team }),
      ...(flag(input, 'takeOver') ? { takeOver: true } : {}),
      ...(dryRun ? { dryRun } : {}),
    },
  });
  context.output.result(answer, () =>
    [
      `${dryRun ? 'Would take up' : 'Took up'}: ${oneLine(answer.session.title, 160)}`,
      ...(answer.ends === null ? [] : [`${dryRun ? 'Would end' : 'Ended'} process ${answer.ends} first.`]),
      `${dryRun ? 'Would write' : 'Written'} into ${answer.file}:`,
      answer.lines.trimEnd().replace(/^/gm, '  '),
      dryRun
        ? 'Nothing was changed: this is what would happen.'
        : `It runs as ${answer.bot}. Look at it: ${context.names.gantry} agents attach ${answer.bot}`,
    ].join('\n'),
  );
  return undefined;
};
