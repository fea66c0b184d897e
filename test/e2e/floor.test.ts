// Runs always: it is the shortest way through a team, its panes, a message and a killed server.
/** The story of the first part, on the real product: a team from a dialog, live panes, typing, messages, a killed server. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type Browser,
  focusedName,
  go,
  keepBusy,
  openBrowser,
  openPalette,
  openPane,
  paneText,
  seeInPane,
  typeInto,
  type Visit,
  visit,
} from './support/browser.ts';
import { type Gantry, startGantry } from './support/gantry.ts';
import { looked } from './support/looks.ts';

let gantry: Gantry;
let browser: Browser;
let first: Visit;

beforeAll(async () => {
  [gantry, browser] = await Promise.all([startGantry(), openBrowser()]);
  first = await visit(browser, gantry.url, { plain: true });
});
afterAll(async () => {
  await browser?.close();
  await gantry?.remove();
});

test('the printed address lets the browser in once, and leaves no code in the address bar', async () => {
  expect(first.page.url()).toBe(`${gantry.origin}/`);
  await first.page.getByRole('heading', { name: 'Home', level: 1 }).waitFor();
  const stranger = await visit(browser, gantry.url);
  expect(await stranger.page.getByRole('heading', { level: 1 }).textContent()).not.toBe('Home');
  await stranger.close();
});

test('the demo team goes up through the dialog, which shows the server’s plan first', async () => {
  const { page } = first;
  await page.getByRole('button', { name: 'Start the demo team' }).click();
  const dialog = page.getByRole('dialog', { name: 'Start demo' });
  await expect.poll(() => dialog.locator('[data-plan="spawn"]').count()).toBe(3);
  await dialog.getByRole('button', { name: 'Start 3 bots' }).click();
  await dialog.waitFor({ state: 'hidden' });
  await page.waitForURL('**/floor*');
  for (const bot of ['builder', 'tester', 'scribe']) {
    await page.getByRole('region', { name: `Pane of ${bot}`, exact: true }).waitFor();
    await page.locator(`[data-bot="${bot}@demo"]`, { hasText: 'Idle' }).waitFor();
  }
  await seeInPane(page, 'tester', /8 tests passed/);
});

test('what is typed into a pane arrives whole and in order, however fast', async () => {
  const { page } = first;
  const line = 'echo "the quick brown fox jumps over 1234567890 lazy dogs" | tr a-z A-Z';
  await openPane(page, 'builder@demo');
  await page.keyboard.type(line);
  await page.keyboard.press('Enter');
  await seeInPane(page, 'builder', /THE QUICK BROWN FOX JUMPS OVER 1234567890 LAZY\s*DOGS/);
  await keepBusy(page, 'builder@demo');
  await page.keyboard.press('Control+c');
  await page.locator('[data-bot="builder@demo"]', { hasText: 'Idle' }).waitFor();
});

test('a pane has the size of its place, and follows it', async () => {
  const { page } = first;
  const size = async (): Promise<[number, number]> => {
    const text = await page
      .getByRole('region', { name: 'Pane of builder', exact: true })
      .locator('header')
      .textContent();
    const [, cols, rows] = /(\d+)×(\d+)/.exec(text ?? '') ?? [];
    return [Number(cols), Number(rows)];
  };
  const [, before] = await size();
  await page.setViewportSize({ width: 1440, height: 1200 });
  await expect.poll(async () => (await size())[1]).toBeGreaterThan(before);
  await typeInto(page, 'builder@demo', 'clear; stty size');
  await expect
    .poll(async () => {
      const [cols, rows] = await size();
      return (await paneText(page, 'builder')).includes(`${rows} ${cols}`);
    })
    .toBe(true);
  await page.setViewportSize({ width: 1440, height: 900 });
});

test('Home lists who is at work and not who is idle; the first steps stay there until each is done or skipped', async () => {
  const { page } = first;
  await keepBusy(page, 'builder@demo');
  await go(page, '/');
  const busy = page.getByRole('list', { name: 'Bots at work' });
  await busy.getByRole('button', { name: /builder@demo/ }).waitFor();
  await expect.poll(() => busy.getByRole('listitem').count()).toBe(1);

  // A team has run, which is one of the steps; the others are still there, folded.
  const steps = page.getByRole('heading', { name: 'First steps' });
  const open = page.locator('[data-step="open"]');
  await page.locator('[data-step="done"]', { hasText: 'Watch a demo team' }).waitFor();
  await expect.poll(() => open.count()).toBeGreaterThan(1);
  for (let left = await open.count(); left > 0; left -= 1) {
    await steps.waitFor();
    await open
      .first()
      .getByRole('button', { name: /^(?:Skip|Stay local)/ })
      .click();
    await expect.poll(() => open.count()).toBe(left - 1);
  }
  await steps.waitFor({ state: 'detached' });
  await page.reload();
  await busy.waitFor();
  expect(await steps.count()).toBe(0);

  await go(page, '/floor');
  await openPane(page, 'builder@demo');
  await page.keyboard.press('Control+c');
  await page.locator('[data-bot="builder@demo"]', { hasText: 'Idle' }).waitFor();
});

test('a message is verified and the page names its witness', async () => {
  const { page } = first;
  await page.locator('[data-bot="builder@demo"]', { hasText: 'Idle' }).waitFor();
  await page.keyboard.press('Control+Shift+L');
  await expect.poll(() => focusedName(page)).toBe('Message to builder@demo');
  await page.keyboard.type('npm test');
  // Until the shell has reported that the command before this one ended, it would be queued.
  await expect
    .poll(async () => {
      await page.getByRole('button', { name: 'Preview' }).click();
      return page.getByText(/^Would be/).textContent();
    })
    .toMatch(/Would be typed into its pane now \(builder@demo\)/);
  await page.getByRole('textbox', { name: 'Message to builder@demo' }).press('Control+Enter');
  const row = page.getByRole('list', { name: 'Last deliveries' }).locator('[data-state="verified"]').last();
  await row.getByText('Verified').waitFor();
  await expect
    .poll(() => row.textContent())
    .toMatch(/npm test.*its shell reported it|its shell reported it.*npm test/s);
  await seeInPane(page, 'builder', /pass 8/);
  await page
    .getByRole('region', { name: 'Events', exact: true })
    .locator('[data-event="delivery"]', { hasText: 'its shell reported it' })
    .first()
    .waitFor();
});

test('a message to a busy bot waits in its queue and says so, then arrives', async () => {
  const { page } = first;
  await keepBusy(page, 'tester@demo');
  await page.keyboard.press('Control+Shift+L');
  await expect.poll(() => focusedName(page)).toBe('Message to tester@demo');
  await page.keyboard.type('echo after the nap');
  await page.keyboard.press('Control+Enter');
  const rows = page.getByRole('list', { name: 'Last deliveries' });
  await rows.locator('[data-state="queued"]').waitFor();
  await page.locator('[data-bot="tester@demo"]').getByText('queued').waitFor({ state: 'attached' });
  await openPane(page, 'tester@demo');
  await page.keyboard.press('Control+c');
  await rows.locator('[data-state="verified"]', { hasText: 'echo after the nap' }).waitFor();
  await seeInPane(page, 'tester', /^after the nap/m);
});

test('without "queue if busy" a busy bot refuses, with the reason and what to do', async () => {
  const { page, errors } = first;
  await keepBusy(page, 'tester@demo');
  await page.keyboard.press('Control+Shift+L');
  await page.getByRole('checkbox', { name: 'Queue if busy' }).uncheck();
  await page.getByRole('textbox', { name: 'Message to tester@demo' }).fill('echo never');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByRole('form', { name: 'Message to a bot' }).getByRole('alert').waitFor();
  // The browser's own line about the refused request, which comes by another way than the answer; before it there was none.
  await expect.poll(() => errors).toEqual([expect.stringContaining('409')]);
  await page.getByRole('checkbox', { name: 'Queue if busy' }).check();
  await page.getByRole('textbox', { name: 'Message to tester@demo' }).fill('');
  await openPane(page, 'tester@demo');
  await page.keyboard.press('Control+c');
  await page.locator('[data-bot="tester@demo"]', { hasText: 'Idle' }).waitFor();
  expect(await paneText(page, 'tester')).not.toContain('never');
});

test('Ctrl F finds a word above the live screen, counts the matches, and Escape is back in the terminal', async () => {
  const { page } = first;
  await typeInto(page, 'scribe@demo', 'seq -f "row %g of many" 1 300');
  await seeInPane(page, 'scribe', /row 300 of many/);
  await page.keyboard.press('Control+f');
  const find = page.getByRole('search', { name: 'Find in scribe' });
  await expect.poll(() => focusedName(page)).toBe('Find in scribe');
  await page.keyboard.type('row 42 of');
  await find.getByText('1 of 1').waitFor();
  await seeInPane(page, 'scribe', /row 42 of many/);
  // What the program prints meanwhile is found too, and does not move the view.
  await gantry.cli(
    'agents',
    'input',
    'scribe@demo',
    'for i in 1 2; do echo "row $((40 + 2)) of more"; done',
    '--key',
    'Enter',
  );
  await find.getByText('1 of 3').waitFor();
  await seeInPane(page, 'scribe', /row 42 of many/);
  await page.keyboard.press('Shift+Enter');
  await find.getByText('2 of 3').waitFor();
  await page.keyboard.press('Escape');
  await find.waitFor({ state: 'detached' });
  await expect.poll(() => focusedName(page)).toBe('Terminal of scribe');
  await seeInPane(page, 'scribe', /row 42 of more\n[^\n]*\$/);
});

test('Ctrl Shift ↑ goes from command to command, the margin marks each, and typing is back at the live screen', async () => {
  const { page } = first;
  await typeInto(page, 'scribe@demo', 'clear');
  await typeInto(page, 'scribe@demo', 'seq -f "early %g" 1 200');
  await seeInPane(page, 'scribe', /early 200/);
  await typeInto(page, 'scribe@demo', 'seq -f "late %g" 1 200; false');
  await seeInPane(page, 'scribe', /late 200/);
  await page.locator('[data-bot="scribe@demo"]', { hasText: 'Idle' }).waitFor();
  await page.keyboard.press('Control+Shift+ArrowUp');
  await seeInPane(page, 'scribe', /late %g/);
  const mark = page.locator('[data-mark="current"]:visible');
  await expect.poll(() => mark.getAttribute('title')).toBe('Command, failed with exit code 1');
  await looked(page, 'floor-marks', { light: true });
  await page.keyboard.press('Control+Shift+ArrowUp');
  await seeInPane(page, 'scribe', /early %g/);
  await page.getByRole('button', { name: 'Back to live' }).waitFor();
  await page.keyboard.press('Control+Shift+ArrowDown');
  await seeInPane(page, 'scribe', /late %g/);
  await page.keyboard.type('x');
  await seeInPane(page, 'scribe', /late 200\n[^\n]*\$ x/);
  await page.getByRole('button', { name: 'Back to live' }).waitFor({ state: 'detached' });
  await page.keyboard.press('Backspace');
  await page.getByRole('heading', { level: 1 }).click();
  await openPalette(page);
  await page.keyboard.type('message above');
  await page.getByRole('option', { name: /Go to the message above/ }).waitFor();
  await page.keyboard.press('Escape');
});

test('the pane copies as text: all that it printed, a wrapped line whole', async () => {
  const { page, context } = first;
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const long = 'wide'.repeat(80);
  await typeInto(page, 'scribe@demo', `clear; seq -f "copied %g" 1 150; echo ${long}`);
  await seeInPane(page, 'scribe', /copied 150/);
  await page.getByRole('button', { name: 'Copy what scribe printed as text' }).click();
  await page.getByText('Copied what scribe printed').waitFor();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  expect(copied).toMatch(/^copied 1$/m);
  expect(copied).toMatch(new RegExp(`^${long}$`, 'm'));
});

test('servers killed −9 and started again: the page goes on by itself and every pane has its text', async () => {
  const { page, errors } = first;
  const before = errors.length;
  await typeInto(page, 'builder@demo', 'clear; echo kept-$((6*7))');
  await seeInPane(page, 'builder', /^kept-42/m);
  await gantry.kill();
  await page
    .getByText(/Reconnecting/)
    .first()
    .waitFor();
  await seeInPane(page, 'builder', /^kept-42/m);
  await gantry.start();
  await page.getByRole('contentinfo').getByText('Linked').waitFor();
  await page.locator('[data-bot="builder@demo"]', { hasText: 'Idle' }).waitFor();
  await seeInPane(page, 'builder', /^kept-42/m);
  await typeInto(page, 'builder@demo', 'echo alive-$((1+1))');
  await seeInPane(page, 'builder', /^alive-2/m);
  // The browser itself writes a line for each request that nobody answered; nothing else may be there.
  const unanswered = /^Failed to load resource: net::ERR_/;
  expect(errors.slice(before).filter((text) => !unanswered.test(text))).toEqual([]);
});

test('full screen shows one pane alone, and gives the others back', async () => {
  const { page } = first;
  await page.getByRole('button', { name: 'Full screen of builder', exact: true }).click();
  await page.getByRole('region', { name: 'Pane of tester', exact: true }).waitFor({ state: 'hidden' });
  await page.getByRole('button', { name: 'Exit full screen of builder' }).click();
  await page.getByRole('region', { name: 'Pane of tester', exact: true }).waitFor();
});

test('the layout is the same after a reload, and detaching leaves the bot at work', async () => {
  const { page } = first;
  await page.reload();
  for (const bot of ['builder', 'tester', 'scribe']) {
    await page.getByRole('region', { name: `Pane of ${bot}`, exact: true }).waitFor();
  }
  // The last deliveries keep their words, and the status bar knows when something happened last.
  await page.locator('[data-bot="builder@demo"]').click();
  await page.getByRole('list', { name: 'Last deliveries' }).getByText('npm test').waitFor();
  await page.getByRole('contentinfo').getByText('Last event').waitFor();
  await page.getByRole('button', { name: 'Detach scribe; the bot keeps running' }).click();
  await page.getByRole('region', { name: 'Pane of scribe', exact: true }).waitFor({ state: 'detached' });
  await page.locator('[data-bot="scribe@demo"]', { hasText: 'Idle' }).waitFor();
});

test('the team goes down through its dialog, and the panes say that they are closed', async () => {
  const { page } = first;
  await page.getByRole('button', { name: 'Stop demo' }).click();
  const dialog = page.getByRole('dialog', { name: 'Stop demo' });
  await expect.poll(() => dialog.locator('[data-plan="stop"]').count()).toBe(3);
  await page.keyboard.press('Control+Enter');
  await dialog.waitFor({ state: 'hidden' });
  for (const bot of ['builder', 'tester', 'scribe']) {
    await page.locator(`[data-bot="${bot}@demo"]`, { hasText: 'Offline' }).waitFor();
  }
  await page
    .getByRole('region', { name: 'Last lines of builder' })
    .getByText(/alive-2/)
    .first()
    .waitFor();
});
