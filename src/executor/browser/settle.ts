/** After an action: what it set off has begun, and a page that it led to can be used. Must not know members. */
import type { Session } from './session.ts';
import type { Tab } from './tab.ts';

/** Milliseconds for a page that an action led to; a slower one can be waited for. */
const nextPageMs = 5000;
/** For a page that is busy with what it was told. */
const busyMs = 1000;

/** What a page does in answer begins in tasks of its own, such as sending a form: one task later it has. */
const oneTask = { expression: 'new Promise((done) => setTimeout(done))', awaitPromise: true } as const;

export async function settle(session: Session, tab: Tab, signal: AbortSignal): Promise<void> {
  if (!tab.page.isClosed() && session.gone() === null) {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((done) => {
      timer = setTimeout(done, busyMs);
    });
    // A page that goes away meanwhile ends it with an error, which is an answer too.
    const begun = tab.cdp.send('Runtime.evaluate', oneTask).then(
      () => {},
      () => {},
    );
    await Promise.race([begun, late]);
    clearTimeout(timer);
  }
  await tab.settled(nextPageMs, signal);
  await session.windowsOpened(signal);
}
