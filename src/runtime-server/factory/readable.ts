/** What to say while the pane engine cannot be read: nobody knows then what a pane does (interface.md C "Agent"). */
import { AppError } from '../../contracts/common/errors.ts';
import type { PaneEngine } from '../panes/pane-engine.ts';

type Readable = Pick<PaneEngine, 'engine'>;

/** Why it cannot be read, as the rest of a sentence; null while it can. */
export function unreadable(panes: Readable): string | null {
  const engine = panes.engine();
  return engine.running ? null : (engine.error ?? 'no reason is known').replace(/\.$/, '');
}

/** `transport` while it cannot be read. */
export function refuseUnreadable(panes: Readable): void {
  const why = unreadable(panes);
  if (why === null) return;
  throw new AppError(
    'transport',
    `The panes cannot be reached: ${why}.`,
    'Try again in a moment; `gantry doctor` says more.',
  );
}
