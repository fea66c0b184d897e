/** The verbs of `gantry admin`, with the words of their help. */
import type { Option, Part } from '../command.ts';

const url: Option = {
  flags: '--url <url>',
  about: 'another server; GANTRY_KEY_FILE has the key for it (default: the server of this data folder)',
};

export const admin: Part = {
  name: 'admin',
  about:
    'Administer a Gantry: people, plans, projects, prices, keys, the pool of hosted computers, computer hosts on further machines, the database',
  verbs: [
    {
      name: 'users',
      args: '[action] [user] [plan]',
      about: 'ls, show <user>, plan <user> <plan>, disable <user>, enable <user>',
      more: 'Plans: free, plus, super, ultra. Disabling refuses a person at once, with every key and session; nothing of theirs is removed.',
      options: [url],
      mutation: true,
      load: () => import('./users.ts').then((m) => m.users),
    },
    {
      name: 'projects',
      args: '[action] [project]',
      about: 'ls, create <project> --user <user>, set <project>',
      more: 'A call uses the oldest project of its person unless the header x-gantry-project names another of theirs.',
      options: [
        { flags: '--user <user>', about: 'with create: the owner of the project' },
        { flags: '--name <text>', about: 'the name people see' },
        { flags: '--hosted-driver <on|off>', about: 'whether it may use hosted computers' },
        { flags: '--spend-cap-cents <n|none>', about: 'the most it may cost in a month' },
        url,
      ],
      mutation: true,
      load: () => import('./projects.ts').then((m) => m.projects),
    },
    {
      name: 'prices',
      args: '[action] [name] [cents]',
      about: 'ls, set <name> <cents for one unit>',
      more: 'Prices of hosted computers: computer_minute and computer_action. A price applies from when it is set.',
      options: [url],
      mutation: true,
      load: () => import('./projects.ts').then((m) => m.prices),
    },
    {
      name: 'pool',
      args: '[action]',
      about: 'ls, set --running <n> --idle-minutes <n>',
      more: 'The pool of hosted computers that all projects share. docs/hosted-computers.md says what counts towards it.',
      options: [
        { flags: '--running <n>', about: 'with set: most computers awake at once (20)' },
        { flags: '--idle-minutes <n>', about: 'with set: minutes from its last call until a computer sleeps (5)' },
        url,
      ],
      mutation: true,
      load: () => import('./pool.ts').then((m) => m.pool),
    },
    {
      name: 'hosts',
      args: '[action] [host]',
      about: 'computer hosts on further machines: ls, add <name>, remove <host>',
      more: 'Computer hosts on further machines: add prints the token with which one joins (gantry computer-host --join). Computers that a\nremoved host still has are lost. A cloud whose computers are made by a container engine (GANTRY_COMPUTERS_ENGINE) uses no further\nmachines: add refuses there.',
      options: [url],
      mutation: true,
      load: () => import('./hosts.ts').then((m) => m.hosts),
    },
    {
      name: 'keys',
      args: '[action] [key]',
      about: 'ls, revoke <key>, create --user <user> --name <name> --scope <scope…>',
      more: 'A new key is printed once. Scopes: agents:read bots:act compute computers work admin.',
      options: [
        { flags: '--user <user>', about: 'with ls: only the keys of this person; with create: the owner' },
        { flags: '--name <name>', about: 'with create: the name; several keys may share it' },
        { flags: '--scope <scope...>', about: 'with create: what the key may do' },
        { flags: '--days <n>', about: 'with create: days until the key expires (default: never)' },
        { flags: '--tools <names...>', about: 'with create: the only tools that it has: file.read, tracker.*' },
        { flags: '--search', about: 'with --tools: over MCP, list one tool that finds the others' },
        url,
      ],
      mutation: true,
      load: () => import('./keys.ts').then((m) => m.keys),
    },
    {
      name: 'doctor',
      about: 'Check that the cloud’s database can be written and has lost nothing',
      more: 'On the server itself, `gantry doctor` also checks the machine.',
      options: [url],
      load: () => import('../verbs/doctor.ts').then((m) => m.adminDoctor),
    },
  ],
};
