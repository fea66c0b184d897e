/** A click at a place of a page. Must not know members. */
import type { Point } from '../../../contracts/computer-use/frame.ts';
import type { Tab } from './tab.ts';

export type Button = 'left' | 'right' | 'middle';

const maskOf = { left: 1, right: 2, middle: 4 } as const;
/** As the library presses: pages that ask for it take no force for no press. */
const pressed = 0.5;

/**
 * Clicks by the devtools protocol, unless something is held down, which the library tracks, or a trace is written, which records only what went
 * through the library.
 */
export async function clickAt(
  tab: Pick<Tab, 'page' | 'direct' | 'pressed'>,
  { x, y }: Point,
  { button, times, plain }: { readonly button: Button; readonly times: number; readonly plain: boolean },
): Promise<void> {
  if (!plain || tab.pressed) return tab.page.mouse.click(x, y, { button, clickCount: times });
  const at = { x, y, modifiers: 0 };
  // All at once: the browser keeps their order, and the page has seen them once the last is answered.
  const sent = [tab.direct('Input.dispatchMouseEvent', { ...at, type: 'mouseMoved', button: 'none', buttons: 0 })];
  for (let clickCount = 1; clickCount <= times; clickCount += 1) {
    sent.push(
      tab.direct('Input.dispatchMouseEvent', {
        ...at,
        type: 'mousePressed',
        button,
        buttons: maskOf[button],
        clickCount,
        force: pressed,
      }),
      tab.direct('Input.dispatchMouseEvent', { ...at, type: 'mouseReleased', button, buttons: 0, clickCount }),
    );
  }
  await Promise.all(sent);
}
