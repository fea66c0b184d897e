/** Gemini CLI as a person installs it, and the conversations that it keeps. */
import { join } from 'node:path';
import {
  type Conversation,
  type ConversationPlaces,
  filesUnder,
  firstText,
  fromFiles,
  readJson,
  words,
} from '../conversations.ts';
import type { Program } from '../program.ts';
import { record, text } from '../values.ts';

export const geminiProgram = {
  command: 'gemini',
  package: '@google/gemini-cli',
  install: 'npm install -g @google/gemini-cli',
  signIn: {
    command: 'gemini',
    keys: ['GEMINI_API_KEY', 'GOOGLE_API_KEY', 'GOOGLE_GENAI_USE_VERTEXAI'],
    files: ['.gemini/oauth_creds.json'],
    hidden: true,
  },
  settings: { files: [], folders: ['.gemini'], instructions: ['GEMINI.md'], variables: ['.env'], asksItself: false },
  conversations: { process: /^gemini(\.js)?$/, list },
  keeps: { folders: ['.gemini'], files: [], elsewhere: { GEMINI_CLI_HOME: '.gemini' }, reports: [] },
  promises: {
    via: 'paste',
    witness: ['transcript', 'composer'],
    asks: { by: 'screen', answered: 'pane', about: 'commands, changes of files' },
    usage: 'transcript',
    resume: '--resume',
    exempt: {},
  },
  accounts: {
    variable: 'GEMINI_CLI_HOME',
    own: '',
    without: ['GEMINI_API_KEY', 'GOOGLE_API_KEY', 'GOOGLE_GENAI_USE_VERTEXAI'],
    signs: [{ file: '.gemini/oauth_creds.json', field: null, paidBy: 'subscription' }],
    // Its conversations are named in a list of projects beside them.
    transcripts: null,
  },
  service: {
    hosts: [
      'generativelanguage.googleapis.com',
      'cloudcode-pa.googleapis.com',
      'oauth2.googleapis.com',
      'www.googleapis.com',
    ],
    variables: ['GOOGLE_GEMINI_BASE_URL', 'CODE_ASSIST_ENDPOINT'],
  },
} satisfies Program;

async function list({ env, home }: ConversationPlaces): Promise<Conversation[]> {
  const root = join(env.GEMINI_CLI_HOME || home, '.gemini');
  const projects = record(record(await readJson(join(root, 'projects.json'))).projects);
  const folders = new Map(Object.entries(projects).map(([cwd, name]) => [text(name), cwd]));
  const files = (await filesUnder(join(root, 'tmp'), 2)).filter((file) => file.includes('chats'));
  return fromFiles(files, (lines, file) => {
    const id = firstText(lines, 'sessionId');
    const project = file.split(/[\\/]/).at(-3) ?? '';
    const prompt = lines.find(({ type }) => type === 'user');
    const cwd = folders.get(project) ?? '';
    return id === '' || cwd === '' || prompt === undefined ? null : { id, cwd, title: words(prompt.content) };
  });
}
