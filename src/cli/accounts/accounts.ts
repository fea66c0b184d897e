/** `gantry accounts ls|add|sign-in|remove`: several sign-ins of an agent program. */
import { AppError } from '../../contracts/common/errors.ts';
import type { Account } from '../../contracts/factory/account-routes.ts';
import { type Action, type Context, flag, type Input, text } from '../command.ts';
import { verb } from '../route-verb.ts';
import { table } from '../table.ts';
import { attach } from '../verbs/attach.ts';
import { inCell, localTimes } from '../words.ts';

const paidWords = { subscription: 'subscription', key: 'key, by use' } as const;

export const list = verb('listAccounts', {
  words: ({ accounts, programs }, { names: { gantry }, output }) => {
    const able = programs.filter(({ why }) => why === null).map(({ program }) => program);
    if (accounts.length === 0)
      return `No accounts: every bot uses your own sign-in.\nAdd one with ${gantry} accounts add <program> <account>, for ${able.join(', ')}.`;
    const rows = accounts.map((one) => [
      one.program,
      one.name,
      signedIn(one),
      one.paidBy === null ? 'unknown' : paidWords[one.paidBy],
      one.limit === null ? '-' : one.limit.until === null ? 'reached' : inCell(localTimes(`until ${one.limit.until}`)),
      one.bots.length === 0 ? '-' : inCell(one.bots.join(', ')),
    ]);
    const problems = accounts.flatMap(({ program, name, problem }) =>
      problem === null ? [] : [inCell(`${program} ${name}: ${problem}`)],
    );
    const body = table(['program', 'account', 'signed in', 'paid by', 'limit', 'bots'], rows, output.width);
    return [body, ...problems].join('\n');
  },
});

const adding = verb('addAccount', {
  words: (answer) =>
    'dryRun' in answer
      ? inCell(`Nothing was changed: ${answer.plan.runs} would run for the folder ${answer.plan.folder}.`)
      : signingIn(answer.account, 'Added'),
});
const again = verb('signInAccount', {
  words: (answer) =>
    'dryRun' in answer
      ? inCell(`Nothing was changed: ${answer.plan.runs} would run for the folder ${answer.plan.folder}.`)
      : signingIn(answer.account, 'Opened the sign-in of'),
});

/** The sign-in is shown where a person sits. */
const shown =
  (verbOf: Action): Action =>
  async (context, input) => {
    const code = await verbOf(context, input);
    if (isWatched(context, input)) {
      const bot = `${text(input, 'program')}-${text(input, 'account')}@sign-in`;
      await attach(context, { args: { bot }, options: {} }).catch((error: unknown) => {
        // It has ended already.
        if (!(error instanceof AppError && error.code === 'not_found')) throw error;
      });
    }
    return code;
  };

export const add = shown(adding);
export const signIn = shown(again);

export const remove = verb('removeAccount', {
  words: (answer) =>
    'dryRun' in answer
      ? inCell(`Nothing was changed: ${answer.plan.removes} would be removed, with its sign-in and conversations.`)
      : inCell(`Removed the account ${answer.removed.name} of ${answer.removed.program} with its folder.`),
});

function isWatched({ output, terminal }: Context, input: Input): boolean {
  return !output.json && !flag(input, 'dryRun') && terminal.stdin.isTTY === true && terminal.stdout.isTTY === true;
}

function signingIn({ program, name, signingIn: open }: Account, done: string): string {
  const where = open === null ? '' : ` Its sign-in waits in a terminal: gantry agents attach ${open.address}`;
  return inCell(`${done} the account ${name} of ${program}.${where}`);
}

function signedIn({ signedIn: is, signingIn: open }: Account): string {
  if (open !== null) return 'signing in';
  return is === null ? 'unknown' : is ? 'yes' : 'no';
}
