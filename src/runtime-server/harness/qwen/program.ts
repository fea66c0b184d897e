/** Qwen Code as a person installs it, and the conversations that it keeps. */
import { stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
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
import { record } from '../values.ts';

export const qwenProgram = {
  command: 'qwen',
  package: '@qwen-code/qwen-code',
  install: 'npm install -g @qwen-code/qwen-code',
  signIn: { command: 'qwen', keys: ['OPENAI_API_KEY'], files: ['.qwen/oauth_creds.json'], hidden: true },
  settings: { files: [], folders: ['.qwen'], instructions: ['QWEN.md'], variables: ['.env'], asksItself: false },
  conversations: { process: /^(qwen|cli-entry\.js)$/, list },
  keeps: { folders: ['.qwen'], files: [], elsewhere: { QWEN_HOME: '' }, reports: ['qwen-events.jsonl'] },
  promises: {
    via: 'file',
    witness: ['hook', 'transcript'],
    asks: { by: 'file', answered: 'approval', about: 'commands, changes of files, requests to the web' },
    usage: 'transcript',
    resume: '--resume',
    exempt: {},
  },
  accounts: {
    variable: 'QWEN_HOME',
    own: '.qwen',
    without: ['OPENAI_API_KEY'],
    signs: [{ file: 'oauth_creds.json', field: null, paidBy: 'subscription' }],
    transcripts: null,
  },
  service: {
    hosts: ['chat.qwen.ai', 'portal.qwen.ai', 'dashscope.aliyuncs.com', 'dashscope-intl.aliyuncs.com'],
    variables: ['OPENAI_BASE_URL'],
  },
} satisfies Program;

async function list({ env, home }: ConversationPlaces): Promise<Conversation[]> {
  const root = join(env.QWEN_HOME || join(home, '.qwen'), 'projects');
  const files = (await filesUnder(root, 2)).filter((file) => file.includes('chats'));
  const list = await fromFiles(files, (lines, file) => {
    const cwd = firstText(lines, 'cwd');
    const prompt = lines.find(({ type, provenance }) => type === 'user' && (provenance ?? 'real_user') === 'real_user');
    return cwd === '' || prompt === undefined
      ? null
      : { id: basename(file, '.jsonl'), cwd, title: words(record(prompt.message).parts) };
  });
  return Promise.all(
    list.map(async (one) => {
      const file = String(one.file).replace(/\.jsonl$/, '.runtime.json');
      const runtime = record(await readJson(file));
      if (typeof runtime.pid !== 'number') return one;
      const { mtimeMs } = await stat(file);
      return { ...one, pid: runtime.pid, pidWritten: mtimeMs };
    }),
  );
}
