/** A bot in a sandbox: its start says so, and its inspector and the command line show what it runs in and its limits. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findBubblewrap } from '../../src/kit/sandbox/bubblewrap.ts';
import { type Browser, go, openBrowser, openPalette, type Visit, visit } from './support/browser.ts';
import { type Gantry, startGantry } from './support/gantry.ts';
import { looked, narrow, wide } from './support/looks.ts';

const found = await findBubblewrap({
  path: process.env.PATH ?? '',
  sandbox: { mounts: [{ at: '/', shows: 'read' }], network: 'host', terminal: 'none', ends: 'with-parent', cwd: '/' },
});

describe.skipIf(typeof found === 'string')('where bubblewrap works', () => {
  let gantry: Gantry;
  let browser: Browser;
  let session: Visit;

  beforeAll(async () => {
    [gantry, browser] = await Promise.all([startGantry({ workspace: 'empty' }), openBrowser()]);
    const folder = join(gantry.workspace, '.gantry', 'teams', 'dev');
    mkdirSync(folder, { recursive: true });
    const bot = '  - { bot: web, harness: shell, sandbox: files, caps: { memory: 2GiB, processes: 512 } }\n';
    writeFileSync(join(folder, 'team.yaml'), `bots:\n${bot}`);
    await gantry.agree();
    session = await visit(browser, gantry.url, { plain: true });
  });
  afterAll(async () => {
    await browser?.close();
    await gantry?.remove();
  });

  test('the start names the sandbox, and the command line shows it with its limits', async () => {
    expect((await gantry.cli('teams', 'up', 'dev', '--dry-run')).out).toContain('in the sandbox "files"');
    expect(await gantry.cli('teams', 'up', 'dev')).toMatchObject({ code: 0 });
    const { out } = await gantry.cli('agents', 'show', 'web@dev');
    expect(out).toMatch(/Sandbox\s+files/);
    expect(out).toMatch(/Limits\s+2048 MiB of memory.*512 processes/s);
  });

  test.each([wide, narrow])('the inspector shows both in a $name window', async (size) => {
    const isNarrow = size === narrow;
    const seen = isNarrow
      ? await visit(browser, `${gantry.origin}/`, { ...size, like: session.context, plain: true })
      : session;
    const { page } = seen;
    await go(page, '/floor');
    await page.locator('[data-bot="web@dev"]').click();
    if (isNarrow) await page.getByRole('button', { name: 'Show the inspector' }).click();
    await page.getByRole('tab', { name: 'web', exact: true }).last().click();
    await page.getByText('Of your files it sees only its folder').waitFor();
    await page.getByText('2048 MiB of memory').waitFor();
    await looked(page, 'sandbox-inspector', { light: true });
    if (isNarrow) await seen.close();
  });

  test.each([wide, narrow])(
    'a team whose file is silent asks what its bots run in, in a $name window',
    async (size) => {
      const team = `silent-${size.name}`;
      const folder = join(gantry.workspace, '.gantry', 'teams', team);
      mkdirSync(folder, { recursive: true });
      const file = join(folder, 'team.yaml');
      writeFileSync(file, `name: ${team}\nbots:\n  - { bot: ui, harness: shell }\n`);
      await gantry.agree();
      const seen = await visit(browser, `${gantry.origin}/`, { ...size, like: session.context, plain: true });
      const { page } = seen;
      await go(page, '/floor');
      await openPalette(page);
      await page.keyboard.type(`start ${team}`);
      await page.getByRole('option', { name: `Start ${team}`, selected: true }).waitFor();
      await page.keyboard.press('Enter');
      const dialog = page.getByRole('dialog');
      const asked = dialog.getByRole('group', { name: 'Sandbox' });
      // The network of a closed bot takes more than bubblewrap.
      await asked.getByRole('radio', { checked: true }).waitFor();
      expect(
        await asked.getByRole('radio', { checked: true }).evaluate((one) => one.closest('label')?.textContent),
      ).toMatch(/^(?:Closed|Files)/);
      await dialog.getByText(/in the sandbox "(?:closed|files)"/).waitFor();
      await looked(page, 'sandbox-asked', { light: true });
      await asked.getByRole('radio', { name: /^Files/ }).check();
      await dialog.getByText('in the sandbox "files"').waitFor();
      await dialog.getByRole('button', { name: 'Start 1 bot' }).click();
      await dialog.waitFor({ state: 'detached' });
      expect(readFileSync(file, 'utf8')).toContain('sandbox: files\nbots:');
      await seen.close();
    },
  );

  test.each([wide, narrow])(
    'a new run says what its programs run in, and keeps the choice, in a $name window',
    async (size) => {
      const seen = await visit(browser, `${gantry.origin}/`, { ...size, like: session.context, plain: true });
      const { page } = seen;
      await go(page, '/');
      await page.getByRole('button', { name: 'Sandbox' }).click();
      const wishes = page.getByRole('group', { name: 'Sandbox' });
      expect(await wishes.getByRole('radio', { name: /^As closed as possible/ }).isChecked()).toBe(true);
      await wishes.getByRole('radio', { name: /^Files/ }).check();
      await looked(page, 'sandbox-new-run', { light: true });
      await page.reload();
      await page.getByRole('button', { name: 'Sandbox' }).click();
      expect(await wishes.getByRole('radio', { name: /^Files/ }).isChecked()).toBe(true);
      await seen.close();
    },
  );
});
