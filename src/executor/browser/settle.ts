/** After an action: what it set off has begun, and a page that it led to can be used. Must not know members. */
import type { Session } from './session.ts';
import type { Tab } from './tab.ts';

/** Milliseconds for a page that an action led to; a slower one can be waited for. */
const nextPageMs = 5000;
/** For a page that is busy with what it was told. */
const busyMs = 1000;

/**
 * Comes back after whatever the action set off was told. No timer in the page: after input it would wait for the next picture (measured:
 * 16 ms), and forms and links tell of a navigation when they schedule it.
 */
const nothing = { expression: '0' } as const;

export async function settle(session: Session, tab: Tab, signal: AbortSignal): Promise<void> {
  if (!tab.page.isClosed() && session.gone() === null) {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((done) => {
      timer = setTimeout(done, busyMs);
    });
    // A page that goes away meanwhile ends it with an error, which is an answer too.
    const begun = tab.cdp.send('Runtime.evaluate', nothing).then(
      () => {},
      () => {},
    );
    await Promise.race([begun, late]);
    clearTimeout(timer);
  }
  await tab.settled(nextPageMs, signal);
  await session.windowsOpened(signal);
}
