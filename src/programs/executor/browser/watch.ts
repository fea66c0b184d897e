/** Frames of a session's active tab, captured by the browser only when something changed. Must not know who watches. */
import { maxFrameEdge } from '../../../contracts/computer-use/frame.ts';
import type { Session } from './session.ts';
import type { Tab } from './tab.ts';

export interface Watching {
  /** 0 ends it. */
  set(fps: number): Promise<void>;
}

export type OnFrame = (frame: { readonly jpeg: Buffer; readonly width: number; readonly height: number }) => void;

const quality = 60;

/** Frames go to `onFrame`, at most so many a second. */
export function watchSession(session: Session, onFrame: OnFrame): Watching {
  let fps = 0;
  let current: Tab | null = null;
  let unlisten: (() => void) | null = null;
  let last = Number.NEGATIVE_INFINITY;
  const listened = new WeakSet<Tab>();

  async function start(tab: Tab): Promise<void> {
    await tab.ready;
    if (fps === 0 || current === tab) return;
    if (current !== null) await current.cdp.send('Page.stopScreencast').catch(() => {});
    current = tab;
    if (!listened.has(tab)) {
      listened.add(tab);
      tab.cdp.on('Page.screencastFrame', ({ data, sessionId, metadata }) => {
        // The browser makes the next one when this one was taken.
        const wait = Math.max(0, last + 1000 / Math.max(fps, 0.1) - performance.now());
        setTimeout(() => void tab.cdp.send('Page.screencastFrameAck', { sessionId }).catch(() => {}), wait);
        if (fps === 0 || current !== tab) return;
        last = performance.now() + wait;
        onFrame({
          jpeg: Buffer.from(data, 'base64'),
          width: Math.round(metadata.deviceWidth),
          height: Math.round(metadata.deviceHeight),
        });
      });
    }
    await tab.cdp.send('Page.startScreencast', {
      format: 'jpeg',
      quality,
      maxWidth: maxFrameEdge,
      maxHeight: maxFrameEdge,
    });
  }

  return {
    async set(wanted) {
      fps = wanted;
      if (fps === 0) {
        unlisten?.();
        unlisten = null;
        const tab = current;
        current = null;
        await tab?.cdp.send('Page.stopScreencast').catch(() => {});
        return;
      }
      unlisten ??= session.onActive((tab) => void start(tab).catch(() => {}));
      await start(await session.tab());
    },
  };
}
