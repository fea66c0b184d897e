/** Panes under strain: more than a browser has connections for, a pane host that cannot be read, a paste. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type Browser,
  focusedName,
  go,
  keepBusy,
  openBrowser,
  openPane,
  paneText,
  paste,
  seeInPane,
  typeInto,
  type Visit,
  visit,
} from './support/browser.ts';
import { type Gantry, startGantry } from './support/gantry.ts';

const names = ['one', 'two', 'three', 'four', 'five', 'six'];
let gantry: Gantry;
let browser: Browser;
let first: Visit;

beforeAll(async () => {
  [gantry, browser] = await Promise.all([startGantry({ workspace: 'empty' }), openBrowser()]);
  const folder = join(gantry.workspace, '.gantry', 'teams', 'many');
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, 'team.yaml'),
    `bots:\n${names.map((name) => `  - { bot: ${name}, harness: shell }\n`).join('')}`,
  );
  await gantry.agree();
  first = await visit(browser, gantry.url, { plain: true });
  await go(first.page, '/floor');
});
afterAll(async () => {
  await browser?.close();
  await gantry?.remove();
});

test('more live panes than a browser has streams for: each shows what is typed into it, and the page still answers', async () => {
  const { page } = first;
  await page.getByRole('button', { name: 'Start many' }).click();
  await page.getByRole('button', { name: 'Start 6 bots' }).click();
  for (const name of names.slice(0, 4)) {
    await page.getByRole('region', { name: `Pane of ${name}`, exact: true }).waitFor();
  }
  for (const name of names) {
    await page.locator(`[data-bot="${name}@many"]`, { hasText: 'Idle' }).waitFor();
    await typeInto(page, `${name}@many`, `echo I-am-${name}`);
    await seeInPane(page, name, new RegExp(`^I-am-${name}`, 'm'));
  }
  await typeInto(page, 'one@many', 'for i in 1 2 3 4 5; do echo tick-$i; sleep 0.3; done');
  await page.locator('[data-bot="four@many"]').click();
  await seeInPane(page, 'one', /^tick-5/m);
  await page.keyboard.press('Control+Shift+L');
  await expect.poll(() => focusedName(page)).toBe('Message to four@many');
  await page.keyboard.type('echo still-here');
  await page.keyboard.press('Control+Enter');
  await page.getByRole('list', { name: 'Last deliveries' }).getByText('Verified').waitFor();
  expect(first.errors).toEqual([]);
});

test('four windows of the same browser work beside each other', async () => {
  const windows = [];
  for (const name of ['two', 'three', 'four']) {
    const page = await first.context.newPage();
    windows.push(page);
    await page.goto(`${gantry.origin}/floor`);
    await typeInto(page, `${name}@many`, `echo from-another-${name}`);
    await seeInPane(page, name, new RegExp(`^from-another-${name}`, 'm'));
  }
  const last = windows.at(-1)!;
  await keepBusy(last, 'four@many');
  for (const page of [first.page, ...windows]) {
    await page.locator('[data-bot="four@many"]', { hasText: 'Working' }).waitFor();
  }
  await last.keyboard.press('Control+c');
  // A window that closes takes keys with it that are still on their way.
  await last.locator('[data-bot="four@many"]', { hasText: 'Idle' }).waitFor();
  for (const page of windows) await page.close();
  await first.page.locator('[data-bot="four@many"]', { hasText: 'Idle' }).waitFor();
});

test('a terminal drawn by the graphics card, or by what stands in for it, leaves no error', async () => {
  const seen = await visit(browser, `${gantry.origin}/floor`, { like: first.context });
  await typeInto(seen.page, 'six@many', 'echo drawn');
  await seen.page
    .locator('[data-pane-terminal] .xterm-screen canvas, [data-pane-terminal] .xterm-rows')
    .first()
    .waitFor();
  expect(seen.errors).toEqual([]);
  await seen.close();
});

test('while the pane host cannot be read, every bot keeps its state and its last screen; then all goes on', async () => {
  const { page } = first;
  await page.locator('[data-bot="one@many"]').click();
  await seeInPane(page, 'one', /^tick-5/m);
  const lock = JSON.parse(readFileSync(join(gantry.home, 'run', 'panes-v1.lock'), 'utf8')) as { pid: number };
  process.kill(lock.pid, 'SIGSTOP');
  try {
    await page
      .getByText(/Panes are unavailable:/)
      .first()
      .waitFor();
    await page.getByRole('contentinfo').getByText('Panes are unavailable').waitFor();
    for (const name of names) await page.locator(`[data-bot="${name}@many"]`, { hasText: 'Idle' }).waitFor();
    await seeInPane(page, 'one', /^tick-5/m);
  } finally {
    process.kill(lock.pid, 'SIGCONT');
  }
  await page
    .getByText(/Panes are unavailable/)
    .first()
    .waitFor({ state: 'detached' });
  await typeInto(page, 'one@many', 'echo back-again');
  await seeInPane(page, 'one', /^back-again/m);
});

test('pasted lines stay in the input line of a shell until Enter is pressed', async () => {
  const { page } = first;
  await openPane(page, 'two@many');
  await paste(page, 'echo pasted-$((1+1))\necho pasted-$((2+2))\n');
  await seeInPane(page, 'two', /echo pasted-\$\(\(2\+2\)\)/);
  expect(await paneText(page, 'two')).not.toMatch(/^pasted-2/m);
  await page.keyboard.press('Enter');
  await seeInPane(page, 'two', /^pasted-4/m);
  await seeInPane(page, 'two', /^pasted-2/m);
});

test('a program that ends by itself leaves its last lines and the reason', async () => {
  const { page } = first;
  await typeInto(page, 'five@many', 'echo last-words; exit 3');
  await page.locator('[data-bot="five@many"]', { hasText: 'Failed' }).waitFor();
  await page
    .getByRole('region', { name: 'Last lines of five' })
    .getByText(/last-words/)
    .first()
    .waitFor();
});
