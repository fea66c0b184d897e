/** From a key in the palette to its rows, where there are ten thousand things to find. What the main thread works from the key until it rests, in CPU time. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Page } from 'playwright';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { traceMain } from '../../support/bench/main-thread.ts';
import { quantile, rounded } from '../../support/bench/numbers.ts';
import { browserName, withPage } from '../../support/bench/page.ts';
import { shellTeam } from '../../support/bench/product.ts';

export const figures: readonly Figure[] = [{ name: 'renderer.palette', run: palette }];

/** As many as a workspace and a team may have, so that all are found by name. */
const things = { teams: 200, bots: 50 };
/** Nothing of it fits all, and each letter fits less; the last fits nothing. */
const words = ['bot-1', 'open', 'team-17', 'set', 'xyzzy'];
/** Shorter than the pause after which servers are asked: what they find is not of this. */
const restMs = 150;

function palette({ quick, log }: FigureOptions): Promise<Measured> {
  const slugs = Array.from({ length: things.bots }, (_, index) => `bot-${index}`);
  const names = Array.from({ length: things.teams }, (_, index) => `team-${index}`);
  const teams = Object.fromEntries(names.map((name) => [name, shellTeam(name, slugs)]));
  return withPage({ teams }, async ({ page, product, browser }) => {
    const { agents } = await product.web.call<{ agents: unknown[] }>('GET', '/api/factory/agents');
    await page.goto(`${product.origin}/settings/general`);
    await page.getByRole('heading', { level: 1 }).first().waitFor();
    await delay(5000);
    await page.keyboard.press('Control+k');
    await page.locator('[data-palette] [cmdk-item]').first().waitFor();
    await typeAll(page, async (key) => page.keyboard.press(key));
    const spent: { key: string; ms: number }[] = [];
    for (let round = 0; round < (quick ? 1 : 4); round += 1) {
      await typeAll(page, async (key) => {
        const { tasks } = await traceMain(browser, page, async () => {
          await page.keyboard.press(key);
          await delay(restMs);
        });
        spent.push({ key, ms: tasks.reduce((sum, { cpu, wall }) => sum + (cpu ?? wall), 0) });
      });
    }
    const times = spent.map(({ ms }) => ms);
    const slowest = spent.toSorted((a, b) => b.ms - a.ms).slice(0, 5);
    log(slowest.map(({ key, ms }) => `${key} ${ms.toFixed(1)} ms`).join(', '));
    return {
      value: rounded(quantile(times, 0.95), 1),
      unit: 'ms of the main thread, p95 of a key',
      n: times.length,
      at: `the palette with ${agents.length} bots and every command, a key each ${restMs} ms; ${browserName(browser)}`,
      detail: { p50: rounded(quantile(times, 0.5), 1), max: rounded(Math.max(...times), 1) },
    };
  });
}

/** Each word by itself: what was typed before is gone. */
async function typeAll(page: Page, press: (key: string) => Promise<void>): Promise<void> {
  for (const word of words) {
    await page.locator('[data-palette] input').fill('');
    await delay(restMs * 2);
    for (const key of word) await press(key);
  }
}
