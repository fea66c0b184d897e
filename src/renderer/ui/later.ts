/**
 * Parts of the page that are loaded when they are needed. If one cannot be loaded, the app waits and retries, so that the screen and typed text stay:
 * a browser sent to an unreachable address would show its own error. Separate from page.tsx, because the first script waits for that file in the same
 * way. Must not know what the parts are.
 */

/** What a part is waited for: Gantry does not answer, or it is another build by now, whose parts have other names. */
export type Wait = 'away' | 'other';

interface LateParts {
  /** A loader that fails only where the part itself is broken. */
  later<T>(load: () => Promise<T>): () => Promise<T>;
  /** Null: nothing is waited for. */
  get(): Wait | null;
  subscribe(listener: () => void): () => void;
}

const firstPause = 1_000;
const maxPauseMs = 5_000;
/** Some browsers remember that a script could not be loaded and never ask again: then only a new document helps. */
const triesWhereAnswered = 3;

const styleFailed = /Unable to preload CSS for (\S+)/;
const notLoaded = /dynamically imported module|Importing a module script failed|Unable to preload CSS/i;

export function createLateParts({
  whoAnswers,
  mendStyle,
  sleep,
}: {
  /** Who answers at the address of this page. `same`: the build that this page is of. */
  whoAnswers(): Promise<'nobody' | 'same' | 'other'>;
  /** Loads a stylesheet that failed: the loader asks for each only once. */
  mendStyle(address: string): Promise<void>;
  sleep(ms: number): Promise<void>;
}): LateParts {
  const waits = new Map<symbol, Wait>();
  const listeners = new Set<() => void>();
  let wait: Wait | null = null;

  function note(part: symbol, why: Wait | null): void {
    if (why === null) waits.delete(part);
    else waits.set(part, why);
    const all = [...waits.values()];
    const now = all.includes('other') ? 'other' : (all[0] ?? null);
    if (now === wait) return;
    wait = now;
    for (const listener of listeners) listener();
  }

  async function loaded<T>(load: () => Promise<T>): Promise<T> {
    const part = Symbol('part');
    let style: string | undefined;
    let answered = 0;
    for (let pause = firstPause; ; pause = Math.min(2 * pause, maxPauseMs)) {
      try {
        if (style !== undefined) await mendStyle(style);
        const there = await load();
        note(part, null);
        return there;
      } catch (error) {
        const text = error instanceof Error ? error.message : String(error);
        if (!notLoaded.test(text)) {
          note(part, null);
          throw error;
        }
        style = styleFailed.exec(text)?.[1] ?? style;
        const who = await whoAnswers();
        if (who !== 'nobody') answered += 1;
        note(part, who === 'other' || answered >= triesWhereAnswered ? 'other' : 'away');
        await sleep(pause);
      }
    }
  }

  return {
    later: (load) => () => loaded(load),
    get: () => wait,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** The build of this page, as its document names it. */
const ownScript = (): string | undefined =>
  document.querySelector<HTMLScriptElement>('script[type="module"][src*="/assets/"]')?.getAttribute('src') ?? undefined;

export const lateParts = createLateParts({
  async whoAnswers() {
    try {
      const answer = await fetch('/index.html', { cache: 'no-store' });
      if (!answer.ok) return 'nobody';
      const own = ownScript();
      return own === undefined || (await answer.text()).includes(own) ? 'same' : 'other';
    } catch {
      return 'nobody';
    }
  },
  mendStyle(address) {
    return new Promise((resolve, reject) => {
      for (const old of document.querySelectorAll(`link[rel="stylesheet"][href="${CSS.escape(address)}"]`))
        old.remove();
      const link = document.createElement('link');
      link.rel = 'stylesheet';
      link.href = address;
      link.onload = () => resolve();
      link.onerror = () => reject(new Error(`Unable to preload CSS for ${address}`));
      document.head.append(link);
    });
  },
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
});

export const { later } = lateParts;
