/**
 * A hosted bot's conversation as a page shows it: a call and its result, which are kept as separate lines, are one entry. Pure, except that it reads lines.
 */
import type { ConversationEntry } from '../../contracts/factory/conversation-routes.ts';
import { iso } from '../../kit/clock/clock.ts';
import type { Tx } from '../../kit/store/store.ts';
import { linesAfter, linesBefore, type StoredLine } from './store.ts';

/** Entries that one line becomes: what the model says, and each call. */
const perLine = 64;
const pageEntries = 200;
/** How far before its result a call is looked for, lines. */
const lookBack = 60;
const maxText = 100_000;

export function readPage(
  tx: Pick<Tx, 'get' | 'all'>,
  agentId: string,
  range: {
    readonly after?: number | undefined;
    readonly before?: number | undefined;
    readonly limit?: number | undefined;
  },
): { entries: ConversationEntry[]; rev: number; more: boolean } {
  const { after, before, limit = pageEntries } = range;
  const first = after === undefined ? null : Math.floor(after / perLine);
  const upTo = before === undefined ? undefined : Math.floor(before / perLine);
  const found = first === null ? linesBefore(tx, agentId, upTo, limit + 1) : linesAfter(tx, agentId, first, limit + 1);
  const more = found.length > limit;
  const lines = !more ? found : first === null ? found.slice(1) : found.slice(0, limit);
  const earlier = lines[0] === undefined ? [] : linesBefore(tx, agentId, lines[0].seq, lookBack);
  const rev = Math.max(after ?? 0, (lines.at(-1)?.seq ?? 0) * perLine);
  return { entries: entriesOf(lines, earlier), rev, more };
}

function entriesOf(lines: readonly StoredLine[], earlier: readonly StoredLine[]): ConversationEntry[] {
  const entries = new Map<number, ConversationEntry>();
  const calls = new Map<string, ConversationEntry>();
  const know = (stored: StoredLine, shown: boolean) => {
    for (const [id, entry] of partsOf(stored)) {
      if (id !== null) calls.set(id, entry);
      if (shown) entries.set(entry.seq, entry);
    }
  };
  for (const stored of earlier) know(stored, false);
  for (const stored of lines) {
    const { line } = stored;
    if (line.kind !== 'result') {
      know(stored, true);
      continue;
    }
    const { callId, name, text, isError } = line.result;
    const call = calls.get(callId);
    const tool = call?.tool ?? { title: name, kind: name, status: 'done' as const };
    const seq = call?.seq ?? stored.seq * perLine;
    entries.set(seq, {
      seq,
      rev: stored.seq * perLine,
      at: call?.at ?? iso(stored.at),
      kind: 'tool',
      tool: { ...tool, status: isError ? 'failed' : 'done', output: text.slice(0, maxText) },
    });
  }
  return [...entries.values()].sort((a, b) => a.seq - b.seq);
}

/** The entries of a line, each with the call that it is. */
function partsOf({ seq, at, line }: StoredLine): [id: string | null, entry: ConversationEntry][] {
  const place = (index: number) => ({ seq: seq * perLine + index, rev: seq * perLine, at: iso(at) });
  if (line.kind === 'user') return [[null, { ...place(0), kind: 'user', text: line.text }]];
  if (line.kind === 'result') return [];
  const { text, calls } = line.message;
  const said: [null, ConversationEntry][] = text === '' ? [] : [[null, { ...place(0), kind: 'text', text }]];
  const made = calls.slice(0, perLine - 1).map((call, index): [string, ConversationEntry] => {
    const input = JSON.stringify(call.input, null, 2).slice(0, maxText);
    const tool = { title: call.name, kind: call.name, status: 'running' as const, input };
    return [call.id, { ...place(index + 1), kind: 'tool', tool }];
  });
  return [...said, ...made];
}
