/** Waits after an action until its effects have begun and a page that it opened can be used. Must not know members. */
import type { Session } from './session.ts';
import type { Tab } from './tab.ts';

/** Milliseconds for a page that an action led to; a slower one can be waited for. */
const nextPageMs = 5000;
/** Time for a page that is busy with the action's effects. */
const busyMs = 1000;

/**
 * Comes back after whatever the action set off was told. No timer in the page: after input it would wait for the next picture (measured:
 * 16 ms), and forms and links tell of a navigation when they schedule it.
 */
const nothing = { expression: '0' } as const;

/** The wheel moves the page with its next picture; the one after that shows it moved. A tab that nobody sees draws none. */
const twoPictures = {
  expression: 'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))',
  awaitPromise: true,
} as const;

/** Resolves when the scroll's result can be read and seen: a position looked up earlier would be outdated. */
export async function scrolled(tab: Tab): Promise<void> {
  if (!tab.page.isClosed()) await within(busyMs, tab.cdp.send('Runtime.evaluate', twoPictures));
}

export async function settle(session: Session, tab: Tab, signal: AbortSignal): Promise<void> {
  if (!tab.page.isClosed() && session.gone() === null) {
    await within(busyMs, tab.direct('Runtime.evaluate', nothing));
  }
  await tab.settled(nextPageMs, signal);
  await session.windowsOpened(signal);
}

/** If the page goes away during this, the error counts as an answer. */
async function within(ms: number, told: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((done) => {
    timer = setTimeout(done, ms);
  });
  await Promise.race([
    told.then(
      () => {},
      () => {},
    ),
    late,
  ]);
  clearTimeout(timer);
}
