/**
 * What opencode's server reported about its conversations: which one the screen shows, which are a sub-agent's (`parentID`), which are busy, what
 * they ask. Folds events into one level. Pure; must not know HTTP or the judge.
 */
import type { ChannelQuestion } from '../channel-questions.ts';
import { record, text } from '../values.ts';
import { containsText } from '../wording.ts';
import { limitWords } from './rules.ts';
import type { OpencodeEvent } from './server.ts';

type Json = Readonly<Record<string, unknown>>;

type Level = { readonly level: 'idle' | 'working' } | LevelOf<'retry' | 'failed' | 'limit' | 'sign-in'>;
interface LevelOf<Name> {
  readonly level: Name;
  readonly message: string;
  readonly attempt?: number;
}

type Change =
  | { readonly kind: 'asked'; readonly question: ChannelQuestion }
  | { readonly kind: 'answered'; readonly id: string };

interface Sessions {
  take(event: OpencodeEvent): readonly Change[];
  /** All sessions and their states, after the events were away. */
  looked(list: unknown, status: unknown): void;
  /** A prompt was taken: its turn begins before the event of it comes. */
  begun(id: string): void;
  /** The level of all conversations that are not a sub-agent's. */
  level(): Level;
  /** The conversations that are in a turn. */
  busy(): readonly string[];
  /** The text of a question that only a person at the pane can answer; null: none. */
  waiting(): string | null;
  current(): string | null;
  choose(id: string | null): void;
  /** Agent and model of the last prompt of a person or bot, to continue with. */
  voice(): Json;
}

export function createSessions(given: {
  readonly known: string | null;
  readonly remember: (id: string | null) => void;
}): Sessions {
  /** Sub-agents' conversations. */
  const children = new Set<string>();
  const status = new Map<string, Level>();
  const asking = new Map<string, string>();
  let current = given.known;
  let voice: Json = {};
  let failed: Level | null = null;

  function choose(id: string | null): void {
    if (id === current) return;
    current = id;
    voice = {};
    given.remember(id);
  }

  function know(info: Json): void {
    if (typeof info.id !== 'string') return;
    if (typeof info.parentID === 'string' && info.parentID !== '') children.add(info.id);
  }

  function message(info: Json): void {
    const id = info.sessionID;
    if (info.role !== 'user' || typeof id !== 'string' || children.has(id)) return;
    choose(id);
    const model = record(info.model);
    voice = {
      ...(typeof info.agent === 'string' && { agent: info.agent }),
      ...(typeof model.providerID === 'string' &&
        typeof model.modelID === 'string' && { model: { providerID: model.providerID, modelID: model.modelID } }),
    };
  }

  function set(id: string, now: Level): void {
    if (children.has(id)) return;
    if (now.level === 'idle') status.delete(id);
    else {
      status.set(id, now);
      failed = null;
    }
  }

  return {
    take({ type, properties }) {
      const id = text(properties.sessionID);
      switch (type) {
        case 'session.created':
        case 'session.updated':
          know(record(properties.info));
          return [];
        case 'session.deleted':
          set(text(record(properties.info).id), { level: 'idle' });
          if (text(record(properties.info).id) === current) choose(null);
          return [];
        case 'tui.session.select':
          if (id !== '' && !children.has(id)) choose(id);
          return [];
        case 'message.updated':
          message(record(properties.info));
          return [];
        case 'session.status':
          set(id, levelOf(record(properties.status)));
          return [];
        case 'session.idle':
          set(id, { level: 'idle' });
          return [];
        case 'session.error':
          if (!children.has(id)) failed = failureOf(record(properties.error)) ?? failed;
          return [];
        case 'permission.asked':
          return questionsIn([properties]).map((question) => ({ kind: 'asked', question }));
        case 'permission.replied':
          return [{ kind: 'answered', id: text(properties.requestID) }];
        case 'question.asked':
          asking.set(text(properties.id), 'asks a question');
          return [];
        case 'question.replied':
        case 'question.rejected':
          asking.delete(text(properties.requestID));
          return [];
        default:
          return [];
      }
    },
    looked(list, states) {
      if (Array.isArray(list)) for (const info of list) know(record(info));
      status.clear();
      asking.clear();
      for (const [id, now] of Object.entries(record(states))) set(id, levelOf(record(now)));
    },
    begun: (id) => set(id, { level: 'working' }),
    level() {
      const busy = [...status.values()];
      return busy.find(({ level }) => level === 'working') ?? busy[0] ?? failed ?? { level: 'idle' };
    },
    busy: () => [...status.keys()],
    waiting: () => [...asking.values()][0] ?? null,
    current: () => current,
    choose,
    voice: () => voice,
  };
}

function levelOf(status: Json): Level {
  if (status.type === 'idle') return { level: 'idle' };
  if (status.type !== 'retry') return { level: 'working' };
  const message = text(status.message);
  return { level: 'retry', message, attempt: typeof status.attempt === 'number' ? status.attempt : 1 };
}

/** Null: a person's own interrupt, which is no failure. */
function failureOf(error: Json): Level | null {
  const name = text(error.name);
  if (name === 'MessageAbortedError') return null;
  const data = record(error.data);
  const message = text(data.message) || name || 'no reason was given';
  if (limitWords.test(message)) return { level: 'limit', message };
  if (name === 'ProviderAuthError' || data.statusCode === 401) return { level: 'sign-in', message };
  return { level: 'failed', message };
}

/** Its questions, in the form that approvals have for tools. */
export function questionsIn(list: unknown): ChannelQuestion[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((entry: unknown): ChannelQuestion[] => {
    const asked = record(entry);
    const id = text(asked.id);
    const kind = text(asked.permission);
    if (id === '' || kind === '') return [];
    const metadata = record(asked.metadata);
    const patterns = Array.isArray(asked.patterns) ? asked.patterns.map(text).filter(Boolean) : [];
    return [{ id, ...toolOf(kind, metadata, patterns) }];
  });
}

function toolOf(kind: string, metadata: Json, patterns: readonly string[]): Omit<ChannelQuestion, 'id'> {
  switch (kind) {
    case 'bash': {
      const command = text(metadata.command);
      if (command !== '') return { tool: 'Bash', input: { command }, words: `asks to run: ${command}` };
      // Its patterns omit where output goes, and how its parts are joined.
      const words = `asks to run: ${patterns.join(', ')}`;
      return { tool: 'Bash', input: { patterns }, words, paneOnly: true };
    }
    case 'edit': {
      const file = text(metadata.filepath) || patterns.join(', ');
      const diff = text(metadata.diff);
      const input = { file_path: file, ...(diff !== '' && { diff }) };
      const words = `asks to change ${file}`;
      return { tool: 'Edit', input, words, ...(diff === '' ? { paneOnly: true } : { summary: diff }) };
    }
    case 'webfetch': {
      const url = text(metadata.url) || patterns.join(', ');
      return { tool: 'WebFetch', input: { url }, words: `asks to fetch ${url}` };
    }
    default: {
      const what = patterns.join(', ');
      return { tool: kind, input: { ...metadata, patterns }, words: `asks to use ${kind}${what ? `: ${what}` : ''}` };
    }
  }
}

/** Whether an event or a list of messages has our text as a part of a prompt. */
export function holdsText(said: unknown, ours: string): boolean {
  const parts = Array.isArray(said)
    ? said.flatMap((entry: unknown) => {
        const { info, parts } = record(entry);
        return record(info).role === 'user' && Array.isArray(parts) ? parts : [];
      })
    : partOf(said);
  return parts.some((part: unknown) => {
    const { type, text: words } = record(part);
    return type === 'text' && typeof words === 'string' && containsText(words, ours);
  });
}

function partOf(said: unknown): readonly unknown[] {
  const { type, properties } = record(said);
  return type === 'message.part.updated' ? [record(properties).part] : [];
}
