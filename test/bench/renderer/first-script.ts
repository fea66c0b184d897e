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
    let first: string[] = [];
    let value = 0;
    for (const path of paths) {
      const answer = await page.goto(product.origin + path, { waitUntil: 'load' });
      await page.getByRole('heading', { level: 1 }).first().waitFor();
      if (path === '/') first = namedIn((await answer?.text()) ?? '');
      // What stands in the document by then: the first script, all that it imports, and what the page asked for by itself.
      const scripts = await page.evaluate(() =>
        [
          ...document.querySelectorAll<HTMLLinkElement>('link[rel=modulepreload]'),
          ...document.querySelectorAll<HTMLScriptElement>('script[src]'),
        ].map((element) => ('src' in element ? element.src : element.href)),
      );
      const get = async (url: string) => (await page.request.get(new URL(url, product.origin).href)).body();
      const bodies = await Promise.all([...new Set(scripts)].map(get));
      kilobytes[path] = packed(bodies);
      raw[path] = rounded(bodies.reduce((sum, body) => sum + body.length, 0) / 1000, 1);
      if (path === '/') value = packed(await Promise.all(first.map(get)));
    }
    return {
      value,
      unit: 'kB, gzip',
      n: paths.length,
      at: `the scripts that the document names as it is served (the first and all that it imports), each packed for itself (gzip -${level}); ${browserName(browser)}`,
      detail: { withItsPage: kilobytes, unpacked: raw },
    };
  });
}

function packed(bodies: readonly Buffer[]): number {
  return rounded(bodies.reduce((sum, body) => sum + gzipSync(body, { level }).length, 0) / 1000, 1);
}

/** Addresses of the scripts in the text of a document. */
function namedIn(html: string): string[] {
  return [...new Set([...html.matchAll(/(?:src|href)="([^"]+\.js)"/g)].map(([, url]) => url as string))];
}
