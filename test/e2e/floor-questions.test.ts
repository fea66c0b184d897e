// Runs always: nothing else that a plain run has answers a question in a browser.
/** What a bot asks is answered where it is seen: in the pane of the bot, with the card, the keys and the guard of the inbox. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Browser, go, inFocus, openBrowser, openPane, type Page, type Visit, visit } from './support/browser.ts';
import { type Gantry, startGantry } from './support/gantry.ts';
import { looked, narrow, numbered } from './support/looks.ts';

let gantry: Gantry;
let browser: Browser;
let first: Visit;

beforeAll(async () => {
  [gantry, browser] = await Promise.all([startGantry(), openBrowser()]);
  await gantry.cli('teams', 'up', 'demo', '--json');
  first = await visit(browser, gantry.url);
  await first.page.getByRole('heading', { name: 'Home', level: 1 }).waitFor();
});
afterAll(async () => {
  await browser?.close();
  await gantry?.remove();
});

const pane = (page: Page, bot: string) => page.getByRole('region', { name: `Pane of ${bot}`, exact: true });
const question = (page: Page, bot: string) =>
  pane(page, bot)
    .getByRole('region', { name: `What ${bot} asks` })
    .getByRole('article')
    .last();
const ask = (bot: string, command: string) =>
  gantry.cli(
    ...(['agents', 'input', `${bot}@demo`] as const),
    `clear; gantry gate check shell.exec --wait 600 --command '${command}' && echo allowed-$?`,
    ...(['--key', 'Enter'] as const),
  );
const screen = async (bot: string) => (await gantry.cli('agents', 'capture', `${bot}@demo`)).out;
/** A key answers only what has been there for a moment. */
const ready = (page: Page, bot: string) => pane(page, bot).locator('[aria-current][data-keys="answer"]').waitFor();

test('a bot that begins to need its person opens its pane, with the exact question and an amber edge, and leaves the focus alone', async () => {
  const { page } = first;
  await go(page, '/floor');
  await openPane(page, 'builder@demo');
  await ask('scribe', 'npm publish --tag latest');
  await question(page, 'scribe').getByText('npm publish --tag latest').first().waitFor();
  expect(await pane(page, 'scribe').getAttribute('data-asking')).toBe('true');
  // Its program works on, waiting for the answer: the person is who it needs.
  await page.locator('[data-bot="scribe@demo"]', { hasText: 'Needs you' }).waitFor();
  await question(page, 'scribe').getByRole('heading', { name: 'scribe@demo: Run a command' }).waitFor();
  expect(await pane(page, 'builder').getAttribute('data-asking')).toBeNull();
  expect(await page.evaluate(() => document.activeElement?.closest('section')?.getAttribute('aria-label'))).toBe(
    'Pane of builder',
  );
  await looked(page, 'floor-question');
});

test('what the picture of the concepts points at is on the floor, and its page has a line for each number', async () => {
  const { page } = first;
  await gantry.cli('orchestration', 'send', 'builder@demo', 'npm test', '--json');
  await expect.poll(() => screen('builder')).toContain('duration_ms');
  await page.getByLabel('Last deliveries').getByText('Verified').first().waitFor();
  const places = [
    page.getByRole('heading', { name: 'demo', exact: true }),
    page.locator('[data-bot="builder@demo"]'),
    pane(page, 'builder').locator('.xterm-screen'),
    page.getByRole('form', { name: 'Message to a bot' }),
    page.getByLabel('Last deliveries'),
    question(page, 'scribe'),
    page.getByRole('link', { name: 'Work', exact: true }),
    page.getByRole('link', { name: 'Ledger', exact: true }),
  ];
  await numbered(page, 'concepts-dark', places);
  const text = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'concepts.md'), 'utf8');
  expect([...text.matchAll(/\((\d)\)/g)].map(([, number]) => Number(number)).toSorted()).toEqual(
    places.map((_, index) => index + 1),
  );
});

test('a letter typed into a terminal answers nothing; a key leads to the question, where it does, and the edge is quiet again', async () => {
  const { page } = first;
  await page.keyboard.type('a');
  await openPane(page, 'scribe@demo');
  // Keys are those of the pane that the address names, which follows the focus.
  await pane(page, 'scribe').getByText('goes from the terminal to the question').waitFor();
  await page.keyboard.press('Control+Shift+A');
  await inFocus(question(page, 'scribe'));
  expect(await pane(page, 'scribe').getAttribute('data-asking')).toBe('true');
  await ready(page, 'scribe');
  await page.keyboard.press('a');
  await question(page, 'scribe')
    .getByText(/Approved by you in the browser/)
    .waitFor();
  await expect.poll(() => screen('scribe')).toMatch(/^allowed-0/m);
  await expect.poll(() => pane(page, 'scribe').getAttribute('data-asking')).toBeNull();
  // Asked, answered and taken: one line, with how it ended.
  const events = page.locator('[data-event^="approval."]');
  expect(await events.allTextContents()).toEqual([expect.stringContaining('Approved')]);
});

test('a question is rejected with words in its pane, which reach the asker', async () => {
  const { page } = first;
  await ask('scribe', 'rm -rf dist');
  const card = question(page, 'scribe').filter({ hasText: 'rm -rf dist' });
  await card.getByRole('textbox').fill('keep the build');
  await ready(page, 'scribe');
  // It stood in its pane at once: a toast would only cover it.
  expect(await page.getByText('scribe@demo asks for approval').count()).toBe(0);
  await card.getByRole('button', { name: 'Reject' }).click();
  await expect.poll(() => screen('scribe')).toContain('keep the build');
  expect(await screen('scribe')).not.toMatch(/^allowed/m);
});

test('"Always allow" shows the rule as it will be written, writes it and approves; the bot is not asked about again', async () => {
  const { page } = first;
  await ask('scribe', 'npm run docs');
  const card = question(page, 'scribe').filter({ hasText: 'npm run docs' });
  await card.getByRole('button', { name: 'Always allow' }).click();
  const dialog = page.getByRole('dialog', { name: 'Always allow this' });
  const rule = dialog.getByRole('region', { name: 'The rule' });
  await rule.getByText('command: "npm run docs"').waitFor();
  await looked(page, 'always-allow');
  const shown = await rule.textContent();
  await dialog.getByRole('button', { name: 'Add the rule and approve' }).click();
  await dialog.waitFor({ state: 'detached' });
  await expect.poll(() => screen('scribe')).toMatch(/^allowed-0/m);
  const file = readFileSync(join(gantry.workspace, '.gantry', 'policy.yaml'), 'utf8');
  const plain = (text: string) => text.replace(/\s+/g, ' ');
  expect(plain(file)).toContain(plain(shown ?? 'none'));
  await ask('scribe', 'npm run docs');
  await expect.poll(() => screen('scribe')).toMatch(/^allowed-0/m);
  expect(JSON.parse((await gantry.cli('workspace', 'approvals', '--json')).out).approvals).toEqual([]);
});

test('Undo takes the rule out of the file again, and the bot is asked about again', async () => {
  const { page } = first;
  const policy = () => readFileSync(join(gantry.workspace, '.gantry', 'policy.yaml'), 'utf8');
  const before = policy();
  await ask('scribe', 'npm run undone');
  const card = question(page, 'scribe').filter({ hasText: 'npm run undone' });
  await card.getByRole('button', { name: 'Always allow' }).click();
  const dialog = page.getByRole('dialog', { name: 'Always allow this' });
  await dialog.getByRole('button', { name: 'Add the rule and approve' }).click();
  // The newest toast comes first.
  const toast = page.getByRole('listitem').filter({ hasText: 'Rule added to .gantry/policy.yaml' }).first();
  await toast.getByRole('button', { name: 'Undo' }).click();
  await page.getByText('Undone: rule added to .gantry/policy.yaml').waitFor();
  expect(policy()).toBe(before);
  await expect.poll(() => screen('scribe')).toMatch(/^allowed-0/m);
  await ask('scribe', 'npm run undone');
  await card.getByRole('button', { name: 'Reject' }).click();
  await expect.poll(() => screen('scribe')).not.toMatch(/^allowed/m);
});

test('a toast covers no button of a page’s bar, and comes also for a card that nobody sees because it is scrolled away', async () => {
  const { page } = first;
  await go(page, '/work');
  await page.getByRole('button', { name: 'Start a run' }).first().waitFor();
  await ask('scribe', 'npm run release');
  const toast = page.getByRole('listitem').filter({ hasText: 'scribe@demo asks for approval' });
  await toast.waitFor();
  // It slides in from above.
  await toast.evaluate((element) => Promise.all(element.getAnimations().map(({ finished }) => finished)));
  const button = (await page.getByRole('button', { name: 'Start a run' }).last().boundingBox())!;
  await expect.poll(async () => (await toast.boundingBox())!.y).toBeGreaterThan(button.y + button.height);
  await looked(page, 'work-toast');

  await page.setViewportSize({ width: 1440, height: 420 });
  await go(page, '/');
  const card = page.getByRole('article').filter({ hasText: 'npm run release' });
  await card.waitFor();
  await ask('builder', 'npm run bundle');
  await page.getByRole('article').filter({ hasText: 'npm run bundle' }).waitFor();
  const main = page.getByRole('main');
  await main.evaluate((element) => element.scrollTo(0, element.scrollHeight));
  await ask('tester', 'npm run lint');
  await page.getByRole('listitem').filter({ hasText: 'tester@demo asks for approval' }).waitFor();
  await page.setViewportSize({ width: 1440, height: 900 });
  for (const bot of ['scribe', 'builder', 'tester'] as const) {
    await go(page, '/floor');
    await openPane(page, `${bot}@demo`);
    await question(page, bot).getByRole('button', { name: 'Approve' }).click();
    await expect.poll(() => screen(bot)).toMatch(/^allowed-0/m);
  }
});

test('a press on an answer in a pane beside the active one counts: nothing moves under the pointer', async () => {
  const { page } = first;
  await go(page, '/floor');
  await page.setViewportSize({ width: 1440, height: 1500 });
  await openPane(page, 'builder@demo');
  await ask('tester', 'touch beside');
  const card = question(page, 'tester');
  await card.getByText('touch beside').first().waitFor();
  const approve = card.getByRole('button', { name: /^Approve/ });
  await pane(page, 'tester').locator('[data-keys="answer"]').waitFor();
  const before = await approve.boundingBox();
  await approve.hover();
  await page.mouse.down();
  await page.getByText('goes from the terminal to the question').filter({ visible: true }).waitFor();
  expect((await approve.boundingBox())?.y).toBe(before?.y);
  await page.mouse.up();
  await expect.poll(() => screen('tester')).toMatch(/^allowed-0/m);
  await page.setViewportSize({ width: 1440, height: 900 });
});

test('a screen reader tells every control of floor and inbox from the others', async () => {
  const { page } = first;
  for (const bot of ['tester', 'scribe']) await ask(bot, `touch read-${bot}`);
  for (const path of ['/floor', '/inbox']) {
    await go(page, path);
    await expect.poll(() => page.getByRole('button', { name: 'Approve', exact: true }).count()).toBeGreaterThan(1);
    const spoken = await controls(page);
    expect(spoken.filter((one) => spoken.indexOf(one) !== spoken.lastIndexOf(one))).toEqual([]);
  }
  for (const bot of ['tester', 'scribe']) {
    const card = page.getByRole('article').filter({ hasText: `touch read-${bot}` });
    await card.getByRole('button', { name: 'Reject' }).click();
  }
  await expect.poll(() => page.getByRole('button', { name: 'Approve', exact: true }).count()).toBe(0);
});

/** Role, name and description of what can be pressed or filled, as Chromium tells a screen reader. */
async function controls(page: Page): Promise<string[]> {
  const browserOf = await page.context().newCDPSession(page);
  const { nodes } = await browserOf.send('Accessibility.getFullAXTree');
  await browserOf.detach();
  const roles = ['button', 'checkbox', 'combobox', 'link', 'radio', 'searchbox', 'switch', 'tab', 'textbox'];
  return nodes
    .filter(({ ignored, role }) => !ignored && roles.includes(String(role?.value)))
    .map(({ role, name, description }) => [role, name, description].map((one) => one?.value ?? '').join(' | '));
}

test('the sample of the connectors promises bots in a shell no job, only the ticket', async () => {
  const { page } = first;
  await go(page, '/connectors');
  await page.getByText(/becomes a ticket\. Your bots are shells or in a sandbox, and only get the ticket/).waitFor();
  await page.getByRole('button', { name: 'Try the sample shop' }).waitFor();
});

test('on a phone the question stands between the terminal and the composer', async () => {
  await ask('tester', 'git push origin main');
  const small = await visit(browser, `${gantry.origin}/floor`, { ...narrow, like: first.context });
  await small.page.locator('[data-bot="tester@demo"]').tap();
  const card = question(small.page, 'tester');
  await card.getByText('git push origin main').first().waitFor();
  const above = await card.boundingBox();
  const below = await small.page.getByRole('form', { name: 'Message to a bot' }).boundingBox();
  expect(above!.y).toBeLessThan(below!.y);
  await looked(small.page, 'floor-question');
  await ready(small.page, 'tester');
  await card.getByRole('button', { name: 'Approve' }).tap();
  await expect.poll(() => screen('tester')).toMatch(/^allowed-0/m);
  expect([...first.errors, ...small.errors]).toEqual([]);
  await small.close();
});
