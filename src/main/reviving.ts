/** Decides how often a broken page is reloaded before its person sees a message, and the text they see. Pure except for its own memory. */
import { plainPage } from '../kit/http/plain-page.ts';

export const revivals = { max: 3, withinMs: 60_000 } as const;

/** Answers whether the page may be reloaded now. */
export function createReviving(now: () => number): () => boolean {
  let tries: number[] = [];
  return () => {
    const from = now() - revivals.withinMs;
    tries = tries.filter((at) => at > from);
    if (tries.length >= revivals.max) return false;
    tries.push(now());
    return true;
  };
}

/** Caught before it is gone to: the one thing that such a page can ask for. Nothing answers there. */
export const againAddress = 'https://again.gantry.invalid/';

export interface Fault {
  readonly title: string;
  readonly fact: string;
  readonly action: string;
}

/** A page without scripts that needs no server. */
export function faultPage({ title, fact, action }: Fault): string {
  const html = plainPage(title, [fact, action], { href: againAddress, text: 'Try again' });
  return `data:text/html;charset=utf-8,${encodeURIComponent(html)}`;
}

/** `reason` as Electron words it. */
export function pageGone(reason: string, logs: string): Fault {
  const why =
    reason === 'oom'
      ? 'It ran out of memory'
      : reason === 'killed'
        ? 'Its process was killed'
        : `Its process ended (${reason})`;
  return {
    title: 'This window stopped',
    fact: `${why}, ${revivals.max} times within a minute. Your bots and their panes keep running; nothing is lost.`,
    action: `See the log: \`${logs}\`.`,
  };
}
