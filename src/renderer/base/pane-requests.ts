/**
 * Requests to show a bot's pane, from anywhere: a click, the palette, a window event, a link. They wait here until the floor
 * is there and the list of bots has loaded. Must not know the dock.
 */

interface PaneRequest {
  readonly botId: string;
  /** Known from the window event; used when the bot's id is not. */
  readonly paneId: string | null;
  /** Where to go back to when the pane is detached. */
  readonly originView: string | null;
  /** Beside the others rather than as a tab: several bots that were started together. */
  readonly split?: boolean;
  /** Nobody asked for it just now: it takes neither the focus nor the place of a pane that somebody types or answers in. */
  readonly quiet?: boolean;
  /** Somebody chose this bot: the keyboard goes to its pane, unless they write somewhere else. */
  readonly typing?: boolean;
}

export interface PaneRequests {
  add(request: PaneRequest): void;
  /** The waiting requests, oldest first; a new array after every change. */
  waiting(): readonly PaneRequest[];
  done(request: PaneRequest): void;
  subscribe(listener: () => void): () => void;
}

export function createPaneRequests(): PaneRequests {
  const listeners = new Set<() => void>();
  let waiting: readonly PaneRequest[] = [];
  function change(next: readonly PaneRequest[]): void {
    waiting = next;
    for (const listener of listeners) listener();
  }
  return {
    add(request) {
      change([...waiting.filter((one) => one.botId !== request.botId), request]);
    },
    waiting: () => waiting,
    done(request) {
      if (waiting.includes(request)) change(waiting.filter((one) => one !== request));
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
