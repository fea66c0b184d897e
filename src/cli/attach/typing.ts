/**
 * Sends what a person types in order, one request at a time, and joins keys typed in between: with one request a key, keys can arrive out of order.
 * Must not know where keys come from.
 */
import type { PaneInput } from '../../contracts/factory/agent.ts';
import { joinInputs } from './typed.ts';

interface Typing {
  add(inputs: readonly PaneInput[]): void;
}

interface TypingDeps {
  send(input: PaneInput): Promise<unknown>;
  /** The last request failed, or (null) went through again. What failed is not sent again: it may have arrived. */
  onTrouble(error: unknown): void;
  isOver(): boolean;
}

export function createTyping({ send, onTrouble, isOver }: TypingDeps): Typing {
  let waiting: PaneInput[] = [];
  let sending = false;

  async function drain(): Promise<void> {
    sending = true;
    while (waiting.length > 0 && !isOver()) {
      const [next, ...rest] = joinInputs(waiting);
      waiting = rest;
      if (next === undefined) break;
      try {
        await send(next);
        onTrouble(null);
      } catch (error) {
        onTrouble(error);
      }
    }
    sending = false;
  }

  return {
    add(inputs) {
      waiting.push(...inputs);
      if (!sending && waiting.length > 0) void drain();
    },
  };
}
