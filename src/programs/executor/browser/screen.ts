/** Pictures of a tab, scaled once by the browser while it takes them, and their size. Must not know members. */
import { pictureSize, type Size, screenOf, toScreen } from '../../../contracts/computer-use/frame.ts';
import type { Screen } from '../../../contracts/computer-use/toolset.ts';
import type { Acted } from '../protocol.ts';
import { viewport } from './launch.ts';
import type { Tab } from './tab.ts';

export interface Picture {
  readonly bytes: Buffer;
  readonly image: NonNullable<Acted['image']>;
}

/** Letters stay sharp, and a picture is a third of a PNG's size. */
const quality = 85;

/** What is seen of the page, in CSS pixels. Asked of the browser only where a person can change it. */
export async function screenOfTab(tab: Tab, headless: boolean): Promise<Screen> {
  if (headless) return screenOf(viewport);
  const { cssVisualViewport, cssLayoutViewport } = await tab.cdp.send('Page.getLayoutMetrics');
  return screenOf({
    width: Math.max(1, Math.round(cssVisualViewport.clientWidth || cssLayoutViewport.clientWidth)),
    height: Math.max(1, Math.round(cssVisualViewport.clientHeight || cssLayoutViewport.clientHeight)),
  });
}

export async function capture(tab: Tab, screen: Screen): Promise<Picture> {
  const size = { width: screen.frame_width, height: screen.frame_height };
  const whole = { x: 0, y: 0, width: screen.width, height: screen.height };
  return shoot(tab, whole, size, 'jpeg', screen.scale === 1);
}

/** A part of the frame, as large as a picture may be. Small parts are PNG: they are looked at closely. */
export async function captureRegion(
  tab: Tab,
  screen: Screen,
  [x0, y0, x1, y1]: readonly [number, number, number, number],
): Promise<Picture> {
  const from = toScreen(screen, { x: Math.min(x0, x1), y: Math.min(y0, y1) });
  const width = Math.max(1, Math.round(Math.abs(x1 - x0) * screen.scale));
  const height = Math.max(1, Math.round(Math.abs(y1 - y0) * screen.scale));
  return shoot(tab, { ...from, width, height }, pictureSize({ width, height }, true), 'png', false);
}

async function shoot(
  tab: Tab,
  part: Size & { readonly x: number; readonly y: number },
  size: Size,
  format: 'jpeg' | 'png',
  asItIs: boolean,
): Promise<Picture> {
  // A part is of the document: where the page is scrolled to has to be added.
  const { cssVisualViewport: view } = asItIs
    ? { cssVisualViewport: { pageX: 0, pageY: 0 } }
    : await tab.cdp.send('Page.getLayoutMetrics');
  const { data } = await tab.cdp.send('Page.captureScreenshot', {
    format,
    ...(format === 'jpeg' ? { quality } : {}),
    optimizeForSpeed: true,
    ...(asItIs
      ? {}
      : {
          clip: {
            x: view.pageX + part.x,
            y: view.pageY + part.y,
            width: part.width,
            height: part.height,
            scale: size.width / part.width,
          },
        }),
  });
  return { bytes: Buffer.from(data, 'base64'), image: { media_type: `image/${format}`, ...size } };
}
