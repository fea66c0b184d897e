/** The screens of one pane as an event stream. Must not know whose pane it is. */
import type { SseSink } from '../../kit/http/types.ts';
import type { PaneEngine } from './pane-engine.ts';
import { unreadable } from './readable.ts';

/** Screens until the viewer leaves, the pane closes or cannot be read; the last two end with one `gone`. */
export function streamScreens(
  panes: Pick<PaneEngine, 'engine' | 'listen' | 'watch'>,
  pane: string,
  sink: SseSink,
): Promise<void> {
  return new Promise((resolve) => {
    let over = false;
    const end = () => {
      over = true;
      stop();
      unlisten();
      resolve();
    };
    const gone = (reason: string) => {
      if (over) return;
      sink.send({ event: 'gone', data: { reason } });
      end();
      sink.close();
    };
    const unlisten = panes.listen({ onEngine: () => tellUnreadable() });
    const stop = panes.watch(pane, {
      async onScreen(screen) {
        if (!over && !sink.send({ event: 'screen', data: screen })) await sink.drained();
      },
      onGone: gone,
    });
    const tellUnreadable = () => {
      const why = unreadable(panes);
      if (why !== null) gone(why);
    };
    if (sink.signal.aborted) end();
    else sink.signal.addEventListener('abort', end, { once: true });
  });
}
