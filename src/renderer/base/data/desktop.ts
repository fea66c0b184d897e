/** The desktop program around the page, if there is one: its state as main last reported it, and the pages that main opens. */
import {
  type DesktopAct,
  type DesktopBridge,
  type DesktopChange,
  DesktopState,
  type Destination,
  Saying,
} from '../../../contracts/desktop/channels.ts';

declare global {
  interface Window {
    /** Set by the preload script; undefined in a browser. */
    readonly desktop?: DesktopBridge;
  }
}

export interface Desktop {
  /** Null until main has answered. */
  state(): DesktopState | null;
  subscribe(listener: () => void): () => void;
  change(change: DesktopChange): Promise<void>;
  act(act: DesktopAct): Promise<void>;
  /** Begins to listen, and tells main so: what it said before comes now. Returns the way to stop. */
  follow(lead: (to: Destination) => void): () => void;
}

export function createDesktop(bridge: DesktopBridge): Desktop {
  let state: DesktopState | null = null;
  const listeners = new Set<() => void>();
  const take = (given: unknown): void => {
    const parsed = DesktopState.safeParse(given).data;
    if (parsed === undefined) return;
    state = parsed;
    for (const listener of listeners) listener();
  };
  return {
    state: () => state,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    change: async (change) => take(await bridge.change(change)),
    act: async (act) => take(await bridge.act(act)),
    follow(lead) {
      const stop = bridge.onSay((given) => {
        const saying = Saying.safeParse(given).data;
        if (saying === undefined) return;
        if (saying.kind === 'state') take(saying.state);
        else lead(saying);
      });
      // Without an answer the page works as in a browser.
      bridge.read().then(take, () => {});
      return stop;
    },
  };
}
