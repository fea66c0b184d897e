/**
 * A scene of `claude.ts`: the first minute of somebody whose Claude Code is signed in, from the address that a start printed to a bot at work on their
 * own repository. Claude Code's own question of trust is answered on the card that Gantry makes of it.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openBrowser, type Page, visit } from '../e2e/support/browser.ts';
import { scratchHome, startProduct } from '../support/bench/product.ts';

/** What the first minute may cost. */
const maxClicks = 5;
const maxSeconds = 60;

/** `env`: how Claude Code finds its model server. `look` is shown each stage. Answers what was seen, in words. */
export async function playFirstMinute(
  env: Readonly<Record<string, string>>,
  look: (page: Page, stage: string) => Promise<unknown> = async () => {},
): Promise<string> {
  const place = scratchHome();
  const repository = join(place.workspace, '..', 'shop');
  mkdirSync(repository);
  writeFileSync(join(repository, 'cart.js'), 'export const total = 0;\n');
  const git = (...words: string[]) => execFileSync('git', ['-C', repository, ...words]);
  git('init', '-q', '-b', 'main');
  git('add', '.');
  git('-c', 'user.name=Person', '-c', 'user.email=person@example.org', 'commit', '-qm', 'first');
  const known = { hasCompletedOnboarding: true, theme: 'dark' };
  writeFileSync(join(String(place.env.HOME), '.claude.json'), JSON.stringify(known));
  const product = await startProduct({ ...place, env: { ...place.env, ...env } });
  const browser = await openBrowser();
  try {
    const from = performance.now();
    const { page } = await visit(browser, product.url, { plain: true });
    let clicks = 0;
    const click = async (where: ReturnType<Page['locator']>) => {
      clicks += 1;
      await where.click();
    };
    const form = page.getByRole('form', { name: 'New run' });
    const repositories = form.getByRole('combobox', { name: 'Repository' });
    await repositories.waitFor();
    if (!(await form.getByRole('textbox', { name: 'Folder' }).isVisible())) {
      // A list is opened and chosen from.
      clicks += 2;
      await repositories.selectOption({ label: 'Another folder' });
    }
    await click(form.getByRole('textbox', { name: 'Folder' }));
    await page.keyboard.type(repository);
    await click(form.getByRole('textbox', { name: 'What to do' }));
    await page.keyboard.type('Say hello');
    await page.keyboard.press('Enter');
    const pane = page.getByRole('region', { name: /^Pane of claude/ });
    await pane.waitFor();
    await look(page, 'pane');
    const trust = page.getByRole('button', { name: /^Trust/ });
    const works = page.getByLabel('Last deliveries').getByText('Verified').first();
    await trust
      .or(works)
      .first()
      .waitFor({ timeout: maxSeconds * 1000 });
    const asked = !(await works.isVisible());
    if (asked) {
      await look(page, 'question');
      await click(trust.first());
      await works.waitFor({ timeout: maxSeconds * 1000 });
    }
    const took = (performance.now() - from) / 1000;
    await look(page, 'at-work');
    const words = `${took.toFixed(1)} s and ${clicks} clicks from the printed address to a bot at work; Claude Code ${asked ? 'asked whether its folder is trusted' : 'did not ask about its folder'}`;
    assert.ok(clicks <= maxClicks && took <= maxSeconds, words);
    return words;
  } finally {
    await browser.close();
    await product.stop();
    await place.remove();
  }
}
