/**
 * Gemini CLI's transcript (tui.md 4.3): one JSON object a line, mixed with patches; a prompt has `type: "user"` and texts, a tool's result
 * the same type and none. The file lies under a name that Gemini gives the project, which `projects.json` tells.
 */
import { readdir, readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { textsOf } from '../prompt-witness.ts';
import { objectOf } from '../read-usage.ts';

/** The transcript of a session of ours, or null as long as there is none. `home` is the folder in which `.gemini` lies. */
export async function findTranscript(home: string, cwd: string, sessionId: string): Promise<string | null> {
  const gemini = join(home, '.gemini');
  const projects = await readFile(join(gemini, 'projects.json'), 'utf8').then(parse, () => null);
  const names = objectOf(projects?.projects) ?? {};
  const real = await realpath(cwd).catch(() => cwd);
  for (const place of new Set([real, cwd])) {
    const name = names[place];
    if (typeof name !== 'string' || name.includes('/') || name.includes('..')) continue;
    const folder = join(gemini, 'tmp', name, 'chats');
    const files = await readdir(folder).catch(() => []);
    // Its name begins with the time: the last one is the newest.
    const found = files.filter((file) => file.endsWith(`-${sessionId.slice(0, 8)}.jsonl`)).sort();
    const file = found.at(-1);
    if (file !== undefined) return join(folder, file);
  }
  return null;
}

export function geminiPrompt(entry: Readonly<Record<string, unknown>>): string | null {
  if (entry.type !== 'user') return null;
  return typeof entry.content === 'string' ? entry.content : textsOf(entry.content);
}

function parse(text: string): Readonly<Record<string, unknown>> | null {
  try {
    return objectOf(JSON.parse(text));
  } catch {
    return null;
  }
}
