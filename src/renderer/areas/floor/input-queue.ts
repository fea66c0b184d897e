/**
 * Typing into a pane: keeps the order of keystrokes by having one request in flight, and joins keys typed in between. The engine types a request's
 * text before its keys, so a run of text followed by a run of keys is one request. Must not know terminals or HTTP.
 */
import type { PaneInput } from '../../../contracts/factory/agent.ts';

export type Keystroke = { readonly text: string } | { readonly key: string } | { readonly paste: string };

/** Longest text of one request, in UTF-16 units; a paste beyond it goes in several, in order. */
export const maxTextLength = 200_000;
/** Most keys of one request (the contract's limit). */
const maxKeys = 1000;

/** Takes as many keystrokes as fit one request: text, then keys. Never reorders; never splits a surrogate pair. */
export function takeRequest(pending: readonly Keystroke[]): { input: PaneInput; rest: readonly Keystroke[] } {
  const first = pending[0];
  if (first !== undefined && 'paste' in first) {
    const end = cutBefore(first.paste, maxTextLength);
    const rest = end < first.paste.length ? [{ paste: first.paste.slice(end) }, ...pending.slice(1)] : pending.slice(1);
    return { input: { text: first.paste.slice(0, end), paste: true }, rest };
  }
  let text = '';
  const keys: string[] = [];
  let index = 0;
  for (; index < pending.length; index += 1) {
    const next = pending[index]!;
    if ('key' in next) {
      if (keys.length === maxKeys) break;
      keys.push(next.key);
    } else if ('paste' in next) {
      break;
    } else {
      if (keys.length > 0) break;
      const room = maxTextLength - text.length;
      if (next.text.length > room) {
        const cut = cutBefore(next.text, room);
        text += next.text.slice(0, cut);
        return { input: { text }, rest: [{ text: next.text.slice(cut) }, ...pending.slice(index + 1)] };
      }
      text += next.text;
    }
  }
  const input: PaneInput = {};
  if (text !== '') input.text = text;
  if (keys.length > 0) input.keys = keys;
  return { input, rest: pending.slice(index) };
}

/** The longest beginning of at most `room` units that does not end inside a character. */
function cutBefore(text: string, room: number): number {
  if (text.length <= room) return text.length;
  return /[\uD800-\uDBFF]/.test(text.charAt(room - 1)) ? room - 1 : room;
}

interface InputQueue {
  push(keystroke: Keystroke): void;
  /** Drops what was not sent yet. */
  close(): void;
}

/** `send` carries one request; if it fails, later input is dropped too and `onError` is called once. */
export function createInputQueue(
  send: (input: PaneInput) => Promise<unknown>,
  onError: (error: unknown) => void,
): InputQueue {
  let pending: readonly Keystroke[] = [];
  let busy = false;
  let closed = false;

  async function pump(): Promise<void> {
    if (busy) return;
    busy = true;
    while (pending.length > 0) {
      const { input, rest } = takeRequest(pending);
      pending = rest;
      try {
        await send(input);
      } catch (error) {
        pending = [];
        if (!closed) onError(error);
      }
    }
    busy = false;
  }

  return {
    push(keystroke) {
      if (closed || ('text' in keystroke && keystroke.text === '') || ('paste' in keystroke && keystroke.paste === ''))
        return;
      pending = [...pending, keystroke];
      void pump();
    },
    close() {
      closed = true;
    },
  };
}
