/** One browser session: a profile, its tabs, their changes since the last report, and whether the browser is still running. Must not know members. */
import type { BrowserContext, Page } from 'playwright-core';
import type { BrowserState } from '../../../contracts/computer-use/toolset.ts';
import type { EgressProxy } from '../egress-proxy.ts';
import { HandsFault } from '../hands.ts';
import type { Fault } from '../protocol.ts';
import { createRefs } from './refs.ts';
import { createTab, type Tab } from './tab.ts';

export type StateChange = NonNullable<BrowserState['state_changes']>[number];

export interface Session {
  readonly id: string;
  readonly context: BrowserContext;
  readonly headless: boolean;
  /** A trace is written of it. */
  readonly traced: boolean;
  /** Null where another proxy was given. */
  readonly proxy: EgressProxy | null;
  readonly tabs: () => readonly Tab[];
  /** The active one where `id` is missing. Throws `tab_not_found`; `browser_crashed` once the browser is gone. */
  tab(id?: string): Promise<Tab>;
  isActive(tab: Tab): boolean;
  newTab(): Promise<Tab>;
  activate(tab: Tab): Promise<void>;
  /** A tab that a page opens becomes the active one, as in a browser. Resolves when pending tabs are there. */
  windowsOpened(signal: AbortSignal): Promise<void>;
  /** For the next result: `The page said: …`. */
  note(text: string): void;
  takeNotes(): readonly string[];
  changed(change: StateChange): void;
  /** Something happened that a result did not tell yet. */
  hasNews(): boolean;
  state(): BrowserState;
  /** Set once the browser is gone. */
  readonly gone: () => Fault | null;
  /** Aborts when the browser is gone, with what is answered then as its reason. */
  readonly ended: AbortSignal;
  onActive(listener: (tab: Tab) => void): () => void;
  /** The browser is gone or unusable: ends what is left of it. */
  fail(message: string): void;
  close(): Promise<void>;
}

interface SessionDeps {
  readonly id: string;
  readonly context: BrowserContext;
  readonly headless: boolean;
  readonly traced: boolean;
  readonly proxy: EgressProxy | null;
  readonly onDownload: (guid: string, url: string) => void;
  readonly onPage: (url: string, title: string) => void;
  readonly onGone: (fault: Fault) => void;
}

/** Milliseconds. */
const windowMs = 3000;
const closeMs = 2000;

export function createSession(deps: SessionDeps): Session {
  const { id, context, headless, traced, proxy, onDownload, onPage, onGone } = deps;
  const tabs: Tab[] = [];
  const notes: string[] = [];
  const changes: StateChange[] = [];
  const listeners = new Set<(tab: Tab) => void>();
  const windows = createArrivals();
  let active: Tab | null = null;
  let lastTab = 0;
  let lastRef = 0;
  let news = false;
  let closing = false;
  let gone: Fault | null = null;
  let told = '';
  const ended = new AbortController();

  function fail(message: string): void {
    if (gone !== null || closing) return;
    gone = { sort: 'device', code: 'browser_crashed', message };
    for (const tab of tabs) tab.closed();
    ended.abort(new HandsFault(gone.sort, gone.code, gone.message, true));
    onGone(gone);
    void session.close();
  }

  function tell(): void {
    const now = `${active?.page.url()} ${active?.title}`;
    if (active === null || now === told || gone !== null) return;
    told = now;
    news = true;
    onPage(active.page.url(), active.title);
  }

  function setActive(tab: Tab): void {
    active = tab;
    tell();
    for (const listener of listeners) listener(tab);
  }

  function adopt(page: Page): Tab {
    const known = tabs.find((one) => one.page === page);
    if (known !== undefined) return known;
    lastTab += 1;
    const refs = createRefs(page, () => {
      lastRef += 1;
      return lastRef;
    });
    const tab = createTab(`tab_${lastTab}`, page, {
      refs,
      onWindow: windows.expect,
      onDownload,
      onChange: tell,
    });
    tabs.push(tab);
    page.on('crash', () => fail('A page of the browser crashed.'));
    page.on('close', () => {
      tab.closed();
      tabs.splice(tabs.indexOf(tab), 1);
      news = true;
      const last = tabs.at(-1);
      if (active === tab && last !== undefined) setActive(last);
      else if (active === tab) active = null;
    });
    page.on('filechooser', () =>
      session.note('The page asks for a file. Use file_upload with the field or the button that asked.'),
    );
    return tab;
  }

  const tabOf = (page: Page | null): Tab | undefined => tabs.find((one) => one.page === page);

  context.on('page', (page) => {
    const tab = adopt(page);
    changes.push({ type: 'tab_opened', tab_id: tab.id, url: page.url() });
    setActive(tab);
    windows.arrived();
  });
  answerDialogs(context, (text) => session.note(text));
  logPages(context, tabOf);
  context.on('close', () => fail('The browser ended.'));

  const session: Session = {
    id,
    context,
    headless,
    traced,
    proxy,
    tabs: () => tabs,
    async tab(wanted) {
      if (gone !== null) throw new HandsFault(gone.sort, gone.code, gone.message);
      let tab = wanted === undefined ? active : tabs.find((one) => one.id === wanted);
      if (tab === undefined)
        throw new HandsFault(
          'page',
          'tab_not_found',
          `${wanted} is not an open tab. Open tabs: ${tabs.map((one) => one.id).join(', ')}.`,
        );
      // The last one was closed.
      tab ??= await session.newTab();
      await tab.ready;
      return tab;
    },
    isActive: (tab) => tab === active,
    async newTab() {
      const page = await context.newPage();
      const tab = adopt(page);
      // It was asked for: nothing to tell.
      const told = changes.findIndex((change) => change.tab_id === tab.id);
      if (told >= 0) changes.splice(told, 1);
      await tab.ready;
      setActive(tab);
      return tab;
    },
    async activate(tab) {
      await tab.page.bringToFront();
      setActive(tab);
    },
    async windowsOpened(signal) {
      if (await windows.wait(signal)) await active?.ready;
    },
    note: (text) => void notes.push(text),
    takeNotes: () => notes.splice(0),
    changed(change) {
      changes.push(change);
    },
    hasNews: () => news || changes.length > 0,
    state() {
      news = false;
      const told = changes.splice(0);
      return {
        tabs: tabs.map((tab) => ({
          tab_id: tab.id,
          title: tab.title,
          url: tab.page.url(),
          active: tab === active,
        })),
        ...(told.length === 0 ? {} : { state_changes: told }),
      };
    },
    gone: () => gone,
    ended: ended.signal,
    onActive(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    fail,
    async close() {
      closing = true;
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((done) => {
        timer = setTimeout(done, closeMs);
      });
      await Promise.race([context.close().catch(() => {}), late]);
      clearTimeout(timer);
      await proxy?.close();
    },
  };

  for (const page of context.pages()) adopt(page);
  active = tabs.at(-1) ?? null;
  return session;
}

/** Windows that a page has announced and that are not here yet. */
function createArrivals() {
  const waiting = new Set<() => void>();
  let coming = 0;
  return {
    expect(): void {
      coming += 1;
    },
    arrived(): void {
      coming = Math.max(0, coming - 1);
      for (const wake of waiting) wake();
    },
    /** Until one has arrived, at most {@link windowMs}. False: none was announced. */
    async wait(signal: AbortSignal): Promise<boolean> {
      if (coming === 0 || signal.aborted) return false;
      await new Promise<void>((done) => {
        const timer = setTimeout(end, windowMs);
        function end(): void {
          clearTimeout(timer);
          waiting.delete(end);
          signal.removeEventListener('abort', end);
          coming = 0;
          done();
        }
        waiting.add(end);
        signal.addEventListener('abort', end, { once: true });
      });
      return true;
    },
  };
}

/** A page that shows a dialog stands still until it is answered; nobody is there to do that. */
function answerDialogs(context: BrowserContext, note: (text: string) => void): void {
  context.on('dialog', (dialog) => {
    const kind = dialog.type();
    const accepted = kind === 'alert' || kind === 'beforeunload';
    const answered = accepted ? 'accepted' : 'dismissed';
    if (kind !== 'beforeunload')
      note(
        `The page showed a dialog (${kind}): ${JSON.stringify(dialog.message().slice(0, 1000))}. It was ${answered}.`,
      );
    (accepted ? dialog.accept() : dialog.dismiss()).catch(() => {});
  });
}

/** Each tab keeps the console lines and requests of its page. */
function logPages(context: BrowserContext, tabOf: (page: Page | null) => Tab | undefined): void {
  context.on('console', (message) => tabOf(message.page())?.logged(message));
  context.on('requestfinished', async (request) => {
    const status = (await request.response().catch(() => null))?.status() ?? 0;
    tabOf(pageOf(request))?.asked(request, String(status));
  });
  context.on('requestfailed', (request) =>
    tabOf(pageOf(request))?.asked(request, request.failure()?.errorText ?? 'failed'),
  );
}

function pageOf(request: { frame(): { page(): Page } }): Page | null {
  // A service worker's requests belong to no page.
  try {
    return request.frame().page();
  } catch {
    return null;
  }
}
