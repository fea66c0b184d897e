/** Schedules and spending on the real product: a schedule from its form, missed times made up for, a limit that holds a bot. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Browser, go, openBrowser, type Visit, visit } from './support/browser.ts';
import { type Gantry, startGantry } from './support/gantry.ts';
import { looked, narrow, wide } from './support/looks.ts';
import { writeShipTemplate } from './support/ship-template.ts';

let gantry: Gantry;
let browser: Browser;
let first: Visit;

beforeAll(async () => {
  [gantry, browser] = await Promise.all([startGantry(), openBrowser()]);
  first = await visit(browser, gantry.url);
  await first.page.getByRole('heading', { name: 'Home', level: 1 }).waitFor();
  writeShipTemplate(gantry.workspace, await first.page.screenshot());
  await gantry.agree();
});
afterAll(async () => {
  await browser?.close();
  await gantry?.remove();
});

/** Rows that only days of work would bring; the servers are down meanwhile. */
async function write(change: (db: Database.Database) => void): Promise<void> {
  await gantry.kill();
  const db = new Database(join(gantry.home, 'runtime.db'));
  try {
    change(db);
  } finally {
    db.close();
  }
  await gantry.start();
}

async function listed<T>(...words: string[]): Promise<T> {
  return JSON.parse((await gantry.cli(...words, '--json')).out) as T;
}

test('the form shows the next five times before a schedule is kept', async () => {
  const { page } = first;
  await go(page, '/work?schedules=1');
  await page.getByText('Scheduled templates appear here').waitFor();
  await looked(page, 'schedules-empty');
  await page.keyboard.press('n');
  const dialog = page.getByRole('dialog', { name: 'New schedule' });
  await dialog.getByRole('combobox', { name: 'Template' }).selectOption('ship');
  await dialog.getByRole('textbox', { name: 'version' }).fill('nightly');
  await dialog.getByRole('textbox', { name: 'Campaign title' }).fill('Nightly builds');
  await dialog.getByRole('textbox', { name: 'Intent' }).fill('A build of every night.');
  await dialog.getByRole('combobox', { name: 'When' }).selectOption('workdays');
  await dialog.getByRole('textbox', { name: 'Time zone' }).fill('Middle/Earth');
  await page.keyboard.press('Control+Enter');
  await dialog.getByText('is not a time zone').waitFor();
  await dialog.getByRole('textbox', { name: 'Time zone' }).fill('Europe/Berlin');
  await page.keyboard.press('Control+Enter');
  const next = dialog.getByRole('region', { name: 'Next times' });
  await expect.poll(() => next.getByRole('listitem').count()).toBe(5);
  await looked(page, 'schedules-form');
  expect(await listed('workflows', 'schedules')).toEqual({ schedules: [] });
  await page.keyboard.press('Control+Enter');
  await dialog.waitFor({ state: 'detached' });
  await page.getByText('Monday to Friday at 09:00').waitFor();
});

test('what was missed is shown and made up for once; paused it says so', async () => {
  const { schedules } = await listed<{ schedules: { id: string }[] }>('workflows', 'schedules');
  const id = schedules[0]?.id ?? '';
  const due = Date.parse('2026-01-05T08:00:00Z');
  await write((db) => {
    const insert = db.prepare(
      'INSERT INTO factory_occurrence (schedule_id, due, state, reason, at) VALUES (?, ?, ?, ?, ?)',
    );
    insert.run(id, due, 'missed', 'Gantry was not running', due);
    insert.run(id, due + 86_400_000, 'skipped', 'Its run before had not ended', due);
    insert.run(id, due + 2 * 86_400_000, 'missed', 'Gantry was not running', due);
  });
  await gantry.cli(
    'workflows',
    'schedule',
    'ship',
    '--cron',
    '0 * * * *',
    '--project',
    'p',
    '--param',
    'version=1',
    '--title',
    'Hourly look',
    '--timezone',
    'UTC',
  );
  const { page } = first;
  await page.goto(await gantry.newUrl());
  await go(page, '/work?schedules=1');
  const row = page.locator(`[data-schedule="${id}"]`);
  await row.getByText('2 in total').waitFor();
  await row.getByRole('button', { name: 'Times of Ship it' }).click();
  await row.getByText('Gantry was not running').first().waitFor();
  await looked(page, 'schedules');
  await page.setViewportSize(narrow);
  await looked(page, 'schedules', { light: true });
  await page.setViewportSize(wide);
  await row.getByRole('button', { name: 'Run it now' }).first().click();
  await row.getByRole('link', { name: 'Open run' }).waitFor();
  const off = row.getByRole('switch', { name: 'Ship it is on' });
  await off.click();
  await row.getByText('Paused').waitFor();
});

test('schedules are found, grouped and ticked; several are turned on, paused and removed together, and that is taken back', async () => {
  const { page } = first;
  const all = page.locator('[data-schedule]');
  const search = page.getByRole('searchbox', { name: 'Search schedules' });
  await search.fill('hourly');
  await expect.poll(() => all.count()).toBe(1);
  await search.fill('');
  await page.getByRole('combobox', { name: 'Group schedules' }).selectOption('state');
  await page.getByRole('region', { name: 'Paused' }).getByText('Ship it').waitFor();
  await page.getByRole('combobox', { name: 'Group schedules' }).selectOption('none');
  const paused = async () => {
    const { schedules } = await listed<{ schedules: { paused: boolean }[] }>('workflows', 'schedules');
    return schedules.map((one) => one.paused);
  };
  const tickBoth = async () => {
    await page.getByRole('checkbox', { name: 'Select Ship it' }).check();
    await page.locator('[data-schedule]', { hasText: 'Hourly look' }).getByRole('button').first().focus();
    await page.keyboard.press('x');
  };
  await tickBoth();
  const bar = page.getByRole('toolbar', { name: 'Selected schedules' });
  await bar.getByText('2 selected').waitFor();
  await looked(page, 'schedules-many');
  // One of them is paused already: taking it back leaves that one as it was.
  await bar.getByRole('button', { name: 'Pause' }).click();
  await expect.poll(paused).toEqual([true, true]);
  await page.getByText('Paused 1 schedule').waitFor();
  await page.keyboard.press('Control+z');
  await expect.poll(async () => (await paused()).filter(Boolean).length).toBe(1);
  await tickBoth();
  await bar.getByRole('button', { name: 'Remove…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Remove 2 schedules' });
  await dialog.getByText('Hourly look').waitFor();
  await dialog.getByRole('button', { name: 'Remove', exact: true }).click();
  await dialog.waitFor({ state: 'detached' });
  await expect.poll(paused).toEqual([]);
  await page.keyboard.press('Control+z');
  await expect.poll(async () => (await paused()).length).toBe(2);
  await expect.poll(() => all.count()).toBe(2);
});

test('spending is shown by bot, a limit that is reached says so, and the bot goes on once', async () => {
  const { agents } = await listed<{ agents: { id: string; address: string }[] }>('agents', 'ls');
  await write((db) => {
    const insert = db.prepare(
      `INSERT INTO model_spend (id, at, agent_id, run_id, wire, model, input, cached_input, cache_write, output, micro_usd)
       VALUES (?, ?, ?, NULL, 'claude', ?, ?, ?, 0, ?, ?)`,
    );
    agents.forEach(({ id }, index) => {
      insert.run(
        `a${index}`,
        Date.now(),
        id,
        'claude-sonnet-4-5',
        120_000,
        900_000,
        18_000,
        2_400_000 + index * 810_000,
      );
    });
    // Two weeks before today, some days of them.
    for (const back of [1, 2, 3, 5, 8, 13]) {
      for (const [index, { id }] of agents.entries()) {
        const at = Date.now() - back * 86_400_000;
        insert.run(
          `d${back}-${index}`,
          at,
          id,
          index === 0 ? 'claude-sonnet-4-5' : 'gpt-5',
          90_000,
          0,
          9000,
          1_000_000 * ((back + index) % 4),
        );
      }
    }
    insert.run('dream', Date.now(), agents[0]?.id, 'dream-1', 5000, 0, 200, null);
  });
  const [bot] = agents;
  const { page } = first;
  await page.goto(await gantry.newUrl());
  await go(page, '/settings/usage');
  const limits = page.getByRole('region', { name: 'Daily limits' });
  await limits.getByRole('combobox', { name: 'Applies to' }).selectOption(bot?.address ?? '');
  await limits.getByRole('textbox', { name: 'Daily limit (USD)' }).fill('2');
  await limits.getByRole('button', { name: 'Set a limit' }).click();
  await limits.getByText('$2.40 of $2.00 today, reached').waitFor();
  const bots = page.getByRole('region', { name: 'Bots on this computer' });
  await bots.getByText('Raise the limit or let it continue once').waitFor();
  await bots.getByText('No price is known for dream-1').waitFor();
  await page.getByRole('link', { name: /^\$[\d.]+ today$/ }).waitFor();
  const days = page.getByRole('region', { name: 'Usage by day' });
  await days.locator('canvas').waitFor();
  await days.getByRole('combobox', { name: 'Group' }).selectOption('bot');
  await days
    .getByRole('listitem')
    .filter({ hasText: agents[1]?.address ?? '' })
    .waitFor();
  await days.getByText('Table', { exact: true }).click();
  const cells = days.getByRole('table', { name: 'Cost by day' });
  expect(await cells.getByRole('row').count()).toBe(31);
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    days.getByRole('button', { name: 'Download CSV' }).click(),
  ]);
  expect(file.suggestedFilename()).toBe('Cost by day.csv');
  await days.getByText('Table', { exact: true }).click();
  await looked(page, 'usage');
  await page.setViewportSize(narrow);
  await looked(page, 'usage', { light: true });
  await page.setViewportSize(wide);
  await bots.getByRole('button', { name: 'Continue once' }).click();
  await bots.getByText('Raise the limit or let it continue once').waitFor({ state: 'detached' });
  await page.getByRole('switch', { name: 'Wait out usage limits' }).click();
  await expect.poll(async () => (await listed<{ waitOut: boolean }>('agents', 'usage')).waitOut).toBe(false);
  // A removed limit comes back with its amount, from its toast.
  await limits.getByRole('button', { name: /^Remove/ }).click();
  await limits.getByText('$2.40 of $2.00 today').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Undo' }).click();
  await limits.getByText('$2.40 of $2.00 today').waitFor();
});
