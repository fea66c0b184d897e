/** The verbs of the work engine, with the words of their help; `../catalogue.ts` and its parts include them. */
import type { Option, Part, Verb } from '../command.ts';
import { plain } from '../plain.ts';

const paging: readonly Option[] = [
  { flags: '--limit <n>', about: 'at most this many, 1 to 200 (default 50)' },
  { flags: '--cursor <cursor>', about: 'continue where the last page ended' },
];

export const mail: Verb = {
  name: 'mail',
  args: '[text...]',
  about: 'Your inbox (in a bot’s terminal the bot’s); read one with --read, send one with --to',
  more: 'Mail is never typed into a terminal: its recipient reads it in the inbox. Without text, or with "-", a mail’s text is read from stdin.',
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

export const ledgerQuery = plain('queryLedger', {
  name: 'query',
  about: 'List rows of the ledger, newest first; a bot sees its own',
  values: { type: 'types', actor: 'who', after: 'id', before: 'id' },
  load: () => import('./ledger.ts').then((m) => m.query),
});
export const ledgerVerify: Verb = {
  name: 'verify',
  about: 'Check the hash chain and the exported heads; name a row that was altered',
  more: 'Exit code: 0 intact, 5 a row was changed, removed, inserted or rewritten.',
  load: () => import('./ledger.ts').then((m) => m.verify),
};
export const ledgerExport = plain('exportLedger', {
  name: 'export',
  about: 'Write the ledger into .gantry/ledger/ of the workspace, and note its head for later checks',
  values: { after: 'id' },
  load: () => import('./ledger.ts').then((m) => m.exportRows),
});

export const steer: Verb = {
  name: 'steer',
  args: '[bot] [action] [note...]',
  about: 'Checkpoint, consult or interrupt a bot; without an action list checkpoints',
  more: 'checkpoint: note where it stands. consult: ask it, and get the answer in a thread. interrupt: end its turn, then send the note.\nA bot checkpoints itself, consults any other, and interrupts those that its team file lets it direct.',
  options: paging,
  mutation: true,
  load: () => import('./steer.ts').then((m) => m.steer),
};
export const peers: Verb = {
  name: 'peers',
  args: '[text...]',
  about: 'List programs registered on this computer; register one, send its heartbeat, write to it',
  options: [
    { flags: '--register <name>', about: 'register a program under this name' },
    { flags: '--about <text>', about: 'with --register: what it is' },
    { flags: '--ttl <seconds>', about: 'with --register: how long it is live without a heartbeat (default 60)' },
    { flags: '--beat <peer>', about: 'send its heartbeat and print its messages' },
    { flags: '--ack <message>', about: 'with --beat: acknowledge messages up to this one' },
    { flags: '--send <peer>', about: 'leave it a message' },
    { flags: '--remove <peer>', about: 'remove it' },
  ],
  mutation: true,
  load: () => import('./peers.ts').then((m) => m.peers),
};
export const leases: Verb = {
  name: 'leases',
  about: 'List who holds which path or name; claim, renew, release',
  options: [
    { flags: '--claim <name>', about: 'claim a name' },
    { flags: '--claim-path <path>', about: 'claim a file, or a folder and everything in it' },
    { flags: '--ttl <seconds>', about: 'for how long, 1 to 86400 (default 600)' },
    { flags: '--note <text>', about: 'why, for others who want it too' },
    { flags: '--renew <lease>', about: 'extend it' },
    { flags: '--release <lease>', about: 'release it' },
    { flags: '--holder <bot>', about: 'only what this bot, or owner, holds' },
  ],
  mutation: true,
  load: () => import('./leases.ts').then((m) => m.leases),
};
export const plans: Verb = {
  name: 'plans',
  args: '[plan]',
  about: 'List drafts or show a plan; draft, refine, run, discard',
  options: [
    { flags: '--draft <title>', about: 'draft a plan from --file' },
    { flags: '--file <file>', about: 'the template, JSON; "-" for stdin' },
    { flags: '--note <text>', about: 'what was changed, or why' },
    { flags: '--refine', about: 'replace its template with --file' },
    { flags: '--revision <n>', about: 'with --refine: the revision you read; another one is refused' },
    { flags: '--run', about: 'start a run from it' },
    { flags: '--intent <text>', about: 'with --draft: what it is for' },
    { flags: '--param <name=value...>', about: 'with --run: values of the params' },
    { flags: '--campaign <campaign>', about: 'with --run: the campaign' },
    { flags: '--project <project>', about: 'with --run: the project' },
    { flags: '--team <team>', about: 'with --run: the team whose bots take the steps' },
    { flags: '--preset <preset>', about: 'with --run: a preset of the team' },
    { flags: '--discard', about: 'discard it' },
    { flags: '--all', about: 'also those that were started or discarded' },
  ],
  mutation: true,
  load: () => import('./plans.ts').then((m) => m.plans),
};
export const tickets: Verb = {
  name: 'tickets',
  args: '[ticket]',
  about: 'List open tickets, or show or close one; a bot has its own',
  options: [
    { flags: '--close', about: 'close it' },
    { flags: '--note <text>', about: 'with --close: the outcome' },
    { flags: '--bot <bot>', about: 'only those of this bot' },
    { flags: '--all', about: 'closed ones too' },
    ...paging,
  ],
  mutation: true,
  load: () => import('./tickets.ts').then((m) => m.tickets),
};
export const triggers: Verb = {
  name: 'triggers',
  about: 'List, make or remove addresses that turn what is posted there into a bot’s tickets',
  options: [
    { flags: '--create <title>', about: 'make one; the title of its tickets' },
    { flags: '--bot <bot>', about: 'with --create: the bot' },
    { flags: '--remove <trigger>', about: 'remove one' },
  ],
  mutation: true,
  load: () => import('./tickets.ts').then((m) => m.triggers),
};
export const runs: Verb = {
  name: 'runs',
  args: '[run]',
  about: 'List records of bots’ work, or show one with its output',
  options: [
    { flags: '--bot <bot>', about: 'only this bot' },
    { flags: '--status <status>', about: 'running, completed, failed, cancelled or interrupted' },
    ...paging,
  ],
  load: () => import('./tickets.ts').then((m) => m.runs),
};
const vaultSet: Verb = {
  name: 'set',
  args: '<name>',
  about: 'Save a secret for bots; type its value hidden or pipe it in',
  more: 'A bot gets it when it starts, if its team file names it: env: { NPM_TOKEN: "vault:NPM_TOKEN" }\nWith --host, bots in a closed sandbox get a placeholder, and the value goes only into requests to that host.\nAn SSH key (--form ssh) stays outside of every sandbox and signs in to that host only.',
  options: [
    { flags: '--host <host>', about: 'the host that gets the value, such as api.example.org or api.example.org:8443' },
    { flags: '--header <name>', about: 'the header that it goes into (default: authorization)' },
    {
      flags: '--form <form>',
      about:
        'raw: the whole header; bearer: behind "Bearer"; basic: user or password; ssh: a private key (default: bearer)',
    },
    { flags: '--methods <list>', about: 'HTTP methods, such as GET,POST (default: any)' },
  ],
  mutation: true,
  load: () => import('./vault.ts').then((m) => m.set),
};
const vaultList: Verb = {
  name: 'ls',
  about: 'List the names of secrets and the bots that use them, never values',
  load: () => import('./vault.ts').then((m) => m.list),
};
const vaultRemove: Verb = {
  name: 'rm',
  args: '<name>',
  about: 'Remove a secret; running bots keep it until they end',
  mutation: true,
  load: () => import('./vault.ts').then((m) => m.remove),
};
export const vault: Part = {
  name: 'vault',
  about: 'Secrets for bots, by name, never printed',
  verbs: [vaultSet, vaultList, vaultRemove],
};
