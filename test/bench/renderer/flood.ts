/** A pane that prints endlessly must not block the page: how long its longest task takes. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Page } from 'playwright';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { traceMain } from '../../support/bench/main-thread.ts';
import { quantile, rounded } from '../../support/bench/numbers.ts';
import { browserName, withPage } from '../../support/bench/page.ts';
import { shellTeam } from '../../support/bench/product.ts';

export const figures: readonly Figure[] = [{ name: 'renderer.flood', run: flood }];

const seconds = { quick: 5, full: 20 };
/** Colours in each word, a screen's width a line: what a build or a test run prints, without end. */
const command = `yes "$(printf '\\033[3%dmone \\033[1;3%dmtwo\\033[0m three ' 1 2 3 4 5 6 1 2 3 4 5 6)"`;

function flood({ quick, log }: FigureOptions): Promise<Measured> {
  const duration = seconds[quick ? 'quick' : 'full'];
  return withPage({ teams: { bench: shellTeam('bench', ['one', 'two']) } }, async ({ page, product, browser }) => {
    await page.goto(`${product.origin}/floor`);
    // Bots that are started from the page open their panes side by side.
    await page.getByRole('button', { name: 'Start bench' }).click();
    await page.getByRole('button', { name: 'Start 2 bots' }).click();
    for (const bot of ['two', 'one']) {
      await page.locator(`[data-bot="${bot}@bench"]`, { hasText: 'Idle' }).waitFor();
      await openPane(page, bot);
    }
    await page.keyboard.type(`timeout ${duration + 30} ${command}`);
    await page.keyboard.press('Enter');
    await openPane(page, 'two');
    // Compiling and first layout do not count towards the flood.
    await delay(2000);
    const keysMs: number[] = [];
    const { tasks } = await traceMain(browser, page, async () => {
      const until = performance.now() + duration * 1000;
      while (performance.now() < until) {
        const pressed = performance.now();
        await page.keyboard.press('x');
        keysMs.push(performance.now() - pressed);
        await delay(200);
      }
      for (const bot of ['one', 'two']) {
        if (!(await paneOf(page, bot).isVisible())) throw new Error(`The pane of ${bot} was not in sight.`);
      }
    });
    const wall = tasks.map((task) => task.wall);
    const cpu = tasks.flatMap((task) => task.cpu ?? []);
    const longest = Math.max(...(cpu.length === 0 ? wall : cpu));
    log(`${wall.length} tasks; the longest ${longest.toFixed(1)} ms, by the clock ${Math.max(...wall).toFixed(1)} ms`);
    return {
      value: longest,
      unit: cpu.length === 0 ? 'ms, longest task' : 'ms of CPU, longest task',
      n: wall.length,
      at: `main thread of the floor with two panes in ${browserName(browser)}, ${duration} s during which one prints coloured lines as fast as it can and the other has the focus and is typed into`,
      detail: {
        byTheClock: { longest: rounded(Math.max(...wall), 1), over50: wall.filter((ms) => ms > 50).length },
        p99: rounded(quantile(cpu.length === 0 ? wall : cpu, 0.99), 1),
        keyMs: { p50: rounded(quantile(keysMs, 0.5), 1), max: rounded(Math.max(...keysMs), 1) },
      },
    };
  });
}

const paneOf = (page: Page, bot: string) => page.getByRole('region', { name: `Pane of ${bot}`, exact: true });

async function openPane(page: Page, bot: string): Promise<void> {
  await page.locator(`[data-bot="${bot}@bench"]`).click();
  await paneOf(page, bot).locator('[data-pane-terminal] textarea').first().waitFor({ state: 'attached' });
  await page.waitForFunction(
    (name) => document.activeElement?.closest('section')?.getAttribute('aria-label') === name,
    `Pane of ${bot}`,
  );
}
