/**
 * A bot's work as a person reads it: comments on lines of the diff by mouse and by keyboard, kept until they are sent, sent as one message; the files
 * beside the pane; paths in the pane that open either.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { installStandInClaude } from '../support/stand-in-claude/install.ts';
import {
  axe,
  type Browser,
  focusedName,
  inFocus,
  type Locator,
  openBrowser,
  type Page,
  typeInto,
  type Visit,
  visit,
} from './support/browser.ts';
import { type Gantry, startGantry } from './support/gantry.ts';
import { looked, narrow, wide } from './support/looks.ts';
import { ownerCall } from './support/owner-call.ts';

const root = mkdtempSync(join(tmpdir(), 'gantry-diff-'));
let gantry: Gantry;
let browser: Browser;
let first: Visit;
/** Folder of the bot's worktree. */
let worktree: string;
let ofShell: string;

const before = [
  'export function total(prices: readonly number[]): number {',
  '  let sum = 0;',
  '  for (const price of prices) sum = sum + price;',
  '  return sum;',
  '}',
  ...Array.from({ length: 30 }, (_, at) => `// ${at + 6}`),
  'export const currency = "EUR";',
  '',
].join('\n');
const after = before
  .replace('let sum = 0', 'let sum = 1')
  .replace('sum = sum + price', 'sum += price')
  .replace('"EUR"', '"USD"');

interface Bot {
  readonly id: string;
  readonly address: string;
}

beforeAll(async () => {
  const bin = installStandInClaude(join(root, 'bin'));
  const env = { PATH: `${bin}:${process.env.PATH}` };
  [gantry, browser] = await Promise.all([startGantry({ workspace: 'empty', env }), openBrowser()]);
  const git = (...words: string[]) =>
    execFileSync('git', ['-c', 'user.name=Test', '-c', 'user.email=test@example.com', ...words], {
      cwd: gantry.workspace,
    });
  mkdirSync(join(gantry.workspace, 'src'));
  writeFileSync(join(gantry.workspace, 'src', 'total.ts'), before);
  git('init', '-q', '-b', 'main');
  git('add', 'src');
  git('commit', '-q', '-m', 'The sum');
  const team = join(gantry.workspace, '.gantry', 'teams', 'code');
  mkdirSync(team, { recursive: true });
  writeFileSync(
    join(team, 'team.yaml'),
    'bots:\n  - {bot: coder, harness: claude, worktree: true}\n  - {bot: shell, harness: shell, worktree: true}\n',
  );
  await gantry.agree();
  await ownerCall(gantry, 'POST', '/api/factory/teams/code/up', {});
  const { agents } = await ownerCall<{ agents: Bot[] }>(gantry, 'GET', '/api/factory/agents');
  const worktreeOf = async (address: string) => {
    const bot = agents.find((one) => one.address === address);
    return (await ownerCall<{ path: string }>(gantry, 'GET', `/api/factory/agents/${bot?.id}/diff`)).path;
  };
  worktree = await worktreeOf('coder@code');
  ofShell = await worktreeOf('shell@code');
  writeFileSync(join(worktree, 'src', 'total.ts'), after);
  writeFileSync(join(ofShell, 'src', 'total.ts'), after);
  first = await visit(browser, gantry.url, { plain: true });
  await first.page.getByRole('heading', { name: 'Home', level: 1 }).waitFor();
});
afterAll(async () => {
  await browser?.close();
  await gantry?.remove();
  rmSync(root, { recursive: true, force: true });
});

async function openChanges(page: Page): Promise<void> {
  await page.goto(`${gantry.origin}/floor`);
  await page.locator('[data-bot="coder@code"]', { hasText: 'Idle' }).click();
  await page.getByRole('tab', { name: 'Changes' }).click();
  await grid(page).locator('[data-line="added"]', { hasText: 'sum += price' }).waitFor();
}
const grid = (page: Page) => page.getByRole('grid', { name: 'What coder changed' });
const line = (page: Page, kind: string, text: string) => grid(page).locator(`[data-line="${kind}"]`, { hasText: text });
const comments = (page: Page) => page.locator('[data-comment]');

test('a click beside a line comments on it, a drag on several, and the words that changed are marked', async () => {
  const { page } = first;
  await page.setViewportSize(wide);
  await openChanges(page);
  const how = page.getByText('Click beside a line to comment on it');
  await how.waitFor();
  await expect.poll(() => line(page, 'added', 'let sum = 1').locator('mark').allTextContents()).toEqual(['1']);
  await line(page, 'added', 'let sum = 1').locator('[data-gutter]').click();
  const field = page.getByRole('textbox', { name: 'Comment on src/total.ts, line 2' });
  await inFocus(field);
  expect(await how.count()).toBe(0);
  await page.keyboard.type('A sum begins with nothing.');
  await page.getByRole('button', { name: 'Add comment' }).click();
  await comments(page).getByText('A sum begins with nothing.').waitFor();

  await line(page, 'same', 'return sum').locator('[data-gutter]').hover();
  await page.mouse.down();
  await line(page, 'same', '}').first().locator('[data-gutter]').hover();
  await page.mouse.up();
  await inFocus(page.getByRole('textbox', { name: 'Comment on src/total.ts, lines 4 to 5' }));
  await page.keyboard.type('Round it.');
  await page.keyboard.press('Control+Enter');
  await expect.poll(() => comments(page).count()).toBe(2);
});

test('with the keyboard alone: to a line, a range, a comment on it, and back to the line', async () => {
  const { page } = first;
  // The keys are said where all shortcuts are; how to comment is said below a diff that has none.
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Shortcuts' }).getByText('Comment on the chosen line of a diff').waitFor();
  await page.keyboard.press('Escape');
  await grid(page).focus();
  await page.keyboard.press('End');
  await page.keyboard.press('k');
  await page.keyboard.press('Shift+ArrowUp');
  await page.keyboard.press('c');
  await inFocus(page.getByRole('textbox', { name: /^Comment on src\/total.ts, / }));
  await page.keyboard.type('Who decided this?');
  await page.keyboard.press('Control+Enter');
  await expect.poll(() => focusedName(page)).toBe('What coder changed');
  await expect.poll(() => comments(page).count()).toBe(3);
  await page.keyboard.press('Home');
  await page.keyboard.press('Enter');
  await inFocus(page.getByRole('textbox', { name: 'Comment on src/total.ts, line 1' }));
  await page.keyboard.press('Escape');
  await expect.poll(() => focusedName(page)).toBe('What coder changed');
});

test('a reload keeps what was written, also what is being written, and each can be changed and deleted', async () => {
  const { page } = first;
  await page.keyboard.press('Enter');
  await inFocus(page.getByRole('textbox', { name: 'Comment on src/total.ts, line 1' }));
  await page.keyboard.type('Half a');
  await openChanges(page);
  const field = page.getByRole('textbox', { name: 'Comment on src/total.ts, line 1' });
  await expect.poll(() => field.inputValue()).toBe('Half a');
  await field.fill('Half a thought.');
  await field.press('Control+Enter');
  await page.getByRole('button', { name: 'Edit the comment on src/total.ts, line 2' }).click();
  await page.getByRole('textbox', { name: 'Comment on src/total.ts, line 2' }).fill('A sum begins with 0.');
  await page.getByRole('button', { name: 'Add comment' }).click();
  await expect.poll(() => comments(page).count()).toBe(4);
  await page.getByRole('button', { name: 'Delete the comment on src/total.ts, line 1', exact: true }).click();
  await expect.poll(() => comments(page).count()).toBe(3);
  await looked(page, 'diff-inspector');
  await page.getByRole('button', { name: 'Show changes and files beside the pane' }).click();
  await expect.poll(() => comments(page).count()).toBe(3);
  await looked(page, 'diff-comments');
  await page.keyboard.press('i');
  await page.getByRole('complementary', { name: 'Inspector' }).waitFor();
});

test('they follow their lines when the bot goes on, and one whose lines are gone says so', async () => {
  const { page } = first;
  writeFileSync(join(worktree, 'src', 'total.ts'), `// Prices.\n${after.replace('let sum = 1', 'let sum = 2')}`);
  await page.goto(`${gantry.origin}/floor`);
  await page.locator('[data-bot="coder@code"]').click();
  await page.getByRole('tab', { name: 'Changes' }).click();
  const old = page.getByRole('region', { name: 'Comments on lines that have changed' });
  await old.getByText('A sum begins with 0.').waitFor();
  await expect.poll(() => grid(page).locator('[data-comment]').count()).toBe(2);
  expect(await axe(page)).toEqual([]);
  writeFileSync(join(worktree, 'src', 'total.ts'), after);
  await openChanges(page);
});

test('all are sent as one message with path, lines, hunk and text, and its delivery is said in words', async () => {
  const { page, errors } = first;
  const asked = page.waitForRequest((request) => request.url().endsWith('/api/factory/send'));
  await page.getByRole('button', { name: 'Send 3 comments' }).press('Enter');
  const { to, text } = (await asked).postDataJSON() as { to: string; text: string };
  expect(to).toBe('coder@code');
  expect(text).toContain('3 comments on your changes:');
  expect(text).toContain('src/total.ts, line 2\n```diff\n@@ -1,6 +1,6 @@\n+  let sum = 1;\n```\nA sum begins with 0.');
  expect(text).toContain('src/total.ts, lines 4 to 5\n```diff\n@@ -1,6 +1,6 @@\n   return sum;\n }\n```\nRound it.');
  expect(text.indexOf('Round it.')).toBeLessThan(text.indexOf('Who decided this?'));
  await page.getByText('Sent 3 comments to coder.').waitFor();
  await expect.poll(() => focusedName(page)).toBe('What coder changed');
  await page.getByRole('list', { name: 'Delivery of the comments' }).getByText('Verified').waitFor();
  await expect.poll(() => comments(page).count()).toBe(0);
  await openChanges(page);
  expect(await comments(page).count()).toBe(0);
  expect(await page.getByRole('button', { name: /^Send \d/ }).count()).toBe(0);
  expect(errors).toEqual([]);
});

test('beside the pane there is room: the diff, and from a name in it the file with its colours, line by line', async () => {
  const { page } = first;
  await page.getByRole('button', { name: 'Show changes and files beside the pane' }).click();
  const beside = page.getByRole('complementary', { name: 'Work of coder' });
  await line(page, 'added', 'let sum = 1').waitFor();
  await looked(page, 'diff-beside');
  await beside.getByRole('button', { name: 'src/total.ts', exact: true }).click();
  const text = beside.getByRole('region', { name: 'Text of src/total.ts' });
  await expect
    .poll(() =>
      text
        .locator('[data-line-number="1"] span', { hasText: /^export/ })
        .last()
        .getAttribute('style'),
    )
    .toContain('--code-token-keyword');
  await looked(page, 'diff-file');
  await page.reload();
  await text.waitFor();
});

test('the tree is walked with the keyboard, and what is there now is shown: no text, no file any more, a strange name', async () => {
  const { page } = first;
  writeFileSync(join(worktree, 'src', 'turn\u202etxt.exe'), Buffer.from([77, 90, 0, 1]));
  writeFileSync(join(worktree, 'soon.txt'), 'not for long');
  await page.goto(`${gantry.origin}/floor`);
  await page.locator('[data-bot="coder@code"]').click();
  await page.getByRole('tab', { name: 'Changes' }).click();
  await page.getByRole('button', { name: 'Show changes and files beside the pane' }).press('Enter');
  await expect.poll(() => focusedName(page)).toBe('Changes');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Tab');
  const tree = page.getByRole('tree', { name: 'Files of coder' });
  await tree.getByText('soon.txt').waitFor();
  await tree.focus();
  await page.keyboard.press('End');
  await page.keyboard.press('Enter');
  const beside = page.getByRole('complementary', { name: 'Work of coder' });
  await beside.getByText('not for long').waitFor();
  rmSync(join(worktree, 'soon.txt'));
  await page.reload();
  await beside.getByText('"soon.txt" is not there.').waitFor();
  await tree.focus();
  await page.keyboard.press('Home');
  await page.keyboard.press('ArrowRight');
  await tree.getByText('turn<U+202E>txt.exe').waitFor();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await beside.getByText('This file is binary: it has no text to show.').waitFor();
  expect(await axe(page)).toEqual([]);
  rmSync(join(worktree, 'src', 'turn\u202etxt.exe'));
  await beside.getByRole('button', { name: 'Close' }).click();
  await page.getByRole('complementary', { name: 'Inspector' }).waitFor();
});

test('a path in the pane opens the diff at its line where it changed, else the file at it; other words are no links', async () => {
  const { page } = first;
  await page.goto(`${gantry.origin}/floor`);
  await typeInto(page, 'shell@code', "clear; printf '%s\\n' src/total.ts:2 src/total.ts:20 src/none.ts:1");
  const pane = page.getByRole('region', { name: 'Pane of shell', exact: true });
  const rows = pane.locator('.xterm-rows > div');
  const pointAt = async (row: Locator): Promise<{ x: number; y: number }> => {
    const box = await row.boundingBox();
    if (box === null) throw new Error('The row is not there.');
    const at = { x: box.x + 30, y: box.y + box.height / 2 };
    await page.mouse.move(at.x, at.y);
    return at;
  };
  const pointer = page.locator('.xterm-cursor-pointer');
  /** A terminal looks for links when the mouse comes to a row, and forgets them when it draws the row again, as with a new size. */
  const clickLink = async (text: RegExp): Promise<void> => {
    let at = { x: 0, y: 0 };
    const found = async () => {
      await pointAt(rows.last());
      at = await pointAt(rows.filter({ hasText: text }));
      return pointer.waitFor({ timeout: 3000 }).then(
        () => true,
        () => false,
      );
    };
    await expect.poll(found).toBe(true);
    await page.mouse.click(at.x, at.y);
  };
  await rows.filter({ hasText: /^src\/none\.ts:1/ }).waitFor();
  await clickLink(/^src\/total\.ts:2\s*$/);
  const beside = page.getByRole('complementary', { name: 'Work of shell' });
  const marked = beside.locator('[role="row"][aria-selected="true"]');
  await expect.poll(() => marked.textContent()).toContain('let sum = 1');
  await clickLink(/^src\/total\.ts:20\s*$/);
  const current = beside.locator('[aria-current="location"]');
  await expect.poll(() => current.textContent()).toBe('20// 20');
  await looked(page, 'diff-path');
  const asked = page.waitForResponse((answer) => answer.url().includes('none.ts'));
  await pointAt(rows.filter({ hasText: /^src\/none\.ts:1\s*$/ }));
  expect(await (await asked).json()).toMatchObject({ path: null });
  await expect.poll(() => pointer.count()).toBe(0);
});

test('without a mouse a key lists the files that the pane names, and Enter opens one at its line', async () => {
  const { page } = first;
  await page.goto(`${gantry.origin}/floor`);
  // One that is longer than a row goes on in the next.
  const deep = `src/${'deep/'.repeat(24)}end.ts`;
  mkdirSync(join(ofShell, deep, '..'), { recursive: true });
  writeFileSync(join(ofShell, deep), '// The end.\n');
  await typeInto(page, 'shell@code', `clear; printf '%s\\n' ${deep}:1 src/none.ts:1 src/total.ts:20`);
  const pane = page.getByRole('region', { name: 'Pane of shell', exact: true });
  await pane.locator('.xterm-rows > div', { hasText: /^src\/total\.ts:20/ }).waitFor();
  await page.keyboard.press('Control+Shift+O');
  const dialog = page.getByRole('dialog', { name: 'Files named by shell' });
  await inFocus(dialog.getByRole('button', { name: 'src/total.ts:20' }));
  await dialog.getByRole('button', { name: `${deep}:1` }).waitFor();
  expect(await dialog.getByRole('button', { name: /none/ }).count()).toBe(0);
  expect(await axe(page)).toEqual([]);
  await page.keyboard.press('Enter');
  const current = page.getByRole('complementary', { name: 'Work of shell' }).locator('[aria-current="location"]');
  await expect.poll(() => current.textContent()).toBe('20// 20');
  await expect.poll(() => focusedName(page)).toBe('Terminal of shell');
});

test('a diff of fifty thousand lines scrolls, with few rows drawn, and its last line can be commented on', async () => {
  const { page } = first;
  writeFileSync(join(ofShell, 'long.txt'), Array.from({ length: 60_000 }, (_, at) => `line ${at}\n`).join(''));
  await page.goto(`${gantry.origin}/floor`);
  await page.locator('[data-bot="shell@code"]').click();
  await page.getByRole('tab', { name: 'Changes' }).click();
  const long = page.getByRole('grid', { name: 'What shell changed' });
  await long.locator('[data-line="added"]').first().waitFor();
  await long.focus();
  await page.keyboard.press('End');
  await long.locator('[aria-selected="true"]').waitFor();
  expect(await long.locator('[role="row"]').count()).toBeLessThan(200);
  await page.keyboard.press('c');
  await page.keyboard.type('The end.');
  await page.keyboard.press('Control+Enter');
  await page.getByRole('button', { name: 'Send 1 comment' }).waitFor();
});

test('on a phone a tap beside a line comments on it', async () => {
  const phone = await visit(browser, await gantry.newUrl(), { width: narrow.width, height: narrow.height });
  const { page } = phone;
  await page.getByRole('heading', { name: 'Home', level: 1 }).waitFor();
  await page.goto(`${gantry.origin}/floor`);
  await page.locator('[data-bot="coder@code"]').tap();
  await page.getByRole('button', { name: 'Show the inspector' }).tap();
  await page.getByRole('tab', { name: 'Changes' }).tap();
  await line(page, 'added', 'let sum = 1').locator('[data-gutter]').tap();
  await page.getByRole('textbox', { name: 'Comment on src/total.ts, line 2' }).fill('From the train.');
  await page.getByRole('button', { name: 'Add comment' }).tap();
  await page.getByRole('button', { name: 'Send 1 comment' }).waitFor();
  await looked(page, 'diff-comments');
  await page.getByRole('button', { name: 'Show changes and files beside the pane' }).tap();
  await page.getByRole('tab', { name: 'Files' }).tap();
  await page.getByRole('treeitem', { name: 'src' }).tap();
  await page.getByRole('treeitem', { name: 'total.ts' }).tap();
  await page.getByRole('region', { name: 'Text of src/total.ts' }).waitFor();
  await looked(page, 'diff-file');
  await page.getByRole('button', { name: 'Back to the files' }).tap();
  await page.getByRole('treeitem', { name: 'total.ts' }).waitFor();
  await phone.close();
});
