/** The error while the pane engine is unreadable: a pane's state is unknown then. */
import { AppError } from '../../contracts/common/errors.ts';
import type { PaneEngine } from './pane-engine.ts';

type Readable = Pick<PaneEngine, 'engine'>;

/** Why it cannot be read, as a sentence without its full stop; null while it can. */
export function unreadable(panes: Readable): string | null {
  const engine = panes.engine();
  return engine.running ? null : (engine.error ?? 'The panes cannot be read').replace(/\.$/, '');
}

/** `transport` while it cannot be read. */
export function refuseUnreadable(panes: Readable): void {
  const why = unreadable(panes);
  if (why === null) return;
  throw new AppError('transport', `${why}.`, 'Try again in a moment; `gantry doctor` says more.');
}
