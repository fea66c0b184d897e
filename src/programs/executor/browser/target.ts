/**
 * Where on the page an element can really be clicked, and what lies at a place: through frames of any origin and open shadow roots.
 * Coordinates are of the page's viewport. Must not know members.
 */
import type { ElementHandle, Page } from 'playwright-core';
import type { Point } from '../../../contracts/computer-use/frame.ts';
import { HandsFault } from '../hands.ts';
import { type Described, describe, elementAt, focused, intoFrame, spotsOf, throughFrame } from './in-page.ts';
import type { Tab } from './tab.ts';

/** Milliseconds: what covers an element may be on its way out, and what moves comes to rest. */
const patienceMs = 1500;
const againMs = 50;

interface Aim {
  readonly point: Point;
  readonly disabled: boolean;
}

/**
 * A point of the element that nothing covers, scrolled into view where it has to be. Throws `element_covered` with what lies there,
 * `element_not_found` for what takes no room.
 */
export async function aimAt(element: ElementHandle<Element>, name: string, signal: AbortSignal): Promise<Aim> {
  const until = performance.now() + patienceMs;
  let scroll = false;
  let before: Point | null = null;
  for (;;) {
    signal.throwIfAborted();
    const spots = await element.evaluate(spotsOf, { scroll });
    const { point, covered } = await outward(element, spots.free, spots.covered);
    if (point !== null) {
      const rests = !spots.moving || (before !== null && near(before, point));
      if (rests || performance.now() > until) return { point, disabled: spots.disabled };
      before = point;
    } else if (scroll && performance.now() > until) {
      if (!spots.seen) throw new HandsFault('page', 'element_not_found', `${name} is hidden on the page now.`);
      throw new HandsFault(
        'page',
        'element_covered',
        `${name} cannot be reached: ${covered === null ? 'no part of it can be brought into view' : `${covered} covers it`}.`,
      );
    }
    // Scrolled once: a page that scrolls back would never come to rest.
    if (point === null && !scroll) scroll = true;
    else {
      scroll = point === null;
      await new Promise((done) => setTimeout(done, againMs));
    }
  }
}

/** From places in the element's frame to one of the page that nothing covers on the way. */
async function outward(
  element: ElementHandle<Element>,
  free: readonly (readonly [number, number])[],
  covered: string | null,
): Promise<{ point: Point | null; covered: string | null }> {
  let places = free;
  let over = covered;
  let frame = await element.ownerFrame();
  while (places.length > 0 && frame !== null && frame.parentFrame() !== null) {
    const holder = (await frame.frameElement()) as ElementHandle<Element>;
    const outer = await holder.evaluate(throughFrame, places);
    await holder.dispose();
    places = outer.free;
    over = outer.covered;
    frame = frame.parentFrame();
  }
  const [first] = places;
  return { point: first === undefined ? null : { x: first[0], y: first[1] }, covered: over };
}

interface Touched extends Described {
  readonly element: ElementHandle<Element>;
}

/** What has the focus or lies at a place, in one step; null where a frame has to be looked into. */
export async function atOnce({ cdp }: Tab, place: Point | 'focus'): Promise<Described | null> {
  const element = place === 'focus' ? `(${focused})()` : `(${elementAt})([${place.x}, ${place.y}])`;
  const { result } = await cdp.send('Runtime.evaluate', {
    expression: `(${describe})(${element})`,
    returnByValue: true,
  });
  const described = result.value as Described | undefined;
  return described === undefined || described.isFrame ? null : described;
}

/** What has the focus, in the innermost frame that has it. */
export async function focusOf(page: Page): Promise<Touched> {
  let element = await handleOf(page.evaluateHandle(focused));
  for (;;) {
    const described = await element.evaluate(describe);
    const frame = described.isFrame ? await element.contentFrame() : null;
    if (frame === null) return { ...described, element };
    element = await handleOf(frame.evaluateHandle(focused));
  }
}

export async function lyingAt(page: Page, { x, y }: Point): Promise<Touched> {
  let place: [number, number] = [x, y];
  let element = await handleOf(page.evaluateHandle(elementAt, place));
  for (;;) {
    const described = await element.evaluate(describe);
    const frame = described.isFrame ? await element.contentFrame() : null;
    if (frame === null) return { ...described, element };
    place = await element.evaluate(intoFrame, place);
    element = await handleOf(frame.evaluateHandle(elementAt, place));
  }
}

async function handleOf(coming: Promise<{ asElement(): ElementHandle | null }>): Promise<ElementHandle<Element>> {
  const element = (await coming).asElement();
  if (element === null) throw new HandsFault('page', 'element_not_found', 'The page has no element there.');
  return element as ElementHandle<Element>;
}

function near(one: Point, other: Point): boolean {
  return Math.abs(one.x - other.x) < 1 && Math.abs(one.y - other.y) < 1;
}
