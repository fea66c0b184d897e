/** Going from page to page when each was open before: from the click to the page with all that it reads. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Page } from 'playwright';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { quantile, rounded } from '../../support/bench/numbers.ts';
import { browserName, withPage } from '../../support/bench/page.ts';
import { shellTeam, teamUp } from '../../support/bench/product.ts';

export const figures: readonly Figure[] = [{ name: 'renderer.open', run: open }];

const bots = 12;

function open({ quick, log }: FigureOptions): Promise<Measured> {
  const slugs = Array.from({ length: bots }, (_, index) => `bot-${index}`);
  return withPage({ teams: { bench: shellTeam('bench', slugs) } }, async ({ page, product, browser }) => {
    await teamUp(product, 'bench');
    await page.goto(`${product.origin}/`);
    const links = page.getByRole('navigation', { name: 'Places' }).getByRole('link');
    await links.first().waitFor();
    const paths = await links.evaluateAll((all) => all.map((link) => link.getAttribute('href') ?? ''));
    for (const path of paths) await show(page, path);
    const spent: { path: string; ms: number }[] = [];
    for (let round = 0; round < (quick ? 2 : 10); round += 1) {
      for (const path of paths) {
        await delay(300);
        spent.push({ path, ms: await show(page, path) });
      }
    }
    const times = spent.map(({ ms }) => ms);
    const each = Object.fromEntries(
      [...Map.groupBy(spent, ({ path }) => path)].map(([path, of]) => [
        path,
        rounded(
          quantile(
            of.map(({ ms }) => ms),
            0.5,
          ),
          1,
        ),
      ]),
    );
    log(JSON.stringify(each));
    return {
      value: rounded(quantile(times, 0.95), 1),
      unit: 'ms p95',
      n: times.length,
      at: `${paths.length} pages of the rail with ${bots} live bots, by the clock from the click until the page's heading is there, nothing is loading and a frame was drawn; ${browserName(browser)}`,
      detail: { p50: rounded(quantile(times, 0.5), 1), max: rounded(Math.max(...times), 1), ...each },
    };
  });
}

/** By the page's own clock: what drives it is not of this. */
function show(page: Page, path: string): Promise<number> {
  return page.evaluate(async (wanted) => {
    const link = document.querySelector<HTMLAnchorElement>(`nav[aria-label="Places"] a[href="${wanted}"]`);
    if (link === null) throw new Error(`Nothing leads to ${wanted}.`);
    const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
    const began = performance.now();
    link.click();
    for (;;) {
      await frame();
      const there = link.dataset.status === 'active';
      const loading = document.querySelector('[data-state="loading"]') !== null;
      if (there && !loading && document.querySelector('h1') !== null) break;
      if (performance.now() - began > 10_000) throw new Error(`${wanted} did not open.`);
    }
    return performance.now() - began;
  }, path);
}
