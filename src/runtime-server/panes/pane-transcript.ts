/**
 * A pane's output, page by page, as plain text from its journal. The cursor names pane and byte. It always points between characters and sequences,
 * and ends in "-" where text precedes it on its line. Must not know agents.
 */
import { AppError } from '../../contracts/common/errors.ts';
import type { PaneEngine } from './pane-engine.ts';
import { plainText } from './plain-text.ts';

const pageBytes = 64 * 1024;

export interface TranscriptPage {
  readonly chunks: { at: string; text: string }[];
  /** Null once the pane is gone and all was read. */
  readonly next: string | null;
}

/** The conversations of bots that have no pane. */
export interface Conversations {
  /** The last lines; null where they can only be read from the beginning. */
  capture(agentId: string, lines: number): Promise<{ text: string; at: string } | null>;
  transcript(agentId: string, after: number): Promise<{ chunks: { at: string; text: string }[]; last: number }>;
}

export async function readConversation(
  conversations: Conversations,
  agent: { readonly id: string; readonly live: boolean },
  cursor: string | undefined,
): Promise<TranscriptPage> {
  const match = /^said\.(\d{1,15})$/.exec(cursor ?? 'said.0');
  if (match === null) throw unknown(cursor ?? '');
  const { chunks, last } = await conversations.transcript(agent.id, Number(match[1]));
  return { chunks, next: chunks.length === 0 && !agent.live ? null : `said.${last}` };
}

/** `known`: the agent's panes whose cursors are taken. Without a cursor from the begin of `newest`. */
export async function readTranscript(
  panes: Pick<PaneEngine, 'read'>,
  newest: string,
  known: readonly string[],
  cursor: string | undefined,
): Promise<TranscriptPage> {
  const from = cursor === undefined ? { pane: newest, offset: 0, lineStart: true } : parse(cursor, known);
  const { start, bytes, end, live, at } = await panes.read(from.pane, from.offset, pageBytes);
  if (from.offset > end) throw unknown(cursor ?? '');
  const reached = start + bytes.length >= end;
  const plain = plainText(bytes, reached && !live, from.lineStart);
  const offset = start + plain.used;
  const chunks = plain.text === '' ? [] : [{ at, text: plain.text }];
  return { chunks, next: reached && !live ? null : `${from.pane}.${offset}${plain.lineStart ? '' : '-'}` };
}

function parse(cursor: string, known: readonly string[]): { pane: string; offset: number; lineStart: boolean } {
  const match = /^(.+)\.(\d{1,15})(-?)$/.exec(cursor);
  const pane = match?.[1];
  if (pane === undefined || !known.includes(pane)) throw unknown(cursor);
  return { pane, offset: Number(match?.[2]), lineStart: match?.[3] === '' };
}

function unknown(cursor: string): AppError {
  return new AppError(
    'usage',
    `"${cursor.slice(0, 80)}" is not a transcript cursor of this bot.`,
    'Use `next` of an earlier answer, or leave it out to begin at the start.',
  );
}
