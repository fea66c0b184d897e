/** `gantry agents sessions` and `gantry agents adopt`: conversations begun outside Gantry, and adopting one as a bot. */
import { resolve } from 'node:path';
import { AppError } from '../../contracts/common/errors.ts';
import { Adoptable, adoptable, type KeptSession } from '../../contracts/factory/adopt-routes.ts';
import { flag, type Input, optionalText } from '../command.ts';
import { verb } from '../route-verb.ts';
import { listed } from '../table.ts';
import { ago, oneLine } from '../words.ts';

function harnessOf(input: Input): Adoptable | undefined {
  const word = optionalText(input, 'harness');
  if (word === undefined) return undefined;
  const read = Adoptable.safeParse(word);
  if (read.success) return read.data;
  throw new AppError('usage', `Gantry cannot list conversations of "${word}".`, `Use ${adoptable.join(', ')}.`);
}

function openWords({ openBy }: KeptSession): string {
  if (openBy === null) return '-';
  return openBy.bot ?? `process ${openBy.pid}${openBy.sure ? '' : '?'}`;
}

export const sessions = verb('listKeptSessions', {
  fields: {
    harness: harnessOf,
    cwd: (input) => {
      const cwd = optionalText(input, 'cwd');
      return cwd === undefined ? undefined : resolve(cwd);
    },
  },
  words: (answer, context) => {
    if (answer.sessions.length === 0) return 'No agent program has a conversation here.';
    const shown = listed(context, answer.sessions, '', {
      harness: (session) => session.harness,
      session: (session) => session.id,
      'last used': (session) => ago(session.lastUsed, context.now()),
      'open in': openWords,
      folder: (session) => session.cwd,
      title: (session) => oneLine(session.title, 80),
    });
    return `${shown}\nAdopt one as a bot: ${context.names.gantry} agents adopt <harness> <session>`;
  },
});

export const adopt = verb('adoptKeptSession', {
  // Never left out: it is the first argument.
  fields: { harness: (input) => harnessOf(input)!, id: 'session' },
  words: ({ session, ends, file, lines, bot }, { names }, input) => {
    const dryRun = flag(input, 'dryRun');
    return [
      `${dryRun ? 'Would adopt' : 'Adopted'}: ${oneLine(session.title, 160)}`,
      ...(ends === null ? [] : [`${dryRun ? 'Would end' : 'Ended'} process ${ends} first.`]),
      `${dryRun ? 'Would write' : 'Wrote'} to ${file}:`,
      lines.trimEnd().replace(/^/gm, '  '),
      dryRun
        ? 'Nothing was changed: this is what would happen.'
        : `It runs as ${bot}. Look at it: ${names.gantry} agents attach ${bot}`,
    ].join('\n');
  },
});
