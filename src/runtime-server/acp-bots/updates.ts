/** Reads what an agent reports, and what it asks about, as Gantry keeps it. Foreign data: what has another shape counts as missing. Pure. */
import type {
  ConversationDiff,
  ConversationEntry,
  ConversationModes,
} from '../../contracts/factory/conversation-routes.ts';
import { objectOf, record, text } from '../harness/values.ts';

type Json = Readonly<Record<string, unknown>>;
type Tool = NonNullable<ConversationEntry['tool']>;

/** What a report says of one call; a field that is missing has not changed. */
export interface ToolReport {
  readonly id: string;
  readonly title?: string;
  readonly kind?: string;
  readonly status?: Tool['status'];
  readonly input?: unknown;
  readonly output?: string;
  readonly diffs?: readonly ConversationDiff[];
  readonly places?: readonly string[];
  /** Terminals of its client whose output is its own. */
  readonly terminals?: readonly string[];
}

export type Update =
  | { readonly kind: 'text' | 'thought' | 'user'; readonly text: string; readonly messageId: string | null }
  | { readonly kind: 'tool'; readonly report: ToolReport }
  | { readonly kind: 'plan'; readonly plan: NonNullable<ConversationEntry['plan']> }
  | { readonly kind: 'mode'; readonly mode: string }
  | { readonly kind: 'note'; readonly text: string }
  /** It says something that Gantry does not show, such as the commands it knows. */
  | { readonly kind: 'other' };

export function readUpdate(update: unknown): Update {
  const said = record(update);
  switch (said.sessionUpdate) {
    case 'agent_message_chunk':
      return { kind: 'text', ...chunkOf(said) };
    case 'agent_thought_chunk':
      return { kind: 'thought', ...chunkOf(said) };
    case 'user_message_chunk':
      return { kind: 'user', ...chunkOf(said) };
    case 'tool_call':
    case 'tool_call_update': {
      const report = toolReport(said);
      return report === null ? { kind: 'other' } : { kind: 'tool', report };
    }
    case 'plan':
      return { kind: 'plan', plan: listOf(said.entries).map(planEntry) };
    case 'current_mode_update':
      return typeof said.currentModeId === 'string' ? { kind: 'mode', mode: said.currentModeId } : { kind: 'other' };
    case 'notice': {
      const words = [text(said.title), text(said.description)].filter((part) => part !== '').join(': ');
      return words === '' ? { kind: 'other' } : { kind: 'note', text: words };
    }
    default:
      return { kind: 'other' };
  }
}

const listOf = (value: unknown): readonly Json[] =>
  Array.isArray(value) ? value.map((one: unknown) => objectOf(one)).filter((one) => one !== null) : [];

function chunkOf(said: Json): { readonly text: string; readonly messageId: string | null } {
  return { text: blockText(record(said.content)), messageId: text(said.messageId) || null };
}

function blockText(block: Json): string {
  switch (block.type) {
    case 'text':
      return text(block.text);
    case 'resource_link':
      return `[${text(block.name) || text(block.uri)}](${text(block.uri)})`;
    case 'resource':
      return text(record(block.resource).text);
    case 'image':
    case 'audio':
      return `(${block.type}, ${text(block.mimeType)})`;
    default:
      return '';
  }
}

const statuses: Readonly<Record<string, Tool['status']>> = {
  pending: 'pending',
  in_progress: 'running',
  completed: 'done',
  failed: 'failed',
};

export function toolReport(said: Json): ToolReport | null {
  const id = text(said.toolCallId);
  if (id === '') return null;
  const status = statuses[text(said.status)];
  const content = Array.isArray(said.content) ? listOf(said.content) : null;
  const places = Array.isArray(said.locations) ? listOf(said.locations).map(placeOf) : null;
  const terminals = (content ?? []).flatMap((part) => (part.type === 'terminal' ? text(part.terminalId) : []));
  const raw = outputOf(said.rawOutput);
  const output = content === null ? raw : contentText(content) || raw;
  return {
    id,
    ...(text(said.title) === '' ? {} : { title: text(said.title) }),
    ...(text(said.kind) === '' ? {} : { kind: text(said.kind) }),
    ...(status === undefined ? {} : { status }),
    ...(said.rawInput == null ? {} : { input: said.rawInput }),
    ...(output === undefined || output === '' ? {} : { output }),
    ...(content === null ? {} : { diffs: content.filter((part) => part.type === 'diff').map(diffOf) }),
    ...(places === null ? {} : { places }),
    ...(terminals.length === 0 ? {} : { terminals }),
  };
}

function contentText(content: readonly Json[]): string {
  return content
    .filter((part) => part.type === 'content')
    .map((part) => blockText(record(part.content)))
    .filter((part) => part !== '')
    .join('\n');
}

function outputOf(raw: unknown): string | undefined {
  if (raw == null) return undefined;
  return typeof raw === 'string' ? raw : JSON.stringify(raw);
}

function placeOf(place: Json): string {
  return typeof place.line === 'number' ? `${text(place.path)}:${place.line}` : text(place.path);
}

/** Characters of each side that are kept. */
const maxDiffText = 200_000;

function diffOf(part: Json): ConversationDiff {
  const before = typeof part.oldText === 'string' ? part.oldText : null;
  const after = text(part.newText);
  const isCut = Math.max(before?.length ?? 0, after.length) > maxDiffText;
  return {
    path: text(part.path),
    before: before === null ? null : before.slice(0, maxDiffText),
    after: after.slice(0, maxDiffText),
    ...(isCut ? { cut: true } : {}),
  };
}

function planEntry(entry: Json): NonNullable<ConversationEntry['plan']>[number] {
  const { status } = entry;
  const known = status === 'in_progress' || status === 'completed' ? status : 'pending';
  return { text: text(entry.content), status: known };
}

/** The modes of a session; null where the agent names none. */
export function modesOf(modes: unknown): ConversationModes | null {
  const said = record(modes);
  const available = listOf(said.availableModes)
    .map((mode) => ({
      id: text(mode.id),
      name: text(mode.name) || text(mode.id),
      description: text(mode.description) || null,
    }))
    .filter(({ id }) => id !== '');
  return available.length === 0 ? null : { current: text(said.currentModeId), available };
}
