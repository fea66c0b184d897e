/** opencode as a person installs it, and the conversations that it keeps. */
import { readForeign } from '../../../kit/store/read-foreign.ts';
import { type Conversation, type ConversationPlaces, maxConversations, shorten } from '../conversations.ts';
import type { Program } from '../program.ts';
import { text } from '../values.ts';
import { databaseFile } from './usage.ts';

export const opencodeProgram = {
  command: 'opencode',
  package: 'opencode-ai',
  install: 'npm install -g opencode-ai',
  signIn: { command: 'opencode auth login', keys: [], files: ['.local/share/opencode/auth.json'], hidden: true },
  settings: {
    files: ['opencode.json', 'opencode.jsonc'],
    folders: ['.opencode'],
    instructions: ['AGENTS.md'],
    variables: [],
    // Tools are loaded also with --pure, which leaves out only plugins.
    packages: {
      folder: '.opencode/node_modules',
      loadedBy: ['tool', 'tools', 'plugin', 'plugins'].map((name) => `.opencode/${name}`),
    },
    asksItself: false,
  },
  conversations: { process: /^opencode(\.exe)?$/, list },
  keeps: {
    folders: ['.local/share/opencode', '.local/state/opencode', '.config/opencode', '.cache/opencode'],
    files: [],
    elsewhere: {
      XDG_DATA_HOME: 'opencode',
      XDG_STATE_HOME: 'opencode',
      XDG_CONFIG_HOME: 'opencode',
      XDG_CACHE_HOME: 'opencode',
    },
    reports: [],
  },
  promises: {
    via: 'server',
    witness: ['transcript'],
    asks: { by: 'server', answered: 'approval', about: 'commands, changes of files, requests to the web' },
    usage: 'database',
    resume: '--session',
    exempt: {},
  },
  accounts:
    'Only XDG_DATA_HOME moves its sign-in, which would also move the data of every other program that the bot runs.',
  isCalled: true,
} satisfies Program;

async function list(places: ConversationPlaces): Promise<Conversation[]> {
  const rows = readForeign(
    databaseFile(places),
    `select id, title, directory, time_updated as at from session
     where parent_id is null and time_archived is null order by time_updated desc limit ${maxConversations}`,
  );
  return (rows ?? []).map((row) => ({
    id: text(row.id),
    title: shorten(text(row.title)),
    cwd: text(row.directory),
    lastUsed: Number(row.at),
    file: null,
    pid: null,
  }));
}
