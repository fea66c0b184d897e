/**
 * Names for elements of one tab, for readers of its pages: `ref_1`, `ref_2`, … Each is unique in its session, belongs to its tab, and ends once the
 * tab shows another document. Must not know trees or actions.
 */
import type { ElementHandle, Locator, Page } from 'playwright-core';
import { HandsFault } from '../hands.ts';

export interface Refs {
  /** Of an element of the last snapshot, by the name that it has there. The same element keeps its ref. */
  ofSnapshot(name: string): string;
  /** Of an element that no snapshot shows. */
  ofElement(element: ElementHandle<Element>): string;
  /** The name in the snapshot; throws `stale_ref`. */
  nameOf(ref: string): string;
  /** Throws `stale_ref` for what is not there any more or never was. */
  element(ref: string): Promise<ElementHandle<Element>>;
  /** The tab shows another document, or one of its frames does. */
  forget(what: 'all' | 'frames'): void;
}

/** `next` counts for all tabs of a session, so a ref of one tab never exists in another. */
export function createRefs(page: Page, next: () => number): Refs {
  const bySnapshot = new Map<string, string>();
  const known = new Map<string, string | ElementHandle<Element>>();
  const stale = (ref: string) =>
    new HandsFault(
      'page',
      'stale_ref',
      `${ref} is not an element of the current page. Read the page again and use the refs it shows.`,
    );

  return {
    ofSnapshot(name) {
      const old = bySnapshot.get(name);
      if (old !== undefined) return old;
      const ref = `ref_${next()}`;
      bySnapshot.set(name, ref);
      known.set(ref, name);
      return ref;
    },
    ofElement(element) {
      const ref = `ref_${next()}`;
      known.set(ref, element);
      return ref;
    },
    nameOf(ref) {
      const name = known.get(ref);
      if (typeof name !== 'string') throw stale(ref);
      return name;
    },
    async element(ref) {
      const found = known.get(ref);
      if (found === undefined) throw stale(ref);
      const handle = typeof found === 'string' ? await one(page.locator(`aria-ref=${found}`)) : found;
      const there = await handle?.evaluate((element) => element.isConnected).catch(() => false);
      if (handle === null || there !== true) throw stale(ref);
      return handle as ElementHandle<Element>;
    },
    forget(what) {
      if (what === 'all') {
        bySnapshot.clear();
        known.clear();
        return;
      }
      // Each document restarts the snapshot's names: the next `f1e2` would be another element.
      for (const [name, ref] of bySnapshot) {
        if (!name.startsWith('f')) continue;
        bySnapshot.delete(name);
        known.delete(ref);
      }
    },
  };
}

/** Null if the page has no such element now; does not wait for it. */
async function one(locator: Locator): Promise<ElementHandle<Element> | null> {
  try {
    return ((await locator.elementHandles())[0] as ElementHandle<Element> | undefined) ?? null;
  } catch {
    return null;
  }
}
