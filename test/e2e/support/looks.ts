/** The looks every page is seen in, and the pictures of the documentation, written only when GANTRY_PICTURES=1. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from './browser.ts';
import { root } from './renderer.ts';

/** Those that the documentation shows; the others are for looking at. */
const shown = new Set([
  'board-dark',
  'dag-dark',
  'computers-light',
  'floor-390',
  'floor-computers-dark',
  'floor-dark',
  'floor-light',
  'home-dark',
  'inbox-390',
  'inbox-light',
  'node-light',
  'notifications-dark',
  'queue-dark',
]);
const write = process.env.GANTRY_PICTURES === '1';

export const looks = [
  { name: 'dark', scheme: 'dark', width: 1440, height: 900 },
  { name: 'light', scheme: 'light', width: 1440, height: 900 },
  { name: '390', scheme: 'dark', width: 390, height: 844 },
  { name: '390-light', scheme: 'light', width: 390, height: 844, short: true },
] as const;

/** A test run does not change the tree. */
export async function picture(page: Page, name: string): Promise<void> {
  if (!write) return;
  const folder = shown.has(name) ? join(root, 'docs', 'images') : join(root, 'test-output');
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`), animations: 'disabled' });
}

/** What makes the page wider than its window: nothing should. */
export function tooWide(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    if (document.documentElement.scrollWidth <= window.innerWidth) return [];
    return [...document.querySelectorAll('body *')]
      .filter((element) => element.getBoundingClientRect().right > window.innerWidth + 1)
      .map((element) => element.outerHTML.slice(0, 120));
  });
}
