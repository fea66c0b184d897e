/** Follows links to Gantry, from the command line and the system; while Gantry starts, the last one waits. Must not know what pages show. */
import { newRunPage, readDeepLink, readNewRun } from './deep-links.ts';
import type { Feed } from './feed.ts';
import type { Windows } from './windows.ts';

export function createLinks({
  first,
  windows,
  isOpening,
  feed,
  warn,
}: {
  readonly first: string | null;
  readonly windows: Pick<Windows, 'lead' | 'show'>;
  readonly isOpening: () => boolean;
  readonly feed: () => Pick<Feed, 'usedRepository'> | null;
  readonly warn: (message: string, facts: Readonly<Record<string, unknown>>) => void;
}) {
  let waiting = first;

  return { follow, followWaiting };

  /** Links only show something: what is no link of ours is written down, and Gantry shows itself. */
  function follow(link: string | null): void {
    if (isOpening()) {
      waiting = link ?? waiting;
      return;
    }
    const newRun = link === null ? null : readNewRun(link);
    if (newRun !== null) {
      const known = newRun.repository === null ? undefined : feed()?.usedRepository(newRun.repository);
      void Promise.resolve(known).then((isKnown) => windows.lead(newRunPage(newRun, isKnown === true)));
      return;
    }
    const to = link === null ? null : readDeepLink(link);
    if (link !== null && to === null) warn('A link was refused.', { link: link.slice(0, 200) });
    if (to === null) windows.show();
    else windows.lead(to);
  }

  function followWaiting(): boolean {
    const link = waiting;
    waiting = null;
    if (link !== null) follow(link);
    return link !== null;
  }
}
