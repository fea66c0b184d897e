/** The verbs of the work engine, with the words of their help; `../catalogue.ts` and its parts take them in. */
import type { Option, Verb } from '../command.ts';

const paging: readonly Option[] = [
  { flags: '--limit <n>', about: 'at most this many, 1 to 200 (default 50)' },
  { flags: '--cursor <cursor>', about: 'go on where the last page ended' },
];

export const mail: Verb = {
  name: 'mail',
  args: '[text...]',
  about: 'Your inbox (in a bot’s terminal the bot’s); read one with --read, send one with --to',
  more: 'Nothing is typed anywhere: who is written to looks into the inbox. Without text, or with "-", a mail’s text is read from stdin.',
  options: [
    { flags: '--read <mail>', about: 'print this mail, and mark it as read if it is yours' },
    { flags: '--keep-unread', about: 'with --read: do not mark it' },
    { flags: '--unread', about: 'only what is unread' },
    { flags: '--sent', about: 'what was sent' },
    { flags: '--bot <bot>', about: 'the inbox of this bot' },
    { flags: '--to <bot>', about: 'send a mail: a bot (id, bot@team), or owner' },
    { flags: '--subject <text>', about: 'subject of the mail to send' },
    { flags: '--in-reply-to <mail>', about: 'the mail that it answers' },
    ...paging,
  ],
  mutation: true,
  load: () => import('./mail.ts').then((m) => m.mail),
};

export const ledgerQuery: Verb = {
  name: 'query',
  about: 'Rows of the record, newest first; a bot sees what it did itself',
  options: [
    { flags: '--type <types>', about: 'only these types, with commas between' },
    { flags: '--subject <subject>', about: 'only what is about this, such as run:<id>' },
    { flags: '--actor <who>', about: 'only what this bot or user did; owner, engine' },
    { flags: '--after <id>', about: 'from after this row on, in order' },
    { flags: '--before <id>', about: 'what came before this row' },
    ...paging,
  ],
  load: () => import('./ledger.ts').then((m) => m.query),
};
export const ledgerVerify: Verb = {
  name: 'verify',
  about: 'Check the chain of hashes and the exported heads; name a row that was touched',
  more: 'Exit code: 0 whole, 5 a row was changed, removed, inserted or rewritten.',
  load: () => import('./ledger.ts').then((m) => m.verify),
};
export const ledgerExport: Verb = {
  name: 'export',
  about: 'Write the record into .gantry/ledger/ of the workspace, and note its head for later checks',
  options: [{ flags: '--after <id>', about: 'only what came after this row' }],
  mutation: true,
  load: () => import('./ledger.ts').then((m) => m.exportRows),
};
