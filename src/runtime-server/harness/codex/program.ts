/** Codex as a person installs it, and the conversations that it keeps. */
import { basename, join } from 'node:path';
import { type Conversation, type ConversationPlaces, filesUnder, fromFiles, head, words } from '../conversations.ts';
import type { Program } from '../program.ts';
import { record, text } from '../values.ts';

export const codexProgram = {
  command: 'codex',
  package: '@openai/codex',
  install: 'npm install -g @openai/codex',
  signIn: { command: 'codex login', keys: [], files: ['.codex/auth.json'], hidden: true },
  settings: { files: [], folders: ['.codex'], instructions: ['AGENTS.md'], variables: [], asksItself: true },
  conversations: { process: /^codex(\.exe)?$/, list },
  keeps: { folders: ['.codex'], files: [], elsewhere: { CODEX_HOME: '' }, reports: [] },
  promises: {
    via: 'paste',
    witness: ['hook', 'transcript', 'composer'],
    asks: { by: 'hook', answered: 'approval', about: 'what its own sandbox blocks' },
    usage: 'transcript',
    resume: 'resume',
    exempt: {},
  },
  accounts: {
    variable: 'CODEX_HOME',
    own: '.codex',
    without: ['CODEX_API_KEY', 'OPENAI_API_KEY'],
    signs: [
      { file: 'auth.json', field: 'OPENAI_API_KEY', paidBy: 'key' },
      { file: 'auth.json', field: 'tokens', paidBy: 'subscription' },
    ],
    transcripts: 'sessions',
  },
  service: { hosts: ['api.openai.com', 'chatgpt.com', 'auth.openai.com'], variables: ['OPENAI_BASE_URL'] },
} satisfies Program;

async function list({ env, home }: ConversationPlaces): Promise<Conversation[]> {
  const root = env.CODEX_HOME || join(home, '.codex');
  const names = new Map<string, string>();
  for (const entry of await head(join(root, 'session_index.jsonl')).catch(() => [])) {
    names.set(text(entry.id), text(entry.thread_name));
  }
  const files = (await filesUnder(join(root, 'sessions'), 3)).filter((file) => basename(file).startsWith('rollout-'));
  return fromFiles(files, (lines) => {
    const meta = record(lines.find(({ type }) => type === 'session_meta')?.payload);
    // Nobody continues a sub-agent's or a program's own conversation.
    const id = text(meta.id);
    const prompts = lines.flatMap(({ type, payload }) => {
      const item = record(payload);
      return type === 'response_item' && item.type === 'message' && item.role === 'user' ? [words(item.content)] : [];
    });
    // Text that the program puts before the first prompt is in tags.
    const prompt = prompts.find((one) => one !== '' && !/^(<|# AGENTS)/.test(one));
    return id === '' || prompt === undefined ? null : { id, cwd: text(meta.cwd), title: names.get(id) || prompt };
  });
}
