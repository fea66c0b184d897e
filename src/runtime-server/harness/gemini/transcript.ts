/**
 * Gemini CLI's transcripts: one JSON object a line, mixed with patches; a prompt has `type: "user"` and texts, a tool's result
 * the same type and no texts. They are kept under a name that Gemini gives the project and writes into `projects.json`. A resumed
 * conversation has more than one file, and may continue in any of them.
 */
import { readdir, readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { textsOf } from '../prompt-witness.ts';
import { parseObject, record } from '../values.ts';

/** All transcripts of a session of ours, the newest last. `home` is the folder in which `.gemini` lies. */
export async function findTranscripts(home: string, cwd: string, sessionId: string): Promise<readonly string[]> {
  const gemini = join(home, '.gemini');
  const projects = await readFile(join(gemini, 'projects.json'), 'utf8').then(parseObject, () => null);
  const names = record(projects?.projects);
  const real = await realpath(cwd).catch(() => cwd);
  for (const place of new Set([real, cwd])) {
    const name = names[place];
    if (typeof name !== 'string' || /[\\/]|\.\./.test(name)) continue;
    const folder = join(gemini, 'tmp', name, 'chats');
    const files = await readdir(folder).catch(() => []);
    // Its name begins with the time.
    const found = files.filter((file) => file.endsWith(`-${sessionId.slice(0, 8)}.jsonl`)).sort();
    if (found.length > 0) return found.map((file) => join(folder, file));
  }
  return [];
}

/** The same from the bot's remembered facts. */
export async function rememberedTranscripts(facts: Readonly<Record<string, unknown>>): Promise<readonly string[]> {
  const { geminiHome, cwd, sessionId } = facts;
  const known = [geminiHome, cwd, sessionId].every((one) => typeof one === 'string');
  return known ? findTranscripts(String(geminiHome), String(cwd), String(sessionId)) : [];
}

export function geminiPrompt(entry: Readonly<Record<string, unknown>>): string | null {
  if (entry.type !== 'user') return null;
  return typeof entry.content === 'string' ? entry.content : textsOf(entry.content);
}
