/**
 * The screen of one bot's pane as it changes: by its event stream while it has a slot, else read once a second.
 * Must not know terminals.
 */
import { AppError } from '../../../contracts/common/errors.ts';
import { Screen } from '../../../contracts/factory/agent.ts';
import { ticketExpired } from '../../../contracts/factory/peer-routes.ts';
import type { StreamSlots } from '../../base/data/stream-slots.ts';
import type { PanePort } from './pane-port.ts';

/** How often a pane without a slot is read, in ms. */
const readEvery = 1000;

export type PaneLink =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'live' }
  /** Read once a second, because all streams are in use. */
  | { readonly kind: 'sampled' }
  | { readonly kind: 'reconnecting'; readonly error: unknown }
  | { readonly kind: 'gone'; readonly reason: string | null }
  | { readonly kind: 'failed'; readonly error: unknown };

interface ScreenListener {
  onScreen(screen: Screen): void;
  onLink(link: PaneLink): void;
}

interface ScreenWatch {
  /** The pane a person works in: its stream comes first. */
  setUrgent(urgent: boolean): void;
  /** Watches again after `gone` or `failed`: the pane may be readable once more. */
  again(): void;
  close(): void;
}

export function watchScreen(pane: PanePort, slots: StreamSlots, listener: ScreenListener): ScreenWatch {
  let closed = false;
  let over = false;
  let urgent = false;
  let stop: (() => void) | null = null;
  let timer: ReturnType<typeof setTimeout> | null = null;
  let starting = false;

  function end(link: PaneLink): void {
    if (over || closed) return;
    over = true;
    rest();
    listener.onLink(link);
  }
  function rest(): void {
    stop?.();
    stop = null;
    if (timer !== null) clearTimeout(timer);
    timer = null;
  }

  async function begin(): Promise<void> {
    if (closed || over || starting || stop !== null || document.hidden) return;
    starting = true;
    const slot = await slots.take(urgent, () => {
      rest();
      void sample();
    });
    starting = false;
    if (closed || over || document.hidden) return slot?.release();
    if (slot === null) return sample();
    if (timer !== null) clearTimeout(timer);
    timer = null;
    const stream = pane.stream({
      onEvent(message) {
        if (message.event === 'screen') {
          const screen = Screen.safeParse(message.data);
          if (screen.success) listener.onScreen(screen.data);
        } else if (message.event === 'gone') {
          const data = message.data as { reason?: unknown };
          // Only what let us in has run out: the next stream brings its own.
          if (data.reason === ticketExpired) {
            rest();
            void begin();
          } else end({ kind: 'gone', reason: typeof data.reason === 'string' ? data.reason : null });
        }
      },
      onState(state) {
        if (over || closed) return;
        if (state.kind === 'open') listener.onLink({ kind: 'live' });
        else if (state.kind === 'waiting') listener.onLink({ kind: 'reconnecting', error: state.error });
        else if (state.kind === 'ended' && state.error !== null) end(linkOfError(state.error));
      },
    });
    stop = () => {
      stream.close();
      slot.release();
    };
  }

  async function sample(): Promise<void> {
    if (closed || over || document.hidden) return;
    try {
      const screen = await pane.screen();
      if (closed || over) return;
      listener.onScreen(screen);
      listener.onLink({ kind: 'sampled' });
    } catch (error) {
      if (closed || over) return;
      if (error instanceof AppError && error.code === 'not_found') return end(linkOfError(error));
      listener.onLink({ kind: 'reconnecting', error });
    }
    timer = setTimeout(() => {
      timer = null;
      void begin();
    }, readEvery);
  }

  function onVisibility(): void {
    if (document.hidden) rest();
    else void begin();
  }
  document.addEventListener('visibilitychange', onVisibility);
  listener.onLink({ kind: 'connecting' });
  void begin();

  return {
    setUrgent(value) {
      const rises = value && !urgent;
      urgent = value;
      if (rises && stop === null) {
        if (timer !== null) clearTimeout(timer);
        timer = null;
        void begin();
      }
    },
    again() {
      if (!over) return;
      over = false;
      void begin();
    },
    close() {
      closed = true;
      rest();
      document.removeEventListener('visibilitychange', onVisibility);
    },
  };
}

function linkOfError(error: unknown): PaneLink {
  if (error instanceof AppError && error.code === 'not_found') return { kind: 'gone', reason: error.fact };
  return { kind: 'failed', error };
}
