/** The desktop where there is none that this program could use: every request says so. */
import { type Emit, type Hands, HandsFault } from '../hands.ts';

export interface DesktopDeps {
  readonly emit: Emit;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export function createDesktop(_deps: DesktopDeps): Hands {
  const none = () =>
    Promise.reject(
      new HandsFault('device', 'display_unavailable', 'This computer has no display that Gantry can use.'),
    );
  return { look: none, act: none, watch: none, record: none, close: () => Promise.resolve() };
}
