/** The verbs of `gantry admin`, with the words of their help. */
import type { Option, Part } from '../command.ts';

const url: Option = {
  flags: '--url <url>',
  about: 'another server, with the key in GANTRY_KEY_FILE (default: the one of this data folder)',
};

export const admin: Part = {
  name: 'admin',
  about: 'Administer a Gantry: people and plans, projects, prices, keys, the pool of hosted computers, its database',
  verbs: [
    {
      name: 'users',
      args: '[action] [user] [plan]',
      about: 'ls, show <user>, plan <user> <plan>, disable <user>, enable <user>',
      more: 'Plans: free, plus, super, ultra. Who is disabled is refused at once, whatever they hold; nothing of theirs is removed.',
      options: [url],
      mutation: true,
      load: () => import('./users.ts').then((m) => m.users),
    },
    {
      name: 'projects',
      args: '[action] [project]',
      about: 'ls, create <project> --user <user>, set <project>',
      more: 'A call is about the oldest project of its person, unless the header x-gantry-project names another one of theirs.',
      options: [
        { flags: '--user <user>', about: 'with create: whose project it is' },
        { flags: '--name <text>', about: 'what people call it' },
        { flags: '--hosted-driver <on|off>', about: 'whether it may have hosted computers' },
        { flags: '--spend-cap-cents <n|none>', about: 'what it may cost in a month' },
        url,
      ],
      mutation: true,
      load: () => import('./projects.ts').then((m) => m.projects),
    },
    {
      name: 'prices',
      args: '[action] [name] [cents]',
      about: 'ls, set <name> <cents for one unit>',
      more: 'Prices of hosted computers: computer_minute and computer_action. They count from when they are set.',
      options: [url],
      mutation: true,
      load: () => import('./projects.ts').then((m) => m.prices),
    },
    {
      name: 'pool',
      args: '[action]',
      about: 'ls, set --running <n> --idle-minutes <n>',
      more: 'The pool of hosted computers that all projects share. docs/hosted-computers.md says what takes a place in it.',
      options: [
        { flags: '--running <n>', about: 'with set: how many may be awake at once (20)' },
        { flags: '--idle-minutes <n>', about: 'with set: how long after its last call one sleeps (5)' },
        url,
      ],
      mutation: true,
      load: () => import('./pool.ts').then((m) => m.pool),
    },
    {
      name: 'keys',
      args: '[action] [key]',
      about: 'ls, revoke <key>, create --user <user> --name <name> --scope <scope…>',
      more: 'A key that is made is printed once. Scopes: agents:read bots:act compute computers work admin.',
      options: [
        { flags: '--user <user>', about: 'with ls: only theirs; with create: whose' },
        { flags: '--name <name>', about: 'with create: its name; two live keys may share one' },
        { flags: '--scope <scope...>', about: 'with create: what it may do' },
        { flags: '--days <n>', about: 'with create: how long it lives (default: until revoked)' },
        url,
      ],
      mutation: true,
      load: () => import('./keys.ts').then((m) => m.keys),
    },
    {
      name: 'doctor',
      about: 'Check the cloud: whether its database can be written and has lost nothing',
      more: 'On the server’s own machine `gantry doctor` says the same, with what that machine has.',
      options: [url],
      load: () => import('../verbs/doctor.ts').then((m) => m.adminDoctor),
    },
  ],
};
