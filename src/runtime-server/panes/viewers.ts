/**
 * Who looks at panes: watchers of screens and readers of streams. They are shown again when the host is back, and wait while a closed pane may live again.
 * Must not know which panes there are.
 */
import { AppError } from '../../contracts/common/errors.ts';
import type { Event } from '../../programs/pane-host/protocol.ts';
import type { HostLink } from './host-link.ts';
import type { PaneEngine } from './pane-engine.ts';
import { createStreams } from './streams.ts';
import { createWatchers } from './watchers.ts';

export function createViewers({
  link,
  onError,
}: {
  readonly link: Pick<HostLink, 'ask' | 'askQuietly' | 'isOpen'>;
  /** A viewer threw. */
  readonly onError: (error: unknown) => void;
}) {
  const { ask } = link;
  const watchers = createWatchers(onError);
  const streams = createStreams();
  /** Closed panes that may live again, by how many wait for it. */
  const held = new Map<string, number>();

  function show(of: (pane: string) => boolean): void {
    for (const pane of watchers.panes()) if (of(pane)) startWatch(pane);
    for (const stream of streams.all()) if (of(stream.pane)) startStream(stream.number, stream.pane, stream.from);
  }

  function startWatch(pane: string): void {
    ask({ op: 'watch', pane }).catch((error) => {
      // A host that cannot be reached is asked again when it is back; a pane that is not live stays gone.
      if (error instanceof AppError && error.code !== 'transport') watchers.gone(pane, error.fact);
    });
  }
  function startStream(stream: number, pane: string, from: number | 'snapshot'): void {
    ask({ op: 'attach', stream, pane, from }).catch((error) => {
      if (error instanceof AppError && error.code !== 'transport') streams.fail(stream, error.fact);
    });
  }

  return {
    /** The host is back. */
    showAgain: () => show((pane) => !held.has(pane)),
    /** How far a pane's bytes were read here. */
    seenOf: (id: string) =>
      Math.max(0, ...streams.all().map(({ pane, from }) => (pane === id ? Number(from) || 0 : 0))),
    event(event: Exclude<Event, { readonly ev: 'created' | 'facts' | 'osc' | 'exit' }>, tail: Uint8Array): void {
      if (event.ev === 'screen') watchers.screen(event.pane, { ansi: text(tail), ...event.screen });
      else if (event.ev === 'gone') watchers.gone(event.pane, event.reason);
      else streams.event(event, tail);
    },
    hold(id: string) {
      held.set(id, (held.get(id) ?? 0) + 1);
      let done = false;
      return () => {
        if (done) return;
        done = true;
        const left = (held.get(id) ?? 1) - 1;
        if (left > 0) held.set(id, left);
        else held.delete(id);
        if (left === 0 && link.isOpen()) show((pane) => pane === id);
      };
    },
    watch(id: string, watcher: Parameters<PaneEngine['watch']>[1]) {
      const { start, remove } = watchers.add(id, watcher);
      if (start) startWatch(id);
      return () => {
        if (remove().stop) link.askQuietly({ op: 'unwatch', pane: id });
      };
    },
    attach(...[id, from, reader]: Parameters<PaneEngine['attach']>) {
      const { number } = streams.open(id, from, reader);
      startStream(number, id, from);
      return () => {
        if (streams.close(number)) link.askQuietly({ op: 'detach', stream: number });
      };
    },
  };
}

/** Bytes of a host's answer as text. */
export function text(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}
