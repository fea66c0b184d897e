/**
 * Reads `text/event-stream` text piece by piece (WHATWG HTML, 9.2.6): what every stream of Gantry is written in. First user: the client; second: a
 * runtime that follows the streams of another. Owns no connection and judges no event.
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

export function createSseParser(): SseParser {
  let rest = '';
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
    const value = colon === -1 ? '' : text.slice(colon + 1).replace(/^ /, '');
    if (field === 'event') event = value;
    else if (field === 'data') data.push(value);
    else if (field === 'id' && value !== '' && !value.includes('\0')) id = value;
  }

  return {
    push(text) {
      const done: SseMessage[] = [];
      rest += first && text.startsWith('\uFEFF') ? text.slice(1) : text;
      if (text !== '') first = false;
      const breaks = /[\r\n]/g;
      let from = 0;
      for (;;) {
        breaks.lastIndex = from;
        const end = breaks.exec(rest)?.index;
        if (end === undefined) break;
        // A CR at the very end may be half of a CRLF: wait for what follows.
        if (rest[end] === '\r' && end + 1 === rest.length) break;
        line(rest.slice(from, end), done);
        from = end + (rest[end] === '\r' && rest[end + 1] === '\n' ? 2 : 1);
      }
      rest = rest.slice(from);
      return done;
    },
  };
}
