/** How every page is looked at, and the pictures of the documentation, written only when GANTRY_PICTURES=1. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { axe, type Locator, type Page, themeOf } from './browser.ts';
import { root } from './renderer.ts';

/** Those that the documentation shows; the others are for looking at. */
const shown = new Set([
  'always-allow-dark',
  'board-dark',
  'board-question-dark',
  'dag-dark',
  'budget-inbox-light',
  'computers-create-dark',
  'computers-form-dark',
  'computers-nodes-dark',
  'computers-pool-dark',
  'computers-light',
  'computers-live-dark',
  'computers-replay-light',
  'concepts-dark',
  'connectors-390',
  'connectors-app-dark',
  'connectors-rule-dark',
  'connectors-run-light',
  'connectors-service-dark',
  'connectors-trail-dark',
  'desktop-settings-dark',
  'diff-comments-dark',
  'diff-path-light',
  'floor-390',
  'floor-computers-dark',
  'floor-dark',
  'floor-light',
  'home-budget-dark',
  'home-dark',
  'inbox-390',
  'inbox-light',
  'node-light',
  'notifications-dark',
  'phone-dark',
  'phone-handsets-light',
  'phone-port-refused-dark',
  'queue-dark',
  'sandbox-asked-light',
  'schedules-dark',
  'stalled-step-dark',
  'tools-dark',
  'tools-tool-light',
  'trust-review-dark',
  'trust-review-light',
  'usage-light',
]);
const write = process.env.GANTRY_PICTURES === '1';

/** What is narrow is laid out anew; what is light differs from what is dark in its colours only. */
export const wide = { name: 'wide', width: 1440, height: 900 } as const;
export const narrow = { name: 'narrow', width: 390, height: 844 } as const;

/**
 * What the page shows now, dark and light: one first heading, nothing wider than the window, nothing that axe finds. In light only what
 * colours decide; in a narrow window nothing, unless a page has colours of its own there. Without `light`: its colours are on others, too.
 */
export async function looked(page: Page, name: string, options: { light?: boolean } = {}): Promise<void> {
  const isNarrow = page.viewportSize()?.width === narrow.width;
  // A window that has just become narrow is laid out anew a moment later.
  await expect.poll(() => page.locator('h1').count(), { message: name }).toBe(1);
  await expect.poll(() => standsOut(page), { message: name }).toEqual([]);
  expect(await axe(page), name).toEqual([]);
  await picture(page, `${name}-${isNarrow ? '390' : 'dark'}`);
  if (!(options.light ?? !isNarrow)) return;
  await light(page, async () => {
    expect(await axe(page, 'colours'), `${name} in light`).toEqual([]);
    await picture(page, `${name}-${isNarrow ? '390-light' : 'light'}`);
  });
}

/** The page follows the computer to light, and back. */
async function light(page: Page, work: () => Promise<void>): Promise<void> {
  await page.emulateMedia({ colorScheme: 'light' });
  await expect.poll(() => themeOf(page)).toBe('light');
  await work();
  await page.emulateMedia({ colorScheme: 'dark' });
  await expect.poll(() => themeOf(page)).toBe('dark');
}

/** A test run does not change the tree. */
export async function picture(page: Page, name: string): Promise<void> {
  if (!write) return;
  const folder = shown.has(name) ? join(root, 'docs', 'images') : join(root, 'test-output');
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`), animations: 'disabled' });
}

/** A picture with a number at each of these places, for a page of the docs that explains them. */
export async function numbered(page: Page, name: string, places: readonly Locator[]): Promise<void> {
  const boxes = await Promise.all(places.map((place) => place.boundingBox()));
  expect(boxes.flatMap((box, index) => (box === null ? [index + 1] : []))).toEqual([]);
  await page.evaluate((corners) => {
    for (const [index, corner] of corners.entries()) {
      const mark = document.createElement('b');
      mark.textContent = String(index + 1);
      mark.dataset.number = '';
      const size = 22;
      Object.assign(mark.style, {
        position: 'fixed',
        zIndex: '1000',
        left: `${Math.max(2, (corner?.x ?? 0) - size / 2)}px`,
        top: `${Math.max(2, (corner?.y ?? 0) - size / 2)}px`,
        width: `${size}px`,
        font: `600 13px/${size}px "Inter Variable", sans-serif`,
        textAlign: 'center',
        color: '#101215',
        background: '#ffffff',
        borderRadius: '50%',
        boxShadow: '0 0 0 3px #101215',
      });
      document.body.append(mark);
    }
  }, boxes);
  await picture(page, name);
  await page.evaluate(() => {
    for (const mark of document.querySelectorAll('[data-number]')) mark.remove();
  });
}

/**
 * What makes the page larger than its window: nothing should. What is below it is not seen to scroll, but a focus there moves the whole
 * page up.
 */
export function standsOut(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const { scrollWidth, scrollHeight } = document.documentElement;
    const right = scrollWidth > window.innerWidth ? window.innerWidth + 1 : Number.POSITIVE_INFINITY;
    const below = scrollHeight > window.innerHeight ? window.innerHeight + 1 : Number.POSITIVE_INFINITY;
    const scrolled = (element: Element) => {
      const { position } = getComputedStyle(element);
      const box = position === 'absolute' ? (element as HTMLElement).offsetParent : element.parentElement;
      return box?.closest('[class*="overflow"]') !== null;
    };
    return [...document.querySelectorAll('body *')]
      .filter((element) => {
        const box = element.getBoundingClientRect();
        return box.right > right || (box.bottom > below && !scrolled(element));
      })
      .map((element) => element.outerHTML.slice(0, 120));
  });
}
