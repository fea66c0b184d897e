/** Claude Code as a person installs it, and the conversations that it keeps. */
import { basename, join } from 'node:path';
import {
  type Conversation,
  type ConversationPlaces,
  filesUnder,
  firstText,
  fromFiles,
  words,
} from '../conversations.ts';
import type { Program } from '../program.ts';
import { record, text } from '../values.ts';

const keys = [
  'ANTHROPIC_API_KEY',
  'ANTHROPIC_AUTH_TOKEN',
  'CLAUDE_CODE_OAUTH_TOKEN',
  'CLAUDE_CODE_USE_BEDROCK',
  'CLAUDE_CODE_USE_VERTEX',
];

export const claudeProgram = {
  command: 'claude',
  package: '@anthropic-ai/claude-code',
  install: 'npm install -g @anthropic-ai/claude-code',
  signIn: {
    command: 'claude auth login',
    keys,
    files: ['.claude/.credentials.json'],
    // On macOS it keeps the sign-in in the keychain.
    hidden: process.platform === 'darwin',
  },
  settings: {
    files: ['.mcp.json'],
    folders: ['.claude'],
    instructions: ['CLAUDE.md', 'CLAUDE.local.md'],
    variables: [],
    asksItself: true,
  },
  conversations: { process: /^claude(\.exe)?$/, list },
  keeps: { folders: ['.claude'], files: ['.claude.json'], elsewhere: { CLAUDE_CONFIG_DIR: '' }, reports: [] },
  promises: {
    via: 'paste',
    witness: ['hook', 'transcript', 'composer'],
    asks: { by: 'hook', answered: 'approval', about: 'commands, changes of files, requests to the web' },
    usage: 'transcript',
    resume: '--resume',
    exempt: {},
  },
  accounts: {
    variable: 'CLAUDE_CONFIG_DIR',
    own: '.claude',
    without: keys,
    signs: [
      { file: '.claude.json', field: 'primaryApiKey', paidBy: 'key' },
      { file: '.credentials.json', field: 'claudeAiOauth', paidBy: 'subscription' },
    ],
    transcripts: 'projects',
  },
  service: {
    hosts: ['api.anthropic.com', 'platform.claude.com', 'console.anthropic.com', 'claude.ai'],
    variables: ['ANTHROPIC_BASE_URL'],
  },
} satisfies Program;

async function list({ env, home }: ConversationPlaces): Promise<Conversation[]> {
  const root = join(env.CLAUDE_CONFIG_DIR || join(home, '.claude'), 'projects');
  return fromFiles(await filesUnder(root, 1), (lines, file) => {
    const cwd = firstText(lines, 'cwd');
    const named = lines.findLast(({ type }) => type === 'summary' || type === 'custom-title' || type === 'ai-title');
    const prompt = lines.find(({ type, isMeta, isSidechain }) => type === 'user' && !isMeta && !isSidechain);
    const title =
      text(named?.summary ?? named?.customTitle ?? named?.aiTitle) || words(record(prompt?.message).content);
    // A file without a prompt belongs to a start without messages: there is nothing to continue.
    return cwd === '' || prompt === undefined ? null : { id: basename(file, '.jsonl'), cwd, title };
  });
}
