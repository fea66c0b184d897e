/** The built page in a real Chromium, signed in, for figures. */
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright';
import { type Product, type ScratchHome, scratchHome, startBuilt } from './product.ts';

export interface ShownProduct {
  readonly place: ScratchHome;
  readonly product: Product;
  readonly browser: Browser;
  readonly context: BrowserContext;
  readonly page: Page;
}

export const pageSize = { width: 1440, height: 900 };

/** `before` fills the home while nothing runs in it. */
export async function withPage<T>(
  options: { teams?: Readonly<Record<string, string>>; before?: (place: ScratchHome) => Promise<void> },
  use: (shown: ShownProduct) => Promise<T>,
): Promise<T> {
  const place = scratchHome(options.teams);
  let browser: Browser | undefined;
  try {
    await options.before?.(place);
    const product = await startBuilt(place);
    browser = await chromium.launch({
      executablePath: process.env.GANTRY_CHROMIUM ?? '/usr/bin/chromium',
      args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--no-first-run'],
    });
    const context = await browser.newContext({ viewport: pageSize, colorScheme: 'dark', reducedMotion: 'reduce' });
    const page = await context.newPage();
    page.setDefaultTimeout(30_000);
    await page.goto(product.url);
    await page.getByRole('heading', { level: 1 }).first().waitFor();
    const answer = await use({ place, product, browser, context, page });
    await browser.close();
    await product.stop();
    return answer;
  } finally {
    await browser?.close();
    await place.remove();
  }
}

export function browserName(browser: Browser): string {
  return `Chromium ${browser.version()} without a graphics card`;
}
