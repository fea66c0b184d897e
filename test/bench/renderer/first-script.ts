/** What a browser has to load and run before the first page shows anything. */
import { gzipSync } from 'node:zlib';
import type { Figure, Measured } from '../../support/bench/figure.ts';
import { rounded } from '../../support/bench/numbers.ts';
import { browserName, withPage } from '../../support/bench/page.ts';

export const figures: readonly Figure[] = [{ name: 'renderer.first-script', run: firstScript }];

/** As it is usual on a wire. */
const level = 6;
/** The one page that everybody opens, and those that a link opens. */
const paths = ['/', '/settings', '/inbox', '/floor'];

function firstScript(): Promise<Measured> {
  return withPage({}, async ({ page, product, browser }) => {
    const kilobytes: Record<string, number> = {};
    const raw: Record<string, number> = {};
    for (const path of paths) {
      await page.goto(product.origin + path, { waitUntil: 'load' });
      await page.getByRole('heading', { level: 1 }).first().waitFor();
      // What the document itself asks for: the first script and all that it imports.
      const scripts = await page.evaluate(() =>
        [
          ...document.querySelectorAll<HTMLLinkElement>('link[rel=modulepreload]'),
          ...document.querySelectorAll<HTMLScriptElement>('script[src]'),
        ].map((element) => ('src' in element ? element.src : element.href)),
      );
      const bodies = await Promise.all([...new Set(scripts)].map(async (url) => (await page.request.get(url)).body()));
      kilobytes[path] = rounded(bodies.reduce((sum, body) => sum + gzipSync(body, { level }).length, 0) / 1000, 1);
      raw[path] = rounded(bodies.reduce((sum, body) => sum + body.length, 0) / 1000, 1);
    }
    return {
      value: kilobytes['/'] as number,
      unit: 'kB, gzip',
      n: paths.length,
      at: `the scripts of the document and all that it preloads, once Home shows, each packed for itself (gzip -${level}); ${browserName(browser)}`,
      detail: { withItsPage: kilobytes, unpacked: raw },
    };
  });
}
