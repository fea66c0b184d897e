/**
 * The live view of one screen: its last frame, the pointer, the next action, who has control. Uses one of the window's streams while somebody
 * watches. Must not know how a screen is drawn.
 */
import type { z } from 'zod';
import type { EventStream, StreamHandlers } from '../../../client/client.ts';
import { type Control, viewEvents } from '../../../contracts/computer-use/toolset.ts';
import type { Slot, StreamSlots } from '../../base/data/stream-slots.ts';

type Told<Name extends keyof typeof viewEvents> = z.output<(typeof viewEvents)[Name]>;

export interface LiveView {
  readonly link: 'connecting' | 'open' | 'waiting' | 'ended';
  readonly frame: Told<'frame'> | null;
  readonly pointer: Told<'pointer'> | null;
  readonly next: Told<'next'>;
  readonly control: Control | null;
  /** There is nothing to see any more, and why. */
  readonly gone: Told<'gone'> | null;
  readonly error: unknown;
}

export const noView: LiveView = {
  link: 'connecting',
  frame: null,
  pointer: null,
  next: null,
  control: null,
  gone: null,
  error: null,
};

export interface LiveViewStore {
  get(): LiveView;
  subscribe(listener: () => void): () => void;
  /** What the answer to taking or giving back control says, before the stream says it. */
  tellControl(control: Control): void;
  close(): void;
}

export function createLiveView(open: (handlers: StreamHandlers) => EventStream, slots: StreamSlots): LiveViewStore {
  const listeners = new Set<() => void>();
  let view = noView;
  let closed = false;
  let end = () => {};

  function put(change: Partial<LiveView>): void {
    view = { ...view, ...change };
    for (const listener of listeners) listener();
  }

  function onEvent({ event, data }: { event: string; data: unknown }): void {
    if (!Object.hasOwn(viewEvents, event)) return;
    const name = event as keyof typeof viewEvents;
    const told = viewEvents[name].safeParse(data);
    if (told.success) put({ [name]: told.data });
  }

  async function begin(): Promise<void> {
    // A person works with the screen they look at, so another live view of this window gives way to it.
    const slot: Slot | null = await slots.take(true, () => end());
    if (closed) return slot?.release();
    const stream = open({
      onEvent,
      onState(state) {
        if (state.kind === 'open') put({ link: 'open', error: null, gone: null });
        else if (state.kind === 'waiting') put({ link: 'waiting', error: state.error });
        else if (state.kind === 'ended') put({ link: 'ended', error: state.error });
      },
    });
    end = () => {
      stream.close();
      slot?.release();
    };
  }

  void begin();
  return {
    get: () => view,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    tellControl: (control) => put({ control }),
    close() {
      closed = true;
      end();
    },
  };
}
