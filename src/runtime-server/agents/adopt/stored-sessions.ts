/**
 * The conversations that each harness keeps in the person's home: id, title or first prompt, folder, last use. Reads only the
 * start of each file, because the files are large and private. Must not know bots.
 */
import { open, readdir, readFile, stat } from 'node:fs/promises';
import { basename, isAbsolute, join } from 'node:path';
import type { Adoptable } from '../../../contracts/factory/adopt-routes.ts';
import { readForeign } from '../../../kit/store/read-foreign.ts';
import type { Environment } from '../../harness/environment.ts';
import { databaseFile } from '../../harness/opencode/usage.ts';
import { record, text } from '../../harness/values.ts';

export interface Kept {
  readonly harness: Adoptable;
  readonly id: string;
  readonly title: string;
  readonly cwd: string;
  /** Milliseconds since the epoch. */
  readonly lastUsed: number;
  /** Its file, where it has its own. */
  readonly file: string | null;
  /** The process that has it open, by the harness's own note. */
  readonly pid: number | null;
  /** The time of that note, milliseconds since the epoch: a process that began later only has the same number. */
  readonly pidWritten?: number;
}

interface ConversationPlaces {
  readonly env: Environment;
  readonly home: string;
}

type Json = Readonly<Record<string, unknown>>;
type Read = (lines: readonly Json[], file: string) => { id: string; cwd: string; title: string } | null;

/** A file begins with its conversation's folder and first prompt. */
const headBytes = 128 * 1024;
const titleChars = 200;
/** It becomes an argument of its harness, so it must not be an option. */
const name = /^[A-Za-z0-9][A-Za-z0-9_-]{3,127}$/;
/** Looked into, the latest first, of one harness. */
const maxFiles = 200;

export async function storedSessions(
  places: ConversationPlaces,
  wanted: { readonly harness?: Adoptable | undefined; readonly cwd?: string | undefined },
): Promise<Kept[]> {
  const harnesses = wanted.harness === undefined ? (Object.keys(stores) as Adoptable[]) : [wanted.harness];
  const lists = await Promise.all(harnesses.map((harness) => stores[harness](places).catch(() => [])));
  return lists
    .flat()
    .filter(({ id, cwd }) => name.test(id) && isAbsolute(cwd) && (wanted.cwd === undefined || cwd === wanted.cwd))
    .sort((a, b) => b.lastUsed - a.lastUsed);
}

const stores: Readonly<Record<Adoptable, (places: ConversationPlaces) => Promise<Kept[]>>> = {
  async claude({ env, home }) {
    const root = join(env.CLAUDE_CONFIG_DIR || join(home, '.claude'), 'projects');
    return fromFiles('claude', await filesUnder(root, 1), (lines, file) => {
      const cwd = firstText(lines, 'cwd');
      const named = lines.findLast(({ type }) => type === 'summary' || type === 'custom-title' || type === 'ai-title');
      const prompt = lines.find(({ type, isMeta, isSidechain }) => type === 'user' && !isMeta && !isSidechain);
      const title =
        text(named?.summary ?? named?.customTitle ?? named?.aiTitle) || words(record(prompt?.message).content);
      // A file without a prompt belongs to a start without messages: there is nothing to continue.
      return cwd === '' || prompt === undefined ? null : { id: basename(file, '.jsonl'), cwd, title };
    });
  },
  async codex({ env, home }) {
    const root = env.CODEX_HOME || join(home, '.codex');
    const names = new Map<string, string>();
    for (const entry of await head(join(root, 'session_index.jsonl')).catch(() => [])) {
      names.set(text(entry.id), text(entry.thread_name));
    }
    const files = (await filesUnder(join(root, 'sessions'), 3)).filter((file) => basename(file).startsWith('rollout-'));
    return fromFiles('codex', files, (lines) => {
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
  },
  async gemini({ env, home }) {
    const root = join(env.GEMINI_CLI_HOME || home, '.gemini');
    const projects = record(record(await readJson(join(root, 'projects.json'))).projects);
    const folders = new Map(Object.entries(projects).map(([cwd, name]) => [text(name), cwd]));
    const files = (await filesUnder(join(root, 'tmp'), 2)).filter((file) => file.includes('chats'));
    return fromFiles('gemini', files, (lines, file) => {
      const id = firstText(lines, 'sessionId');
      const project = file.split(/[\\/]/).at(-3) ?? '';
      const prompt = lines.find(({ type }) => type === 'user');
      const cwd = folders.get(project) ?? '';
      return id === '' || cwd === '' || prompt === undefined ? null : { id, cwd, title: words(prompt.content) };
    });
  },
  async opencode(places) {
    const rows = readForeign(
      databaseFile(places),
      `select id, title, directory, time_updated as at from session
       where parent_id is null and time_archived is null order by time_updated desc limit ${maxFiles}`,
    );
    return (rows ?? []).map((row) => ({
      harness: 'opencode' as const,
      id: text(row.id),
      title: shorten(text(row.title)),
      cwd: text(row.directory),
      lastUsed: Number(row.at),
      file: null,
      pid: null,
    }));
  },
  async qwen({ env, home }) {
    const root = join(env.QWEN_HOME || join(home, '.qwen'), 'projects');
    const files = (await filesUnder(root, 2)).filter((file) => file.includes('chats'));
    const list = await fromFiles('qwen', files, (lines, file) => {
      const cwd = firstText(lines, 'cwd');
      const prompt = lines.find(
        ({ type, provenance }) => type === 'user' && (provenance ?? 'real_user') === 'real_user',
      );
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
  },
};

async function fromFiles(harness: Adoptable, files: readonly string[], read: Read): Promise<Kept[]> {
  const dated = await Promise.all(
    files.map((file) =>
      stat(file).then(
        ({ mtimeMs }) => ({ file, mtimeMs }),
        () => ({ file, mtimeMs: 0 }),
      ),
    ),
  );
  const latest = dated.sort((a, b) => b.mtimeMs - a.mtimeMs).slice(0, maxFiles);
  const kept: Kept[] = [];
  // One after the other: of hundreds of heads never more than one is held.
  for (const { file, mtimeMs } of latest) {
    const found = read(await head(file).catch(() => []), file);
    if (found === null) continue;
    kept.push({ ...found, harness, title: shorten(found.title), lastUsed: Math.round(mtimeMs), file, pid: null });
  }
  return kept;
}

/** Every `.jsonl` at most `depth` folders below. */
async function filesUnder(folder: string, depth: number): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const deeper = entries.filter((entry) => entry.isDirectory() && depth > 0);
  const lower = await Promise.all(deeper.map((entry) => filesUnder(join(folder, entry.name), depth - 1)));
  const own = entries.filter((entry) => entry.isFile() && entry.name.endsWith('.jsonl'));
  return [...own.map((entry) => join(folder, entry.name)), ...lower.flat()];
}

/** The whole lines in the beginning of a file. */
async function head(file: string): Promise<Json[]> {
  const handle = await open(file, 'r');
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(headBytes), 0, headBytes, 0);
    return buffer
      .toString('utf8', 0, bytesRead)
      .split('\n')
      .flatMap((line) => {
        try {
          return [record(JSON.parse(line))];
        } catch {
          // Damaged, or cut off at the end of the head.
          return [];
        }
      });
  } finally {
    await handle.close();
  }
}

async function readJson(file: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(file, 'utf8'));
  } catch {
    return null;
  }
}

/** Text of a prompt: a string, or blocks of which some have text. */
function words(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((block: unknown) => text(record(block).text))
    .filter((part) => part !== '' && !part.startsWith('<system-reminder>'))
    .join(' ');
}

function firstText(lines: readonly Json[], key: string): string {
  return text(lines.find((line) => text(line[key]) !== '')?.[key]);
}

function shorten(title: string): string {
  const line = title.replace(/[\s\p{C}]+/gu, ' ').trim();
  return [...line].slice(0, titleChars).join('') || '(no text)';
}
