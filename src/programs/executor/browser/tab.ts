/** One tab: what it shows, whether it is navigating, what it logged and requested. Must not know its neighbours or members. */
import type { CDPSession, ConsoleMessage, Page, Request } from 'playwright-core';
import { directOf, type Send } from './direct.ts';
import type { Refs } from './refs.ts';

export interface Tab {
  readonly id: string;
  readonly page: Page;
  /** Resolves when {@link Tab.cdp} is there. */
  readonly ready: Promise<void>;
  readonly cdp: CDPSession;
  /** As `cdp.send`, for what is done so often that the library's way counts. */
  readonly direct: Send;
  /** A button of the mouse is held down on it from one call to the next. */
  pressed: boolean;
  readonly refs: Refs;
  title: string;
  /** Lines for the next reader; the oldest are dropped first. */
  readonly console: string[];
  readonly network: string[];
  /** Resolves when the page that it is on its way to can be used, or after `ms`. */
  settled(ms: number, signal: AbortSignal): Promise<void>;
  logged(message: ConsoleMessage): void;
  asked(request: Request, outcome: string): void;
  closed(): void;
}

interface TabDeps {
  readonly refs: Refs;
  /** The page opens another one: it comes a moment later. */
  readonly onWindow: () => void;
  readonly onDownload: (guid: string, url: string) => void;
  /** The document is another one, or its title or address is. */
  readonly onChange: () => void;
}

const maxLines = 1000;
const maxLineLength = 2000;

export function createTab(id: string, page: Page, { refs, onWindow, onDownload, onChange }: TabDeps): Tab {
  let session: CDPSession | null = null;
  let direct: Send | null = null;
  let moving = false;
  let loading = false;
  const waiting = new Set<() => void>();
  const arrived = (): void => {
    moving = false;
    loading = false;
    for (const wake of waiting) wake();
    waiting.clear();
  };
  const keep = (lines: string[], line: string): void => {
    lines.push(line.length > maxLineLength ? `${line.slice(0, maxLineLength)}…` : line);
    if (lines.length > maxLines) lines.shift();
  };

  async function attach(): Promise<void> {
    session = await page.context().newCDPSession(page);
    direct = directOf(session);
    const { frameTree } = await session.send('Page.getFrameTree');
    const main = frameTree.frame.id;
    session.on('Page.frameRequestedNavigation', ({ frameId, disposition }) => {
      if (frameId !== main || disposition !== 'currentTab') return;
      moving = true;
      loading = true;
    });
    session.on('Page.frameScheduledNavigation', ({ frameId, delay }) => {
      // One that is to come later, such as a refresh, is nothing to wait for.
      if (frameId === main && delay < 1) moving = true;
    });
    session.on('Page.frameClearedScheduledNavigation', ({ frameId }) => {
      if (frameId === main && !loading) arrived();
    });
    session.on('Page.frameStartedLoading', ({ frameId }) => {
      if (frameId !== main) return;
      moving = true;
      loading = true;
    });
    session.on('Page.frameNavigated', ({ frame }) => {
      // Another document: elements of the last one are gone. A change of only the address keeps them.
      if (frame.parentId === undefined) refs.forget('all');
    });
    session.on('Page.domContentEventFired', arrived);
    session.on('Page.frameStoppedLoading', ({ frameId }) => {
      if (frameId === main) arrived();
    });
    session.on('Page.windowOpen', onWindow);
    session.on('Page.downloadWillBegin', ({ guid, url }) => onDownload(guid, url));
    await session.send('Page.enable');
    tab.title = await page.title().catch(() => '');
  }

  const tab: Tab = {
    id,
    page,
    refs,
    title: '',
    console: [],
    network: [],
    ready: attach(),
    get cdp() {
      if (session === null) throw new Error('The tab is not ready.');
      return session;
    },
    get direct() {
      if (direct === null) throw new Error('The tab is not ready.');
      return direct;
    },
    pressed: false,
    async settled(ms, signal) {
      if (!moving || signal.aborted) return;
      await new Promise<void>((done) => {
        const timer = setTimeout(end, ms);
        function end(): void {
          clearTimeout(timer);
          waiting.delete(end);
          signal.removeEventListener('abort', end);
          done();
        }
        waiting.add(end);
        signal.addEventListener('abort', end, { once: true });
      });
    },
    logged(message) {
      const { url, lineNumber } = message.location();
      const at = url === '' ? '' : ` (${url}:${lineNumber + 1})`;
      keep(tab.console, `[${message.type()}] ${message.text()}${at}`);
    },
    asked: (request, outcome) =>
      keep(tab.network, `${request.method()} ${outcome} ${request.resourceType()} ${request.url()}`),
    closed: arrived,
  };
  // Actions on the tab report it; a tab that closes at once is nobody's fault.
  tab.ready.catch(() => {});
  const retitle = (): void => {
    page.title().then(
      (title) => {
        tab.title = title;
        onChange();
      },
      () => {},
    );
  };
  page.on('domcontentloaded', retitle);
  page.on('load', retitle);
  page.on('framenavigated', (frame) => {
    if (frame === page.mainFrame()) onChange();
    else refs.forget('frames');
  });
  page.on('pageerror', (error) => keep(tab.console, `[uncaught] ${error.message}`));
  return tab;
}
