/** The panes of the floor: what runs is open, layouts come back, and an image reaches the program as a file. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Browser, openBrowser, openPane, type Page, paneText, type Visit, visit } from './support/browser.ts';
import { type Gantry, startGantry } from './support/gantry.ts';
import { looked } from './support/looks.ts';

let gantry: Gantry;
let browser: Browser;
let first: Visit;

beforeAll(async () => {
  [gantry, browser] = await Promise.all([startGantry(), openBrowser()]);
  await gantry.cli('teams', 'up', 'demo', '--json');
  first = await visit(browser, gantry.url, { plain: true });
  await first.page.getByRole('heading', { name: 'Home', level: 1 }).waitFor();
});
afterAll(async () => {
  await browser?.close();
  await gantry?.remove();
});

const pane = (page: Page, bot: string) => page.getByRole('region', { name: `Pane of ${bot}`, exact: true });

test('a floor with live bots shows their panes at once', async () => {
  const { page } = first;
  await page.goto(`${gantry.origin}/floor`);
  for (const bot of ['builder', 'tester', 'scribe']) await pane(page, bot).waitFor();
  await looked(page, 'floor-open');
});

test('who closes every pane gets a list of what runs in their place', async () => {
  const { page } = first;
  for (const bot of ['builder', 'tester', 'scribe']) {
    await page.getByRole('button', { name: `Detach ${bot}; the bot keeps running` }).click();
  }
  await page.getByRole('button', { name: 'Open the pane of tester' }).click();
  await pane(page, 'tester').waitFor();
});

test('a layout with a name comes back after a reload, beside that of all bots', async () => {
  const { page } = first;
  await page.getByRole('button', { name: 'Save this layout under a name' }).click();
  const dialog = page.getByRole('dialog', { name: 'Save the layout' });
  await dialog.getByRole('textbox', { name: 'Name' }).fill('Only the tester');
  await page.keyboard.press('Enter');
  const layout = page.getByRole('combobox', { name: 'Layout of the panes' });
  await expect.poll(() => layout.inputValue()).toBe('name:Only the tester');
  await layout.selectOption('team:demo');
  for (const bot of ['builder', 'tester', 'scribe']) await pane(page, bot).waitFor();
  await layout.selectOption('name:Only the tester');
  await pane(page, 'builder').waitFor({ state: 'detached' });
  await page.goto(`${gantry.origin}/floor`);
  await pane(page, 'tester').waitFor();
  await expect.poll(() => layout.inputValue()).toBe('name:Only the tester');
  expect(await pane(page, 'builder').count()).toBe(0);
});

/** As an image begins; the last byte tells one from another. */
const pngOf = (last: number): number[] => [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, last];

test('an image pasted into a pane becomes a file, and the program gets its path', async () => {
  const { page } = first;
  await openPane(page, 'tester@demo');
  await page.evaluate(() => {
    const bytes = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3]);
    const data = new DataTransfer();
    data.items.add(new File([bytes], 'shot.png', { type: 'image/png' }));
    const event = new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true });
    document.activeElement?.dispatchEvent(event);
  });
  const typed = async () =>
    /(\/\S*\/images\/[0-9a-f]{16}\.png)/.exec((await paneText(page, 'tester')).replaceAll('\n', ''))?.[1];
  await expect.poll(typed).toBeDefined();
  expect(
    readFileSync((await typed()) ?? '')
      .subarray(1, 4)
      .toString(),
  ).toBe('PNG');
  expect(first.errors).toEqual([]);
});

test.each(['paste', 'drop'] as const)(
  'an image that reaches the composer by %s is named in the message, after what was written',
  async (way) => {
    const { page } = first;
    const composer = page.getByRole('textbox', { name: 'Message to tester@demo' });
    await composer.fill('Look at');
    await composer.evaluate(
      (element, { kind, bytes }) => {
        const data = new DataTransfer();
        data.items.add(new File([Uint8Array.from(bytes)], 'shot.png', { type: 'image/png' }));
        const how = { bubbles: true, cancelable: true };
        element.dispatchEvent(
          kind === 'paste'
            ? new ClipboardEvent('paste', { ...how, clipboardData: data })
            : new DragEvent('drop', { ...how, dataTransfer: data }),
        );
      },
      { kind: way, bytes: pngOf(7) },
    );
    const path = async () => /^Look at (\/\S*\/images\/[0-9a-f]{16}\.png)\s*$/.exec(await composer.inputValue())?.[1];
    await expect.poll(path).toBeDefined();
    expect([...readFileSync((await path()) ?? '')]).toEqual(pngOf(7));
    await composer.fill('');
    expect(first.errors).toEqual([]);
  },
);

test('while images are added the composer says how many are there and how many are left, and nothing is sent without them', async () => {
  const { page } = first;
  const composer = page.getByRole('textbox', { name: 'Message to tester@demo' });
  await composer.fill('Compare');
  let release = (): void => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  let seen = 0;
  await page.route('**/images', async (route) => {
    seen += 1;
    if (seen === 2) await held;
    await route.continue();
  });
  const paste = (pngs: number[][]) =>
    composer.evaluate((element, images) => {
      const data = new DataTransfer();
      for (const [index, bytes] of images.entries())
        data.items.add(new File([Uint8Array.from(bytes)], `${index}.png`, { type: 'image/png' }));
      element.dispatchEvent(new ClipboardEvent('paste', { bubbles: true, cancelable: true, clipboardData: data }));
    }, pngs);
  await paste([pngOf(1), pngOf(2)]);
  await page.getByText('Adding images: 1 of 2 done').waitFor();
  // One that is pasted meanwhile is there first, and the message waits for the others all the same.
  await paste([pngOf(3)]);
  await expect.poll(() => composer.inputValue()).toMatch(/^Compare \/\S+\.png\s*$/);
  await page.getByText('Adding images: 2 of 3 done').waitFor();
  expect(await page.getByRole('button', { name: 'Send', exact: true }).isEnabled()).toBe(false);
  await looked(page, 'composer-images');
  release();
  await expect.poll(() => composer.inputValue()).toMatch(/^Compare(?: \/\S+\.png){3}\s*$/);
  await page.getByText('Adding images').waitFor({ state: 'detached' });
  expect(await page.getByRole('button', { name: 'Send', exact: true }).isEnabled()).toBe(true);
  await page.unroute('**/images');
  await composer.fill('');
});

test('the threads of the inspector say who wrote to whom last, and one opens its messages', async () => {
  const { page } = first;
  await page.getByRole('tab', { name: 'Threads' }).click();
  await page.getByText(/^Conversations appear here/).waitFor();
  const created = await gantry.cli(
    'orchestration',
    'threads',
    '--create',
    'The release',
    '--bot',
    'tester@demo',
    '--json',
  );
  const { id } = JSON.parse(created.out) as { id: string };
  await gantry.cli('orchestration', 'send', 'tester@demo', 'true # ship it', '--thread', id, '--json');
  const row = page.getByRole('list', { name: 'Threads' }).getByRole('button', { name: /The release/ });
  await row.getByText('You → tester@demo: true # ship it').waitFor();
  await row.getByText('Unanswered').waitFor();
  await looked(page, 'threads');
  await row.click();
  const messages = page.getByRole('region', { name: 'The release' });
  await messages.getByText('true # ship it').waitFor();
  await looked(page, 'thread');
  await page.getByRole('button', { name: 'Back to the threads' }).click();
  await expect.poll(() => row.evaluate((element) => element === document.activeElement)).toBe(true);
});
