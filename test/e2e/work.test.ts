/** Work on the real product: a run from its form, the board and the graph as they move, proofs in place, gate and ledger. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  axe,
  type Browser,
  chord,
  focusedName,
  go,
  openBrowser,
  type Page,
  type Visit,
  visit,
} from './support/browser.ts';
import { type Gantry, startGantry } from './support/gantry.ts';
import { looked, narrow, wide } from './support/looks.ts';
import { writeShipTemplate } from './support/ship-template.ts';

let gantry: Gantry;
let browser: Browser;
let first: Visit;
let files: { picture: string; diff: string };
let dagId: string;
/** Where the step that waits for a person is shown. */
let reviewAddress: string;

beforeAll(async () => {
  [gantry, browser] = await Promise.all([startGantry(), openBrowser()]);
  first = await visit(browser, gantry.url);
  await first.page.getByRole('heading', { name: 'Home', level: 1 }).waitFor();
  // The picture is a proof below, and what the documentation shows of one.
  await first.page.waitForFunction(() => document.querySelector('[data-state="loading"]') === null);
  files = writeShipTemplate(gantry.workspace, await first.page.screenshot());
  await gantry.agree();
});
afterAll(async () => {
  await browser?.close();
  await gantry?.remove();
});

const column = (page: Page, name: string) => page.getByRole('region', { name, exact: true });
const card = (page: Page, step: string) => page.getByRole('main').locator(`[data-node="${step}"]`);

test('without a campaign the page says what will be here, and starts a run by a key', async () => {
  const { page } = first;
  await chord(page, 'g', 'w');
  await page.getByRole('heading', { name: 'Work', level: 1 }).waitFor();
  await page.getByText('Your campaigns appear here').waitFor();
  await page.keyboard.press('s');
  const dialog = page.getByRole('dialog', { name: 'Start a run' });
  await dialog.waitFor();
  // Whoever came by a key goes on by keys: the first field has the focus, not the cross that closes.
  await expect
    .poll(() => dialog.getByRole('combobox', { name: 'Template' }).evaluate((one) => one === document.activeElement))
    .toBe(true);
});

test('a template of the workspace is deleted once its file was named, and Ctrl Z brings it back byte for byte', async () => {
  const { page } = first;
  const path = join(gantry.workspace, '.gantry/templates/ship.json');
  const before = readFileSync(path);
  const start = page.getByRole('dialog', { name: 'Start a run' });
  const templates = start.getByRole('combobox', { name: 'Template' });
  const dialog = page.getByRole('dialog', { name: /^Delete the template/ });
  const ask = async () => {
    await templates.selectOption('ship');
    await start.getByRole('button', { name: 'Delete template' }).click();
    await dialog.getByText('.gantry/templates/ship.json').waitFor();
  };
  const remove = async () => {
    await dialog.getByRole('button', { name: 'Delete template' }).click();
    // The file goes before its dialog does, and only the form behind it is left.
    await expect.poll(() => existsSync(path)).toBe(false);
    await dialog.waitFor({ state: 'detached' });
    await templates.waitFor();
    await expect.poll(() => templates.locator('option[value="ship"]').count()).toBe(0);
  };
  await ask();
  await looked(page, 'template-delete');
  expect(existsSync(path)).toBe(true);
  await remove();
  // The toast lies over the form: its button takes the delete back, and the form stays open.
  await page.getByRole('button', { name: 'Undo' }).click();
  await expect.poll(() => existsSync(path) && readFileSync(path).equals(before)).toBe(true);
  await templates.locator('option[value="ship"]').waitFor({ state: 'attached' });
  await ask();
  await remove();
  // Those that ship with Gantry cannot be deleted.
  expect(await start.getByRole('button', { name: 'Delete template' }).count()).toBe(0);
  await page.keyboard.press('Escape');
  await start.waitFor({ state: 'detached' });
  await page.keyboard.press('Control+z');
  await expect.poll(() => existsSync(path) && readFileSync(path).equals(before)).toBe(true);
  await page.keyboard.press('s');
  await templates.selectOption('ship');
});

test('the form is made from the template, names what is missing, and shows the plan before anything starts', async () => {
  const { page } = first;
  const dialog = page.getByRole('dialog', { name: 'Start a run' });
  await dialog.getByRole('combobox', { name: 'Template' }).selectOption('ship');
  await dialog.getByRole('textbox', { name: 'version' }).waitFor();
  await expect.poll(() => dialog.getByRole('textbox', { name: 'channel' }).inputValue()).toBe('beta');
  await page.keyboard.press('Control+Enter');
  await expect.poll(() => dialog.getByText('Required.').count()).toBe(2);
  await dialog.getByRole('textbox', { name: 'version' }).fill('0.4.0');
  await dialog.getByRole('textbox', { name: 'Campaign title' }).fill('Ship 0.4');
  await dialog.getByRole('textbox', { name: 'Intent' }).fill('People can install 0.4.');
  await page.keyboard.press('Control+Enter');
  const plan = dialog.getByRole('region', { name: 'Plan' });
  await plan.getByText('scribe@demo').waitFor();
  await expect.poll(() => plan.locator('[data-plan]').count()).toBe(6);
  await expect.poll(() => plan.getByText('Build 0.4.0').count()).toBe(1);
  // Another value: the plan that was shown no longer holds.
  await dialog.getByRole('textbox', { name: 'channel' }).fill('stable');
  await plan.waitFor({ state: 'detached' });
  const before = await gantry.cli('workspace', 'campaigns', '--json');
  expect(JSON.parse(before.out)).toEqual({ campaigns: [] });
  await page.keyboard.press('Control+Enter');
  await expect.poll(() => focusedName(page)).toBe('Start 6 steps');
  await page.keyboard.press('Enter');
  await dialog.waitFor({ state: 'detached' });
  await page.getByRole('heading', { name: 'Ship 0.4', level: 1 }).waitFor();
  const shownDag = () => new URL(page.url()).searchParams.get('dag') ?? '';
  await expect.poll(shownDag).not.toBe('');
  dagId = shownDag();
});

test('the board moves by events: what works is under Now, what is done under Done, the rest under Next', async () => {
  const { page } = first;
  await column(page, 'Now').locator('[data-node="build"]').waitFor();
  await column(page, 'Done').locator('[data-node="style"]').waitFor();
  await column(page, 'Done').locator('[data-node="tests"]').waitFor();
  await column(page, 'Next').locator('[data-node="publish"]').getByText('after:').waitFor();
  await page.getByText('2 of 6 done').first().waitFor();
  writeFileSync(join(gantry.workspace, 'go'), '');
  await column(page, 'Done').locator('[data-node="build"]').waitFor();
  await column(page, 'Next').locator('[data-node="review"]').waitFor();
});

test('a bot that starts is given its step, and the board shows it at work', async () => {
  const { page } = first;
  await gantry.cli('teams', 'up', 'demo', '--json');
  await column(page, 'Now').locator('[data-node="review"]').waitFor({ timeout: 60_000 });
});

test('what the bot of a step asks is answered on its card: with words, with a rule, and by a key that waits until it was read', async () => {
  const { page } = first;
  const screen = async () => (await gantry.cli('agents', 'capture', 'scribe@demo')).out;
  const question = (command: string) =>
    column(page, 'Needs you')
      .getByRole('article')
      .filter({ hasText: command })
      .filter({ has: page.locator('form') });
  const ask = async (command: string) => {
    const line = `clear; gantry gate check shell.exec --wait 600 --command '${command}' && echo allowed-$?`;
    await gantry.cli('agents', 'input', 'scribe@demo', line, '--key', 'Enter');
    await question(command).waitFor();
  };
  await ask('rm -rf dist');
  await card(page, 'review').and(page.locator('[data-asks]')).getByText('Needs you').waitFor();
  await looked(page, 'board-question');
  await question('rm -rf dist').getByRole('textbox').fill('keep the build');
  await question('rm -rf dist').and(page.locator('[data-keys="answer"]')).waitFor();
  await question('rm -rf dist').getByRole('button', { name: 'Reject' }).click();
  await expect.poll(screen).toContain('keep the build');
  await column(page, 'Now')
    .getByText(/Rejected by you in the browser/)
    .waitFor();

  await ask('npm run docs');
  await question('npm run docs').getByRole('button', { name: 'Always allow' }).click();
  const dialog = page.getByRole('dialog', { name: 'Always allow this' });
  await dialog.getByRole('region', { name: 'The rule' }).getByText('command: "npm run docs"').waitFor();
  await dialog.getByRole('button', { name: 'Add the rule and approve' }).click();
  await dialog.waitFor({ state: 'detached' });
  await expect.poll(screen).toMatch(/^allowed-0/m);

  await ask('npm publish');
  const aKey = question('npm publish').and(page.locator('[aria-current][data-keys="answer"]'));
  await aKey.waitFor();
  // With the focus on another step no key answers.
  await card(page, 'build').focus();
  await page.keyboard.press('a');
  await page.keyboard.press('r');
  expect(JSON.parse((await gantry.cli('workspace', 'approvals', '--json')).out).approvals).toHaveLength(1);
  await card(page, 'review').focus();
  await aKey.waitFor();
  await page.keyboard.press('a');
  await expect.poll(screen).toMatch(/^allowed-0/m);
  await column(page, 'Now')
    .getByText(/Approved by you in the browser/)
    .waitFor();
});

test('a step shows its picture and its diff in place as they are uploaded, with the delivery and the reason', async () => {
  const { page } = first;
  await card(page, 'review').click();
  const step = page.getByRole('region', { name: 'Step', exact: true });
  await step.getByText('scribe@demo').first().waitFor();
  await step.locator('[data-why]').waitFor();
  await step.getByText('numbers line up').waitFor();
  await step.getByRole('region', { name: 'Deliveries' }).getByText('Verified').waitFor();
  for (const [line, file] of [
    ['How it looks', files.picture],
    ['What changed', files.diff],
  ] as const) {
    const { code, err } = await gantry.cli('workspace', 'proof', dagId, 'review', '--line', line, file);
    expect([code, err]).toEqual([0, expect.any(String)]);
  }
  const image = step.locator('[data-kind="image"] img');
  await image.waitFor();
  await expect.poll(() => image.evaluate((element: HTMLImageElement) => element.naturalWidth)).toBeGreaterThan(300);
  const diff = step.locator('[data-kind="diff"]');
  await diff.locator('[data-line="added"]').getByText('toSorted').waitFor();
  await expect.poll(() => diff.locator('[data-line="removed"]').count()).toBe(1);
  await step.locator('[data-proof="What changed"]').getByText('proven:').waitFor({ state: 'attached' });
});

test('the step can be shown large and beside the board again, and Escape gives the focus back to its card', async () => {
  const { page } = first;
  await page.getByRole('button', { name: 'Show full width' }).click();
  await card(page, 'review').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Show beside the board' }).click();
  await card(page, 'review').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('region', { name: 'Step', exact: true }).waitFor({ state: 'detached' });
  await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute('data-node'))).toBe('review');
});

test('the graph has a node for each step in its column, goes by arrow keys, and lights the way to the chosen one', async () => {
  const { page } = first;
  await page.keyboard.press('d');
  // Edges are drawn once the nodes have been measured.
  await expect.poll(() => page.locator('.react-flow__node').count()).toBe(6);
  await expect.poll(() => page.locator('.react-flow__edge.loop').count()).toBe(1);
  const leftOf = (step: string) =>
    page
      .locator('.react-flow__node', { has: page.locator(`[data-node="${step}"]`) })
      .boundingBox()
      .then((box) => Math.round(box?.x ?? 0));
  // The whole may move while it is fitted into its place.
  await expect.poll(async () => (await leftOf('tests')) - (await leftOf('style'))).toBe(0);
  await expect.poll(async () => (await leftOf('build')) - (await leftOf('style'))).toBeGreaterThan(0);
  await page.keyboard.press('e');
  await page.locator('.react-flow__node', { has: page.locator('[data-node="style"]') }).focus();
  await page.keyboard.press('ArrowRight');
  await expect.poll(() => focusedName(page)).toContain('Build 0.4.0');
  await page.keyboard.press('Enter');
  await page.getByRole('region', { name: 'Step', exact: true }).getByRole('heading', { name: 'Build 0.4.0' }).waitFor();
  await expect.poll(() => page.locator('.react-flow__edge.lit').count()).toBe(1);
  const step = page.getByRole('region', { name: 'Step', exact: true });
  await step.locator('[data-kind="text"]').getByText('built 0.4.0').waitFor();
  await page.keyboard.press('Escape');
  await step.waitFor({ state: 'detached' });
});

test('the graph follows events too, and the window event opens a step from anywhere', async () => {
  const { page } = first;
  const done = await gantry.cli(
    'agents',
    'input',
    'scribe@demo',
    `gantry workspace done ${dagId} review`,
    '--key',
    'Enter',
  );
  expect([done.code, done.err]).toEqual([0, '']);
  await page.locator('[data-node="review"][data-status="needs_you"]').waitFor();
  await chord(page, 'g', 'h');
  await page.getByRole('heading', { name: 'Home', level: 1 }).waitFor();
  const nodes = JSON.parse((await gantry.cli('workspace', 'nodes', '--json')).out) as {
    nodes: { nodeId: string; stepId: string }[];
  };
  const nodeId = nodes.nodes.find((one) => one.stepId === 'review')?.nodeId ?? '';
  await page.evaluate((detail) => window.dispatchEvent(new CustomEvent('platform:factory-open-node', { detail })), {
    dagId,
    nodeId,
  });
  await page
    .getByRole('region', { name: 'Step', exact: true })
    .getByRole('heading', { name: 'Look at the page' })
    .waitFor();
  await page
    .locator('[data-why]')
    .getByText(/accept/)
    .waitFor();
  reviewAddress = page.url();
});

describe.each([wide, narrow])('in a $name window', (size) => {
  const isNarrow = size === narrow;
  let seen: Visit;
  beforeAll(async () => {
    seen = isNarrow ? await visit(browser, `${gantry.origin}/`, { ...size, like: first.context }) : first;
  });
  afterAll(async () => {
    expect(seen.errors).toEqual([]);
    if (isNarrow) await seen.close();
  });

  test('the board', async () => {
    const { page } = seen;
    await go(page, '/work');
    if (isNarrow) {
      await page.locator('[data-campaign]').waitFor();
      await looked(page, 'campaigns');
    }
    await page.locator('[data-campaign]').click();
    await page.locator('[data-node="publish"]').waitFor();
    await looked(page, 'board');
  });

  test('the graph with a step beside it', async () => {
    const { page } = seen;
    await page.getByRole('button', { name: 'Graph' }).click();
    await page.locator('.react-flow__node').first().waitFor();
    if (isNarrow) await looked(page, 'dag');
    await page.locator('.react-flow__node', { hasText: 'Look at the page' }).click();
    const step = page.getByRole('region', { name: 'Step', exact: true });
    await step.locator('[data-kind="image"] img').waitFor();
    await step.locator('[data-line="added"]').first().waitFor();
    await looked(page, isNarrow ? 'node' : 'dag');
    if (isNarrow) return;
    await page.getByRole('button', { name: 'Show full width' }).click();
    await step.locator('[data-line="added"]').first().waitFor();
    await looked(page, 'node');
    await page.getByRole('button', { name: 'Show beside the board' }).click();
  });

  test('the waves, and the form that starts a run with its plan', async () => {
    const { page } = seen;
    await go(page, '/work?view=waves&start=ship');
    const dialog = page.getByRole('dialog', { name: 'Start a run' });
    await dialog.getByRole('textbox', { name: 'version' }).fill('0.5.0');
    await dialog.getByRole('combobox', { name: 'Campaign' }).selectOption({ label: 'Ship 0.4' });
    await page.keyboard.press('Control+Enter');
    await dialog.locator('[data-plan]').first().waitFor();
    await looked(page, 'start', { light: false });
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    if (isNarrow) await page.locator('[data-campaign]').click();
    else await page.getByText(/^Wave 1/).waitFor();
    await looked(page, 'waves', { light: false });
  });

  test('the ledger with a row', async () => {
    const { page } = seen;
    await go(page, '/ledger');
    await page.locator('[data-ledger]').nth(2).click();
    await page.getByRole('region', { name: 'Body' }).waitFor();
    await looked(page, 'ledger', { light: false });
  });
});

test('a verb of a step shows the server’s plan first; the run ends and the whole board is done', async () => {
  const { page } = first;
  await go(page, reviewAddress);
  const step = page.getByRole('region', { name: 'Step', exact: true });
  await step.getByRole('button', { name: 'Accept' }).click();
  await page
    .getByRole('dialog', { name: /Accept/ })
    .getByText('accepted by a person')
    .waitFor();
  await page.locator('[data-node="review"][data-status="needs_you"]').waitFor();
  await page.keyboard.press('Control+Enter');
  const gate = page.locator('[data-node="publish"][data-status="needs_you"]');
  await gate.waitFor();
  await gate.click();
  await step.getByText('Publish to the registry?').first().waitFor();
  await step.getByRole('button', { name: 'Open the gate' }).click();
  const dialog = page.getByRole('dialog', { name: /Open the gate/ });
  await dialog.getByText('its gate is open').waitFor();
  await page.keyboard.press('Control+Enter');
  await dialog.waitFor({ state: 'detached' });
  await page.locator('[data-node="tell"][data-status="done"]').waitFor();
  await step.getByRole('region', { name: 'History' }).getByText('Needs you').waitFor();
  await page.keyboard.press('b');
  await expect.poll(() => column(page, 'Done').locator('[data-node]').count()).toBe(6);
  await page.getByText('6 of 6 done').first().waitFor();
  await page.keyboard.press('w');
  await page.getByText('Wave 1 · 2 of 2 done').waitFor();
});

test('the report of a run opens beside the page, runs no script, and prints every step', async () => {
  const { page } = first;
  // Of the only run of a campaign it is on the board, too.
  await page.getByRole('link', { name: 'Report', exact: true }).waitFor();
  await page.keyboard.press('d');
  await page.getByRole('button', { name: 'Graph', pressed: true }).waitFor();
  const [report] = await Promise.all([
    page.waitForEvent('popup'),
    page.getByRole('link', { name: 'Report', exact: true }).click(),
  ]);
  await report.getByRole('heading', { level: 1 }).waitFor();
  // With its own style, also as it comes through the cloud.
  expect(await report.locator('dl').evaluate((list) => getComputedStyle(list).display)).toBe('grid');
  expect(new URL(report.url()).pathname).toMatch(/^\/api\/factory\/dags\/dag_[^/]+\/report$/);
  await report.emulateMedia({ media: 'print' });
  for (const title of ['Look at the page', 'Publish'])
    await report.getByText(title).filter({ visible: true }).first().waitFor();
  expect((await report.pdf()).subarray(0, 5).toString()).toBe('%PDF-');
  await report.close();
});

test('how long each step worked and waited is drawn, with a table and a file', async () => {
  const { page } = first;
  await page.keyboard.press('t');
  const chart = page.getByRole('figure', { name: 'Step times' });
  await chart.locator('canvas').waitFor();
  await looked(page, 'times');
  await chart.getByText('Table', { exact: true }).click();
  const table = chart.getByRole('table', { name: 'Step times' });
  expect(await table.getByRole('columnheader').allTextContents()).toEqual(stepTimeHeads);
  expect(await table.getByRole('rowheader').count()).toBe(6);
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    chart.getByRole('button', { name: 'Download CSV' }).click(),
  ]);
  const [head, ...rows] = readFileSync(await file.path(), 'utf8')
    .trim()
    .split('\r\n');
  expect(head).toBe('Step,Working (seconds),Checking (seconds),Needs you (seconds),Waiting (seconds)');
  expect(rows).toHaveLength(6);
  // On a narrow screen an open step takes the whole page.
  await page.keyboard.press('Escape');
  await page.getByRole('region', { name: 'Step', exact: true }).waitFor({ state: 'detached' });
  await page.setViewportSize(narrow);
  await chart.locator('canvas').waitFor();
  await looked(page, 'times');
  await page.setViewportSize(wide);
});

const stepTimeHeads = ['Step', 'Working', 'Checking', 'Needs you', 'Waiting'];

test('a board that cannot be read keeps its last state, dimmed, says why, and comes back', async () => {
  const { page, errors } = first;
  await page.keyboard.press('b');
  await page.route('**/board', (route) => route.abort());
  // Something happens: the board is read again and cannot be.
  await gantry.cli('workflows', 'run', 'command', '--project', 'other', '--param', 'command=true', '--json');
  const main = page.getByRole('main');
  await main.getByRole('alert').getByText('Nobody answers at Gantry.').waitFor();
  await expect.poll(() => main.locator('[data-stale] [data-node="publish"]').count()).toBe(1);
  await page.unroute('**/board');
  // By hand, unless its own retry was first: the button is gone then.
  await main
    .getByRole('button', { name: /Try again/ })
    .evaluateAll(([button]) => (button as HTMLElement | undefined)?.click());
  await main.locator('[data-stale]').waitFor({ state: 'detached' });
  await main.locator('[data-node="publish"]').waitFor();
  expect(errors.filter((text) => !text.includes('ERR_FAILED'))).toEqual([]);
  errors.length = 0;
});

test('the ledger shows what happened as it happens, by kind, and its verdict names the head', async () => {
  const { page } = first;
  await chord(page, 'g', 'l');
  await page.getByRole('heading', { name: 'Ledger', level: 1 }).waitFor();
  await page.locator('[data-ledger]').first().waitFor();
  await page.keyboard.press('/');
  await expect.poll(() => focusedName(page)).toBe('Kind');
  await page.keyboard.type('proof.recorded');
  await page.keyboard.press('Enter');
  // The rows from before stand there until the new ones are asked for.
  const kinds = () =>
    page.locator('[data-kind]').evaluateAll((all) => [...new Set(all.map((one) => one.getAttribute('data-kind')))]);
  await expect.poll(kinds).toEqual(['proof.recorded']);
  await expect.poll(() => page.locator('[data-ledger]').count()).toBeGreaterThanOrEqual(7);
  await page.getByRole('searchbox', { name: 'Kind' }).fill('');
  await page.keyboard.press('Enter');
  await expect.poll(async () => (await kinds()).length).toBeGreaterThan(1);
  const newest = () => page.locator('[data-ledger]').first().getAttribute('data-ledger').then(Number);
  await expect.poll(newest).toBeGreaterThan(0);
  const before = await newest();
  await gantry.cli('orchestration', 'send', 'tester@demo', 'true', '--json');
  await expect.poll(newest).toBeGreaterThan(before);
  await page.getByText(/^You → tester@demo: true · verified by its hook$/).waitFor();
  expect((await gantry.cli('ledger', 'query', '--type', 'delivery', '--limit', '1')).out).toContain(
    'You → tester@demo: true · ',
  );
  await page.keyboard.press('Escape');
  await page.keyboard.press('Enter');
  await page.getByRole('region', { name: 'Body' }).waitFor();
  await page.keyboard.press('v');
  await page.locator('[data-verdict="sound"]').getByText('The ledger is intact').waitFor();
  expect(first.errors).toEqual([]);
});

test('what a bot changed on its branch is beside its pane, and is merged after its plan was shown', async () => {
  const { page, errors } = first;
  const git = (...words: string[]) =>
    execFileSync('git', ['-c', 'user.name=Test', '-c', 'user.email=test@example.com', ...words], {
      cwd: gantry.workspace,
      encoding: 'utf8',
    });
  git('init', '-q', '-b', 'main');
  git('add', 'wordcount');
  git('commit', '-q', '-m', 'The sample');
  const team = join(gantry.workspace, '.gantry', 'teams', 'code');
  mkdirSync(team, { recursive: true });
  writeFileSync(join(team, 'team.yaml'), 'bots:\n  - bot: coder\n    harness: shell\n    worktree: true\n');
  await gantry.agree();
  const up = await gantry.cli('teams', 'up', 'code', '--json');
  expect([up.code, up.err]).toEqual([0, '']);
  await go(page, '/floor');
  await page.locator('[data-bot="coder@code"]', { hasText: 'Idle' }).waitFor();
  await gantry.cli(
    'agents',
    'input',
    'coder@code',
    'echo shorter > wordcount/README.md; echo ready-$((1+1))',
    '--key',
    'Enter',
  );
  await expect.poll(async () => (await gantry.cli('agents', 'capture', 'coder@code')).out).toMatch(/^ready-2/m);
  await page.locator('[data-bot="coder@code"]').click();
  await page.getByRole('tab', { name: 'Changes' }).click();
  const changes = page.getByRole('tabpanel', { name: 'Changes' });
  await changes.locator('[data-change]', { hasText: 'README.md' }).waitFor();
  await changes.locator('[data-line="added"]', { hasText: 'shorter' }).waitFor();
  expect(await axe(page)).toEqual([]);
  await changes.getByRole('button', { name: 'Merge' }).click();
  const dialog = page.getByRole('dialog', { name: /Merge the work of coder/ });
  await dialog.getByRole('textbox', { name: /Commit message/ }).fill('Shorten the README');
  await dialog.getByRole('list').waitFor();
  expect(git('log', '--oneline')).not.toContain('Shorten');
  await expect.poll(() => dialog.getByRole('button', { name: /^Merge \d+ commit/ }).isEnabled()).toBe(true);
  await page.keyboard.press('Control+Enter');
  // What it says stands in the failure, should it stay.
  await dialog.waitFor({ state: 'detached' }).catch(async (error: unknown) => {
    throw new Error(`The dialog stays open: ${await dialog.textContent()}`, { cause: error });
  });
  await changes.getByText('No changes yet.').waitFor();
  expect(git('log', '--oneline')).toContain('Shorten the README');
  // Refused plans before the message was typed are lines of the browser; nothing else may be there.
  expect(errors.filter((text) => !/status of (400|409)/.test(text))).toEqual([]);
});

test('a step that was proven since the last look at Home is one row: its title, its proofs, its diff, and the way to it', async () => {
  const { page, errors } = first;
  errors.length = 0;
  // Home counts as looked at once it is left.
  await go(page, '/');
  await page.getByRole('heading', { name: 'Home', level: 1 }).waitFor();
  await go(page, '/work');
  const steps = [{ id: 'mend', title: 'Mend the README', executor: 'bot:coder@code' }];
  writeFileSync(join(gantry.workspace, '.gantry', 'templates', 'mend.json'), JSON.stringify({ name: 'Mend', steps }));
  await gantry.agree();
  const started = await gantry.cli('workflows', 'run', 'mend', '--project', 'mending', '--json');
  expect([started.code, started.err]).toEqual([0, '']);
  const { dagId: mending } = JSON.parse(started.out) as { dagId: string };
  const stepOf = async () => {
    const { nodes } = JSON.parse((await gantry.cli('workspace', 'nodes', '--all', '--json')).out) as {
      nodes: { dagId: string; status: string }[];
    };
    return nodes.find((one) => one.dagId === mending)?.status;
  };
  await expect.poll(stepOf).toBe('working');
  // What it got is on its screen: what is typed now comes after it.
  await expect.poll(async () => (await gantry.cli('agents', 'capture', 'coder@code')).out).toContain('workspace done');
  const line = `echo mended > wordcount/README.md; gantry workspace done ${mending} mend`;
  await gantry.cli('agents', 'input', 'coder@code', line, '--key', 'Enter');
  await expect.poll(stepOf).toBe('done');
  await go(page, '/');
  const since = page.getByRole('region', { name: 'Since you last looked' });
  const row = since.getByRole('listitem').filter({ hasText: 'Mend the README' });
  await row.getByText('The diff of its worktree').waitFor();
  expect(await row.count()).toBe(1);
  await looked(page, 'home-since', { light: true });
  await row.getByRole('button', { name: /^\+1 −1 in 1 file.*changes for Mend the README$/ }).click();
  const sheet = page.getByRole('dialog', { name: 'Changes: Mend the README' });
  await sheet.getByText('+mended', { exact: true }).waitFor();
  await page.keyboard.press('Escape');
  await sheet.waitFor({ state: 'detached' });
  await page.setViewportSize(narrow);
  await looked(page, 'home-since');
  await page.setViewportSize(wide);
  await row.getByRole('link').click();
  await page
    .getByRole('region', { name: 'Step', exact: true })
    .getByRole('heading', { name: 'Mend the README' })
    .waitFor();
  expect(errors).toEqual([]);
});
