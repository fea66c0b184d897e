/** Work that nobody watches: a step whose bot has fallen silent, and a run that has used up its budget, as a person finds them. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Browser, go, openBrowser, type Page, type Visit, visit } from './support/browser.ts';
import { type Gantry, startGantry } from './support/gantry.ts';
import { looked, narrow } from './support/looks.ts';
import { ownerCall } from './support/owner-call.ts';

let gantry: Gantry;
let browser: Browser;
let first: Visit;
let small: Visit;

beforeAll(async () => {
  [gantry, browser] = await Promise.all([startGantry({ workspace: 'empty' }), openBrowser()]);
  const team = join(gantry.workspace, '.gantry', 'teams', 'red');
  mkdirSync(team, { recursive: true });
  const bots = ['coder', 'writer'].map((bot) => `  - { bot: ${bot}, role: ${bot}, harness: shell }\n`);
  writeFileSync(join(team, 'team.yaml'), `bots:\n${bots.join('')}`);
  const templates = join(gantry.workspace, '.gantry', 'templates');
  mkdirSync(templates, { recursive: true });
  const build = { id: 'build', title: 'Build the page', command: 'true', blocked_by: ['fix'] };
  writeFileSync(
    join(templates, 'silent.json'),
    JSON.stringify({
      name: 'Mend the search',
      silence: { minutes: 0.03, nudge: false },
      steps: [{ id: 'fix', title: 'Mend the search field', executor: 'role:coder' }, build],
    }),
  );
  writeFileSync(
    join(templates, 'dear.json'),
    JSON.stringify({
      name: 'Write the manual',
      silence: { minutes: 0 },
      budget: { usd: 5, minutes: 0.05 },
      steps: [{ id: 'fix', title: 'Write the chapters', executor: 'role:writer' }, build],
    }),
  );
  await gantry.agree();
  await ownerCall(gantry, 'POST', '/api/factory/teams/red/up', {});
  first = await visit(browser, gantry.url);
  await first.page.getByRole('heading', { name: 'Home', level: 1 }).waitFor();
  small = await visit(browser, `${gantry.origin}/`, { ...narrow, like: first.context });
});
afterAll(async () => {
  await browser?.close();
  await gantry?.remove();
});

async function run(template: string): Promise<string> {
  const started = await gantry.cli('workflows', 'run', template, '--project', template, '--json');
  expect(started.code, started.err).toBe(0);
  return (JSON.parse(started.out) as { dagId: string }).dagId;
}
const bothWindows = async (path: string, name: string, ready: (page: Page) => Promise<unknown>) => {
  for (const { page } of [first, small]) {
    await go(page, path);
    await ready(page);
    await looked(page, name);
  }
};

test('a step whose bot is silent needs its person, on the board, on its page, on Home and in the command line', async () => {
  const dagId = await run('silent');
  const waited = await gantry.cli('wait', 'fix', '--run', dagId, '--for', 'needs_you', '--timeout', '1m', '--json');
  expect(waited.code, waited.err).toBe(0);
  expect(JSON.parse(waited.out)).toMatchObject({ state: 'needs_you', cause: 'stalled' });
  const shown = await gantry.cli('workspace', 'nodes');
  expect(shown.out).toMatch(/its bot has been silent: it may be stuck/);
  const said = /Nothing for \d+ seconds: it is at its prompt and has not reported/;
  await bothWindows('/work?campaign=project-silent', 'stalled-board', (page) =>
    page.getByRole('main').getByText(said).first().waitFor(),
  );
  await bothWindows(`/work?dag=${dagId}&node=fix&view=graph`, 'stalled-step', async (page) => {
    await page.getByRole('button', { name: 'Retry' }).waitFor();
    await page.getByText('It has run out, and the step needs you.').waitFor();
  });
  const { out: node } = await gantry.cli('workspace', 'node', dagId, 'fix');
  expect(node).toMatch(/lease +Renewed .+\. It has run out, and the step needs you\./);
  const { out: why } = await gantry.cli('why', 'fix', '--run', dagId);
  expect(why).toMatch(/Its lease: Renewed .+\. It has run out, and the step needs you\./);
  await bothWindows('/', 'stalled-home', (page) => page.getByText('1 step waits for you').first().waitFor());
  const agents = await gantry.cli('agents', 'ls');
  expect(agents.out).toMatch(/Nothing for/);
});

test('a run that has used its budget asks in the inbox, shows what was used beside the limit, and goes on with a yes', async () => {
  const dagId = await run('dear');
  const waited = await gantry.cli('wait', 'fix', '--run', dagId, '--for', 'needs_you', '--timeout', '1m', '--json');
  expect(JSON.parse(waited.out)).toMatchObject({ state: 'needs_you', cause: 'over_budget' });
  await bothWindows('/inbox', 'budget-inbox', (page) =>
    page.getByText('Write the manual has used its budget').first().waitFor(),
  );
  await bothWindows(`/work?dag=${dagId}&view=graph`, 'budget-run', (page) =>
    page.getByRole('list', { name: 'Budgets' }).getByText('Used up').waitFor(),
  );
  await bothWindows(`/work?dag=${dagId}&node=fix&view=graph`, 'budget-step', (page) =>
    page.getByRole('button', { name: 'Skip' }).waitFor(),
  );
  const told = await gantry.cli('workflows', 'budget', dagId);
  expect(told.out).toMatch(/\$0\.00 of \$5\.00/);
  expect(told.out).toContain('reached');
  const { out } = await gantry.cli('workspace', 'approvals', '--json');
  const [question] = (JSON.parse(out) as { approvals: { id: string; title: string }[] }).approvals;
  expect(question?.title).toBe('Write the manual has used its budget');
  const more = await gantry.cli('workflows', 'budget', dagId, '--minutes', '60');
  expect(more.code, more.err).toBe(0);
  const resumed = await gantry.cli('wait', 'fix', '--run', dagId, '--for', 'working', '--timeout', '1m', '--json');
  expect(JSON.parse(resumed.out)).toMatchObject({ state: 'working' });
});

test('a budget is set where a run and its campaign begin, and the step at work says what its lease waits for', async () => {
  const { page } = first;
  await go(page, '/work');
  await page.getByRole('button', { name: 'Start a run' }).first().click();
  const dialog = page.getByRole('dialog', { name: 'Start a run' });
  const ofRun = dialog.getByRole('group', { name: 'Budget', exact: true });
  await dialog.getByLabel('Template').selectOption({ label: 'Write the manual' });
  await dialog.getByLabel('Campaign', { exact: true }).selectOption({ label: 'New campaign' });
  await dialog.getByLabel('Campaign title').fill('Manuals');
  await dialog.locator('summary', { hasText: /^Budget/ }).click();
  await ofRun.getByLabel('Dollars').fill('7,5');
  await ofRun.getByLabel('Minutes at work').fill('90');
  await dialog.locator('summary', { hasText: /^Campaign budget/ }).click();
  await dialog.getByRole('group', { name: 'Campaign budget' }).getByLabel('Tokens').fill('20000000');
  await dialog.getByRole('button', { name: 'Show plan' }).click();
  await dialog.getByText('Enter a number above 0, such as 2.50.').waitFor();
  await ofRun.getByLabel('Dollars').fill('7.50');
  await looked(page, 'start-run-budget');
  await dialog.getByRole('button', { name: 'Show plan' }).click();
  await dialog.getByRole('button', { name: 'Start 2 steps' }).click();
  const budgets = page.getByRole('list', { name: 'Budgets' });
  await budgets.getByText('of 20M tokens').waitFor();
  await page.keyboard.press('d');
  for (const text of ['$0.00 of $7.50', 'of 90 min', 'of 20M tokens']) await budgets.getByText(text).waitFor();
  // Its bot still has the step of the earlier run.
  await go(page, '/work?campaign=project-dear');
  await page.getByRole('region', { name: 'Now' }).getByText('Write the chapters').click();
  await page.getByText('It never runs out: the template sets no time.').waitFor();
  await looked(page, 'lease-step');
});
