/** Panes as their viewers see them, wherever they are. */
import type { PaneSize } from '../../contracts/factory/agent.ts';
import type { PaneEngine } from './pane-engine.ts';

/** The part of the pane interface that viewers need; the rest belongs to the starter of bots. */
export type PaneView = Pick<
  PaneEngine,
  'engine' | 'listen' | 'watch' | 'screen' | 'capture' | 'scrollback' | 'resize'
> & {
  /** Null while it is not known. */
  sizeOf(id: string): PaneSize | null;
};
