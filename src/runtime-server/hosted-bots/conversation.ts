/**
 * Turns kept lines into a model's input and a person's transcript. A call whose result was never kept gets one that says so; of a long conversation
 * the oldest turns are left out as a whole. Pure.
 */
import type { Message, ToolResult } from '../models/model.ts';
import type { Line, StoredLine } from './store.ts';

/** The most characters a model is sent (about four a token). */
const maxToldLength = 400_000;

const unknownResult = 'Gantry stopped before the result was known. The call may have run: check before you repeat it.';
const leftOut = 'Earlier parts of this conversation were left out because it is too long.';

export function messagesOf(stored: readonly StoredLine[]): Message[] {
  const turns = [...Map.groupBy(stored, (one) => one.turnId).values()];
  const kept: StoredLine[][] = [];
  let size = 0;
  for (const turn of turns.toReversed()) {
    size += turn.reduce((sum, one) => sum + JSON.stringify(one.line).length, 0);
    // The newest turn is always sent, however long.
    if (size > maxToldLength && kept.length > 0) break;
    kept.unshift(turn);
  }
  const messages = kept.flatMap((turn) => fromLines(turn.map((one) => one.line)));
  return kept.length === turns.length ? messages : [{ role: 'user', text: leftOut }, ...messages];
}

function fromLines(lines: readonly Line[]): Message[] {
  const messages: Message[] = [];
  let awaited: { id: string; name: string }[] = [];
  let results: ToolResult[] = [];
  const settle = () => {
    if (awaited.length === 0) return;
    const missing = awaited.filter((call) => !results.some((result) => result.callId === call.id));
    const unknown = missing.map((call) => ({ callId: call.id, name: call.name, text: unknownResult, isError: true }));
    messages.push({ role: 'tools', results: [...results, ...unknown] });
    awaited = [];
    results = [];
  };
  for (const line of lines) {
    if (line.kind === 'result') {
      results.push(line.result);
      continue;
    }
    settle();
    if (line.kind === 'user') messages.push({ role: 'user', text: line.text });
    else {
      messages.push(line.message);
      awaited = line.message.calls.map(({ id, name }) => ({ id, name }));
    }
  }
  settle();
  return messages;
}

/** The most characters of a result or an input in the transcript. */
const maxShownLength = 2000;
const shorten = (text: string) => (text.length > maxShownLength ? `${text.slice(0, maxShownLength)} […]` : text);

/** As a person reads it. */
export function shownLine(line: Line): string {
  if (line.kind === 'user') return `> ${line.text.replaceAll('\n', '\n> ')}\n\n`;
  if (line.kind === 'result') {
    const { name, text, isError } = line.result;
    return `  ${isError ? '✗' : '✓'} ${name}\n${shorten(text).replace(/^/gm, '    ')}\n\n`;
  }
  const { text, calls } = line.message;
  const said = text === '' ? '' : `${text}\n\n`;
  return said + calls.map((call) => `  → ${call.name} ${shorten(JSON.stringify(call.input))}\n`).join('');
}
