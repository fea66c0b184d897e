/** The page of the queue in a real Chromium, opened once and never loaded again: what a person who watches it sees. */
import { join } from 'node:path';
import { type Browser, openBrowser, signInThrough, type Visit, visit } from '../e2e/support/browser.ts';

export interface Look {
  readonly queued: number;
  readonly held: number;
  readonly failed: number;
  /** Such as `4 polling`. */
  readonly workers: string;
  /** How many of the shown rows have each status. */
  readonly rows: Readonly<Record<string, number>>;
}

export interface QueuePage {
  look(): Promise<Look>;
  /** Into the folder that `GANTRY_SCREENSHOTS` names; without it none is made. */
  picture(name: string): Promise<void>;
  /** Uncaught errors. A request that a killed server does not answer is none. */
  errors(): readonly string[];
  close(): Promise<void>;
}

/** `signIn`: through the provider's own pages, as this person. */
export async function openQueuePage(url: string, { signIn }: { signIn?: string } = {}): Promise<QueuePage> {
  const browser: Browser = await openBrowser();
  try {
    const seen = await visit(browser, url, { width: 1440, height: 900 });
    await enter(seen, new URL(url).origin, signIn);
    return watching(browser, seen);
  } catch (error) {
    await browser.close();
    throw error;
  }
}

async function enter({ page }: Visit, origin: string, signIn: string | undefined): Promise<void> {
  if (signIn !== undefined) await signInThrough(page, signIn, origin);
  await page.locator('a[href="/queue"]').first().click();
  await page.getByRole('heading', { name: 'Queue', exact: true }).waitFor();
}

function watching(browser: Browser, seen: Visit): QueuePage {
  const { page } = seen;
  return {
    look: () =>
      page.evaluate(() => {
        const count = (status: string) => {
          const words = document.querySelector(`[data-status-filter="${status}"]`)?.textContent ?? '';
          return Number(/\d+/.exec(words)?.[0] ?? 0);
        };
        const rows: Record<string, number> = {};
        for (const row of document.querySelectorAll<HTMLElement>('tr[data-status]')) {
          const status = row.dataset.status ?? '';
          rows[status] = (rows[status] ?? 0) + 1;
        }
        return {
          queued: count('queued'),
          held: count('leased') + count('running'),
          failed: count('failed'),
          workers: document.querySelector('[data-workers]')?.textContent ?? '',
          rows,
        };
      }),
    async picture(name) {
      const folder = process.env.GANTRY_SCREENSHOTS;
      if (folder !== undefined) await page.screenshot({ path: join(folder, `${name}.png`) });
    },
    errors: () => seen.errors.filter((text) => text.startsWith('uncaught:')),
    async close() {
      await seen.close();
      await browser.close();
    },
  };
}
