/**
 * Updates of the installed app. Off until a feed is set, and in every build that is not an installer's. Downloads start
 * automatically; an update is installed only when the person says so and nothing runs. The states and their transitions
 * are one table.
 */
import type { UpdateState } from '../contracts/desktop/channels.ts';

export type UpdateEvent =
  | { readonly name: 'check' }
  | { readonly name: 'none'; readonly at: string }
  | { readonly name: 'found'; readonly version: string }
  | { readonly name: 'progress'; readonly percent: number }
  | { readonly name: 'fetched'; readonly version: string }
  | { readonly name: 'failed'; readonly why: string }
  | { readonly name: 'install' }
  | { readonly name: 'wait'; readonly why: string };

type Next<K extends UpdateState['kind']> = {
  readonly [N in UpdateEvent['name']]?: (
    state: Extract<UpdateState, { kind: K }>,
    event: Extract<UpdateEvent, { name: N }>,
  ) => UpdateState;
};

const checking = (): UpdateState => ({ kind: 'checking' });
const failed = (_state: UpdateState, { why }: { why: string }): UpdateState => ({ kind: 'failed', why });

/** An event that is not in the row of a state changes nothing. */
export const updateStates: { readonly [K in UpdateState['kind']]: Next<K> } = {
  off: {},
  current: { check: checking },
  checking: {
    none: (_state, { at }) => ({ kind: 'current', checkedAt: at }),
    found: (_state, { version }) => ({ kind: 'downloading', version, percent: 0 }),
    failed,
  },
  downloading: {
    progress: (state, { percent }) => ({ ...state, percent: Math.max(0, Math.min(100, Math.round(percent))) }),
    fetched: (_state, { version }) => ({ kind: 'ready', version, waits: null }),
    failed,
  },
  ready: {
    wait: (state, { why }) => ({ ...state, waits: why }),
    install: ({ version }) => ({ kind: 'installing', version }),
  },
  installing: { failed },
  failed: { check: checking },
};

export function nextUpdateState(state: UpdateState, event: UpdateEvent): UpdateState {
  const next = (
    updateStates[state.kind] as Record<string, undefined | ((s: UpdateState, e: UpdateEvent) => UpdateState)>
  )[event.name];
  return next === undefined ? state : next(state, event);
}

/** What of electron-updater is used. */
export interface Updater {
  autoDownload: boolean;
  autoInstallOnAppQuit: boolean;
  setFeedURL(feed: { provider: 'generic'; url: string }): void;
  /** Null where it can do nothing: then no event comes. */
  checkForUpdates(): Promise<unknown>;
  quitAndInstall(): void;
  on(event: 'update-available' | 'update-downloaded', listener: (info: { version: string }) => void): unknown;
  on(event: 'update-not-available', listener: () => void): unknown;
  on(event: 'download-progress', listener: (progress: { percent: number }) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
}

interface UpdatesDeps {
  readonly packaged: boolean;
  /** `GANTRY_UPDATE_FEED`: where new versions lie. */
  readonly feed: string | undefined;
  /** Loaded only where it is used. */
  readonly load: () => Promise<Updater>;
  /** What runs and must not be cut off, in words; null: nothing. */
  readonly busy: () => Promise<string | null>;
  readonly now: () => string;
  readonly every: (ms: number, task: () => void) => () => void;
  readonly changed: (state: UpdateState) => void;
  readonly onFault: (fault: unknown) => void;
  /** Everything is closed first: the installer ends this process. */
  readonly beforeInstall: () => Promise<void>;
}

interface Updates {
  state(): UpdateState;
  check(): Promise<void>;
  install(): Promise<void>;
  close(): void;
}

export const updateEveryMs = 4 * 60 * 60_000;

export function createUpdates(deps: UpdatesDeps): Updates {
  const why = reasonOff(deps);
  let state: UpdateState = why === null ? { kind: 'current', checkedAt: null } : { kind: 'off', why };
  let loading: Promise<Updater> | null = null;
  const forget = why === null ? deps.every(updateEveryMs, () => void check()) : () => {};

  function see(event: UpdateEvent): void {
    const next = nextUpdateState(state, event);
    if (next === state) return;
    state = next;
    deps.changed(state);
  }
  function fail(fault: unknown): void {
    deps.onFault(fault);
    see({ name: 'failed', why: fault instanceof Error ? (fault.message.split('\n')[0] ?? '') : String(fault) });
  }
  async function open(): Promise<Updater> {
    const updater = await deps.load();
    updater.autoDownload = true;
    // Only the person installs, and only when nothing runs: an end of the app is neither.
    updater.autoInstallOnAppQuit = false;
    updater.setFeedURL({ provider: 'generic', url: deps.feed ?? '' });
    updater.on('update-available', ({ version }) => see({ name: 'found', version }));
    updater.on('update-not-available', () => see({ name: 'none', at: deps.now() }));
    updater.on('download-progress', ({ percent }) => see({ name: 'progress', percent }));
    updater.on('update-downloaded', ({ version }) => see({ name: 'fetched', version }));
    updater.on('error', fail);
    return updater;
  }
  async function check(): Promise<void> {
    if (updateStates[state.kind].check === undefined) return;
    see({ name: 'check' });
    try {
      loading ??= open();
      const answer = await (await loading).checkForUpdates();
      if (answer === null) throw new Error('This installation cannot update itself: install new versions by hand.');
    } catch (fault) {
      loading = null;
      fail(fault);
    }
  }

  return {
    state: () => state,
    check,
    async install() {
      if (state.kind !== 'ready' || loading === null) return;
      const running = await deps.busy();
      if (running !== null) return see({ name: 'wait', why: running });
      const updater = await loading;
      see({ name: 'install' });
      try {
        await deps.beforeInstall();
        updater.quitAndInstall();
      } catch (fault) {
        fail(fault);
      }
    },
    close: forget,
  };
}

function reasonOff({ packaged, feed }: Pick<UpdatesDeps, 'packaged' | 'feed'>): string | null {
  if (!packaged) return 'This app runs from source: update the source.';
  if (feed === undefined || feed === '') return 'No update feed is set (GANTRY_UPDATE_FEED).';
  if (URL.canParse(feed) && new URL(feed).protocol === 'https:') return null;
  return `The update feed is not an https address: ${feed}`;
}
