/** GitHub Copilot CLI as a person installs it, and the conversations that it keeps. */
import { basename, dirname, join } from 'node:path';
import { type Conversation, type ConversationPlaces, filesUnder, fromFiles } from '../conversations.ts';
import type { Program } from '../program.ts';
import { record, text } from '../values.ts';

/** Any of these signs in to GitHub. */
const tokens = ['COPILOT_GITHUB_TOKEN', 'GH_TOKEN', 'GITHUB_TOKEN'];

export const copilotProgram = {
  command: 'copilot',
  package: '@github/copilot',
  install: 'npm install -g @github/copilot',
  // Without a provider of the person's own it needs a GitHub account with Copilot; the sign-in lies in the keychain where there is one.
  signIn: {
    command: 'copilot login',
    keys: [...tokens, 'COPILOT_PROVIDER_BASE_URL'],
    files: [],
    hidden: true,
  },
  settings: {
    files: ['.mcp.json', '.vscode/mcp.json'],
    // Its own settings, hooks, servers, extensions and skills of a repository; it reads the hooks of Claude Code too.
    folders: ['.github', '.claude'],
    instructions: ['AGENTS.md', 'CLAUDE.md'],
    variables: [],
    asksItself: true,
  },
  conversations: { process: /^copilot$/, list },
  // The program in its package unpacks itself into the cache.
  keeps: { folders: ['.copilot', '.cache/copilot'], files: [], elsewhere: { COPILOT_HOME: '' }, reports: [] },
  promises: {
    via: 'paste',
    witness: ['hook', 'transcript', 'composer'],
    asks: { by: 'transcript', answered: 'approval', about: 'commands, changes of files, files elsewhere' },
    usage: 'transcript',
    resume: '--resume',
    exempt: {},
  },
  accounts: {
    variable: 'COPILOT_HOME',
    own: '.copilot',
    without: [...tokens, 'COPILOT_PROVIDER_BASE_URL', 'COPILOT_PROVIDER_API_KEY', 'COPILOT_PROVIDER_BEARER_TOKEN'],
    signs: [],
    // A conversation is a folder of several files.
    transcripts: null,
  },
  service: {
    hosts: [
      'github.com',
      'api.github.com',
      'api.githubcopilot.com',
      'api.individual.githubcopilot.com',
      'api.business.githubcopilot.com',
      'api.enterprise.githubcopilot.com',
    ],
    variables: ['COPILOT_PROVIDER_BASE_URL'],
  },
} satisfies Program;

async function list({ env, home }: ConversationPlaces): Promise<Conversation[]> {
  const root = join(env.COPILOT_HOME || join(home, '.copilot'), 'session-state');
  const files = (await filesUnder(root, 1)).filter((file) => basename(file) === 'events.jsonl');
  return fromFiles(files, (lines, file) => {
    const { context } = record(lines.find(({ type }) => type === 'session.start')?.data);
    const prompt = record(lines.find(({ type }) => type === 'user.message')?.data);
    const cwd = text(record(context).cwd);
    const title = text(prompt.content);
    return cwd === '' || title === '' ? null : { id: basename(dirname(file)), cwd, title };
  });
}
