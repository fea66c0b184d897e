/** Where a member of the `browser` toolset acts, and the deadline it must meet. */
import type { Point } from '../../../contracts/computer-use/frame.ts';
import type { Screen } from '../../../contracts/computer-use/toolset.ts';
import type { Session } from './session.ts';
import type { Tab } from './tab.ts';

export interface At {
  readonly session: Session;
  readonly tab: Tab;
  readonly screen: Screen;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  /** Tells where the pointer is now; of the page. */
  readonly pointed: (point: Point) => void;
}
