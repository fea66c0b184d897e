/**
 * Panes on other computers, as the factory reads any pane: everyone who watches a pane here shares one stream from there. While
 * the computer is away the last screen stays, with its own time. Must not know teams or registry.
 */

import { z } from 'zod';
import { AppError } from '../../../contracts/common/errors.ts';
import type { PaneSize } from '../../../contracts/factory/agent.ts';
import { Screen, Scrollback, TranscriptChunk } from '../../../contracts/factory/agent.ts';
import { PeerCapture, ticketExpired } from '../../../contracts/factory/peer-routes.ts';
import { iso } from '../../../kit/clock/clock.ts';
import type { Base } from '../../base/base.ts';
import type { TranscriptPage } from '../../panes/pane-transcript.ts';
import type { PaneView } from '../../panes/pane-view.ts';
import { createWatchers } from '../../panes/watchers.ts';
import { type PeerCalls, peerFault } from './calls.ts';

/** One pane there. */
interface RemotePane {
  readonly computerId: string;
  readonly address: string;
}

export interface RemotePanes extends PaneView {
  transcript(id: string, cursor: string | undefined): Promise<TranscriptPage>;
  /** From now on the session is this pane. */
  know(session: string, pane: RemotePane): void;
  /** It is closed: its viewers are notified. */
  forget(session: string, reason: string): void;
  close(): void;
}

/** A stream that lived this long ended with its ticket: the next one is requested at once. */
const steadyMs = 5000;
/** Otherwise after a while. Milliseconds. */
const backoffMs = [250, 500, 1000, 2000, 5000];

const Transcript = z.object({ chunks: z.array(TranscriptChunk), next: z.string().nullable() });
const Sized = z.object({ cols: z.number(), rows: z.number() });
/** Another version there may send other fields too. */
const AnyScreen = z.object(Screen.shape);
const AnyScrollback = z.object(Scrollback.shape);

interface Known extends RemotePane {
  last: Screen | null;
  size: PaneSize | null;
  stream: AbortController | null;
}

export function createRemotePanes(
  deps: Pick<Base, 'clock' | 'timers'> & {
    readonly calls: PeerCalls;
    readonly onError: (error: unknown) => void;
  },
): RemotePanes {
  const { calls, timers } = deps;
  const panes = new Map<string, Known>();
  const watchers = createWatchers(deps.onError);

  const paneOf = (session: string): Known => {
    const pane = panes.get(session);
    if (pane !== undefined) return pane;
    throw new AppError('not_found', `The pane ${session} is not open.`, 'Start its team again.');
  };
  const query = (pane: RemotePane, more: Record<string, string | number | undefined> = {}) => {
    const given = Object.entries({ to: pane.address, ...more }).filter((entry) => entry[1] !== undefined);
    return new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  };
  const read = async <Shape extends z.ZodType>(
    pane: RemotePane,
    path: string,
    shape: Shape,
  ): Promise<z.output<Shape>> => {
    const answer = await calls.call(pane.computerId, { method: 'GET', path });
    const parsed = shape.safeParse(answer.body);
    if (answer.status === 200 && parsed.success) return parsed.data;
    throw peerFault(answer);
  };
  const saw = (pane: Known, screen: Screen): Screen => {
    pane.last = screen;
    pane.size = { cols: screen.cols, rows: screen.rows };
    return screen;
  };

  /** Follows one pane while it has viewers. Only that computer can report that it is gone. */
  const follow = async (session: string, pane: Known, signal: AbortSignal): Promise<void> => {
    let failures = 0;
    while (!signal.aborted) {
      const began = deps.clock.monotonic();
      let shown = false;
      try {
        await calls.stream(
          pane.computerId,
          `stream?${query(pane)}`,
          (event, data) => {
            if (signal.aborted) return;
            const screen = event === 'screen' ? AnyScreen.safeParse(data) : null;
            if (screen?.success === true) {
              shown = true;
              watchers.screen(session, saw(pane, screen.data));
            }
            const reason = event === 'gone' ? (data as { reason?: unknown }).reason : undefined;
            if (typeof reason === 'string' && reason !== ticketExpired) watchers.gone(session, reason);
          },
          signal,
        );
      } catch (error) {
        if (error instanceof AppError && error.code === 'not_found') watchers.gone(session, error.fact);
      }
      // It has no viewers any more, or is gone.
      if (signal.aborted || !watchers.panes().includes(session)) return;
      if (shown) failures = 0;
      if (shown && deps.clock.monotonic() - began >= steadyMs) continue;
      failures += 1;
      const ms = backoffMs[Math.min(failures, backoffMs.length) - 1] ?? 0;
      await new Promise<void>((resolve) => {
        const cancel = timers.after(ms, resolve);
        signal.addEventListener(
          'abort',
          () => {
            cancel();
            resolve();
          },
          { once: true },
        );
      });
    }
  };

  return {
    engine: () => ({ running: true, error: null }),
    listen: () => () => {},
    know(session, { computerId, address }) {
      if (!panes.has(session)) panes.set(session, { computerId, address, last: null, size: null, stream: null });
    },
    forget(session, reason) {
      panes.get(session)?.stream?.abort();
      panes.delete(session);
      watchers.gone(session, reason);
    },
    watch(session, watcher) {
      const pane = paneOf(session);
      const { start, remove } = watchers.add(session, watcher);
      if (start) {
        pane.stream?.abort();
        pane.stream = new AbortController();
        // The last screen, until the stream brings the current one.
        if (pane.last !== null) watchers.screen(session, pane.last);
        void follow(session, pane, pane.stream.signal);
      }
      return () => {
        if (remove().stop) pane.stream?.abort();
      };
    },
    async screen(session) {
      const pane = paneOf(session);
      try {
        return saw(pane, await read(pane, `screen?${query(pane)}`, AnyScreen));
      } catch (error) {
        if (error instanceof AppError && error.code === 'transport' && pane.last !== null) return pane.last;
        throw error;
      }
    },
    async capture(session, lines) {
      const pane = paneOf(session);
      const shape = PeerCapture.extend({ at: z.string().optional() });
      const { text, at } = await read(pane, `capture?${query(pane, { lines })}`, shape);
      return { text, at: at ?? iso(deps.clock.now()) };
    },
    scrollback(session, before, lines) {
      const pane = paneOf(session);
      return read(pane, `scrollback?${query(pane, { before, lines })}`, AnyScrollback);
    },
    transcript(session, cursor) {
      const pane = paneOf(session);
      return read(pane, `transcript?${query(pane, { cursor })}`, Transcript);
    },
    async resize(session, size) {
      const pane = paneOf(session);
      const answer = await calls.call(pane.computerId, {
        method: 'POST',
        path: 'size',
        body: { to: pane.address, ...size },
      });
      const parsed = Sized.safeParse(answer.body);
      if (answer.status !== 200 || !parsed.success) throw peerFault(answer);
      pane.size = { cols: parsed.data.cols, rows: parsed.data.rows };
    },
    sizeOf: (session) => panes.get(session)?.size ?? null,
    close() {
      for (const pane of panes.values()) pane.stream?.abort();
    },
  };
}
