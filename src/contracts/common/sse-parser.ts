/**
 * Reads `text/event-stream` text piece by piece (WHATWG HTML, 9.2.6), the format of every stream of Gantry. Used by the client, and by a runtime
 * that follows another's streams. Owns no connection and judges no event.
 */

export interface SseMessage {
  /** Name of the event; `message` when the stream gave none. */
  readonly event: string;
  /** The id given with this very event; null when it had none. */
  readonly id: string | null;
  readonly data: string;
}

export interface SseParser {
  /** Takes text as it comes, cut anywhere; returns the events it completed. */
  push(text: string): SseMessage[];
}

/** A CR at the very end may be half of a CRLF: it ends a line only once something follows. */
const lineEnds = /\r\n|\n|\r(?!$)/;

export function createSseParser(): SseParser {
  /** Pieces of the unfinished line. Joined once it ends: an event of megabytes comes in hundreds of pieces. */
  let pieces: string[] = [];
  let first = true;
  let event = '';
  let id: string | null = null;
  let data: string[] = [];

  function line(text: string, done: SseMessage[]): void {
    if (text === '') {
      if (data.length > 0) done.push({ event: event === '' ? 'message' : event, id, data: data.join('\n') });
      event = '';
      id = null;
      data = [];
      return;
    }
    if (text.startsWith(':')) return;
    const colon = text.indexOf(':');
    const field = colon === -1 ? text : text.slice(0, colon);
    const value = colon === -1 ? '' : text.slice(text[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (field === 'event') event = value;
    else if (field === 'data') data.push(value);
    else if (field === 'id' && value !== '' && !value.includes('\0')) id = value;
  }

  return {
    push(text) {
      if (text === '') return [];
      const ended = pieces.at(-1)?.endsWith('\r') === true || text.includes('\n') || text.includes('\r');
      pieces.push(first && text.startsWith('\uFEFF') ? text.slice(1) : text);
      first = false;
      if (!ended) return [];
      const lines = pieces.join('').split(lineEnds);
      pieces = [lines.pop() as string];
      const done: SseMessage[] = [];
      for (const one of lines) line(one, done);
      return done;
    },
  };
}
