/**
 * The conversation of one agent over ACP as Gantry saw it: pieces that it reports become entries, which are read as a page, a transcript or a capture.
 * Must not know the protocol, or what a turn is for.
 */
import type { ConversationEntry } from '../../contracts/factory/conversation-routes.ts';
import { iso } from '../../kit/clock/clock.ts';
import type { Base } from '../base/base.ts';
import { createEntries, type Entry } from './entries.ts';
import { changedAfter, type EntryBody, lastNumbers, newest, type StoredEntry, settledAfter } from './store.ts';
import type { ToolReport, Update } from './updates.ts';

/** Characters of one text, output or input. */
const maxText = 200_000;
const maxInput = 20_000;
const maxDiffs = 20;
const leftOut = '\n[… left out because it is too long]';

export type Recorder = ReturnType<typeof createRecorder>;
type Tool = NonNullable<EntryBody['tool']>;

/** `load` must have resolved before anything else is called. */
export function createRecorder(deps: Pick<Base, 'store' | 'clock' | 'timers' | 'log'>, agentId: string) {
  const entries = createEntries(deps, agentId);
  const { add, change, settle } = entries;
  /** What a piece is added to; null: the next one begins an entry. */
  let chunk: { readonly entry: Entry; readonly messageId: string | null } | null = null;
  const tools = new Map<string, { readonly entry: Entry; input: unknown }>();
  let plan: Entry | null = null;

  function endChunk(): void {
    if (chunk !== null) settle(chunk.entry);
    chunk = null;
  }

  function say(kind: 'text' | 'thought', text: string, messageId: string | null): void {
    if (text === '') return;
    if (chunk === null || chunk.entry.body.kind !== kind || (messageId !== null && chunk.messageId !== messageId)) {
      endChunk();
      chunk = { entry: add({ kind, text: '' }, false), messageId };
    }
    const { entry } = chunk;
    const before = entry.body.text ?? '';
    if (before.length > maxText) return;
    entry.body = { kind, text: shorten(before + text, maxText) };
    change(entry);
  }

  function report(said: ToolReport): void {
    let known = tools.get(said.id);
    if (known === undefined) {
      endChunk();
      const tool = { title: said.title ?? 'A tool', kind: said.kind ?? 'other', status: 'pending' as const };
      known = { entry: add({ kind: 'tool', tool }, false), input: undefined };
      tools.set(said.id, known);
    }
    if (said.input !== undefined) known.input = said.input;
    const { entry } = known;
    const tool = toolAfter(entry.body.tool as Tool, said, known.input);
    entry.body = { kind: 'tool', tool };
    if (!entry.settled && (tool.status === 'done' || tool.status === 'failed')) settle(entry);
    else change(entry);
  }

  function planned(steps: NonNullable<EntryBody['plan']>): void {
    endChunk();
    if (plan === null) plan = add({ kind: 'plan', plan: steps }, false);
    else {
      plan.body = { kind: 'plan', plan: steps };
      change(plan);
    }
  }

  function note(text: string): void {
    endChunk();
    add({ kind: 'note', text }, true);
  }

  /** Nothing grows any more. */
  function endAll(): void {
    endChunk();
    plan = null;
    for (const entry of entries.open) {
      const { tool, question } = entry.body;
      if (tool !== undefined) entry.body = { ...entry.body, tool: { ...tool, status: 'unknown' } };
      if (question?.answer === 'open') entry.body = { ...entry.body, question: { ...question, answer: 'withdrawn' } };
      settle(entry);
    }
    tools.clear();
  }

  return {
    load: () => entries.load(endAll),
    take(update: Update): void {
      if (update.kind === 'text' || update.kind === 'thought') say(update.kind, update.text, update.messageId);
      else if (update.kind === 'tool') report(update.report);
      else if (update.kind === 'plan') planned(update.plan);
      else if (update.kind === 'note') note(update.text);
    },
    user(text: string): void {
      endAll();
      add({ kind: 'user', text }, true);
    },
    note,
    /** A question that waits for its answer; the answer settles it. */
    question(title: string, approvalId: string | null, answer: 'open' | 'approved' | 'rejected'): (to: Answer) => void {
      endChunk();
      const body = (now: Answer | 'open'): EntryBody => ({
        kind: 'question',
        text: title,
        question: { approvalId, answer: now },
      });
      const entry = add(body(answer), answer !== 'open');
      return (to) => {
        if (entry.settled) return;
        entry.body = body(to);
        settle(entry);
      };
    },
    /** A call as it was reported so far, with its whole input. */
    toolOf(id: string): { tool: Tool; input: unknown } | null {
      const known = tools.get(id);
      return known === undefined ? null : { tool: known.entry.body.tool as Tool, input: known.input };
    },
    /** What the agent said last in this turn, after its last call. */
    lastText(): string {
      return chunk?.entry.body.kind === 'text' ? (chunk.entry.body.text ?? '') : '';
    },
    endAll,
    writeInto: entries.writeInto,
    prune: entries.prune,
    flush: entries.flush,
  };
}

/** What is known of a call, after a report: what that does not name stays. */
function toolAfter(tool: Tool, said: ToolReport, input: unknown): Tool {
  const places = said.places ?? tool.places ?? [];
  const diffs = said.diffs === undefined || said.diffs.length === 0 ? (tool.diffs ?? []) : said.diffs;
  const output = said.output ?? tool.output;
  return {
    title: said.title ?? tool.title,
    kind: said.kind ?? tool.kind,
    status: said.status ?? tool.status,
    ...(input === undefined ? {} : { input: shorten(inputText(input), maxInput) }),
    ...(output === undefined ? {} : { output: shorten(output, maxText) }),
    ...(diffs.length === 0 ? {} : { diffs: diffs.slice(0, maxDiffs) }),
    ...(places.length === 0 ? {} : { places: places.slice(0, 50) }),
  };
}

type Answer = 'approved' | 'rejected' | 'withdrawn';

const shorten = (text: string, max: number): string => (text.length > max ? text.slice(0, max) + leftOut : text);

export function inputText(input: unknown): string {
  return typeof input === 'string' ? input : JSON.stringify(input, null, 2);
}

const pageEntries = 200;

function wireEntry({ seq, rev, at, body }: StoredEntry): ConversationEntry {
  return { seq, rev, at: iso(at), ...body };
}

/** Reads conversations as they were written. */
export function createReader({ store }: Pick<Base, 'store'>) {
  return {
    async page(
      agentId: string,
      {
        after,
        before,
        limit = pageEntries,
      }: { after?: number | undefined; before?: number | undefined; limit?: number | undefined },
    ): Promise<{ entries: ConversationEntry[]; rev: number; more: boolean }> {
      return store.read((tx) => {
        const found =
          after === undefined ? newest(tx, agentId, before, limit + 1) : changedAfter(tx, agentId, after, limit + 1);
        const more = found.length > limit;
        const shown = !more ? found : after === undefined ? found.slice(1) : found.slice(0, limit);
        const last = after === undefined ? lastNumbers(tx, agentId).rev : (shown.at(-1)?.rev ?? after);
        return { entries: shown.map(wireEntry), rev: last, more };
      });
    },
    async transcript(
      agentId: string,
      after: number,
    ): Promise<{ chunks: { at: string; text: string }[]; last: number }> {
      const entries = await store.read((tx) => settledAfter(tx, agentId, after, pageEntries));
      return {
        chunks: entries.map(({ at, body }) => ({ at: iso(at), text: shownEntry(body) })),
        last: entries.at(-1)?.rev ?? after,
      };
    },
    async capture(agentId: string, lines: number): Promise<{ text: string; at: string } | null> {
      const entries = await store.read((tx) => newest(tx, agentId, undefined, Math.min(lines, pageEntries)));
      const at = entries.at(-1)?.at;
      if (at === undefined) return null;
      const text = entries.map(({ body }) => shownEntry(body)).join('');
      return { text: text.trimEnd().split('\n').slice(-lines).join('\n'), at: iso(at) };
    },
  };
}

const maxShown = 2000;
const marks = { pending: '…', running: '…', done: '✓', failed: '✗', unknown: '?' } as const;

/** As a person reads it in a terminal. */
function shownEntry({ kind, text = '', tool, plan, question }: EntryBody): string {
  if (tool !== undefined) {
    const { title, status, output, diffs = [] } = tool;
    const files = diffs.map(({ path }) => `    ${path}\n`).join('');
    const said = output === undefined ? '' : `${shorten(output, maxShown).replace(/^/gm, '    ')}\n`;
    return `  ${marks[status]} ${title}\n${files}${said}\n`;
  }
  if (plan !== undefined) {
    const done = { pending: ' ', in_progress: '>', completed: 'x' } as const;
    return `${plan.map((step) => `  [${done[step.status]}] ${step.text}\n`).join('')}\n`;
  }
  if (question !== undefined) return `  ? ${text} (${question.answer})\n\n`;
  if (kind === 'user') return `> ${text.replaceAll('\n', '\n> ')}\n\n`;
  if (kind === 'thought') return `${text.replace(/^/gm, '  ~ ')}\n\n`;
  if (kind === 'note') return `  (${text})\n\n`;
  return `${text}\n\n`;
}
