/** The inbox on the real product: a bot and a gate ask, a person answers by keys, two windows answer one question. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  axe,
  type Browser,
  chord,
  focusedName,
  go,
  openBrowser,
  openPalette,
  type Page,
  type Visit,
  visit,
} from './support/browser.ts';
import { type Gantry, startGantry } from './support/gantry.ts';
import { looked, narrow, picture } from './support/looks.ts';

let gantry: Gantry;
let browser: Browser;
let first: Visit;

const template = {
  name: 'Release',
  steps: [
    {
      id: 'publish',
      title: 'Publish',
      wait_gate: { kind: 'manual', description: 'Publish 0.4.0 to the registry?' },
      command: 'echo published',
    },
  ],
};

beforeAll(async () => {
  [gantry, browser] = await Promise.all([startGantry(), openBrowser()]);
  mkdirSync(join(gantry.workspace, '.gantry', 'templates'), { recursive: true });
  writeFileSync(join(gantry.workspace, '.gantry', 'templates', 'release.json'), JSON.stringify(template));
  await gantry.agree();
  await gantry.cli('teams', 'up', 'demo', '--json');
  first = await visit(browser, gantry.url);
  await first.page.getByRole('heading', { name: 'Home', level: 1 }).waitFor();
});
afterAll(async () => {
  await browser?.close();
  await gantry?.remove();
});

const waiting = (page: Page) => page.getByRole('region', { name: 'Waiting for you' });
const card = (page: Page, title: string | RegExp) => waiting(page).getByRole('article', { name: title });
const type = (bot: string, line: string) => gantry.cli('agents', 'input', bot, line, '--key', 'Enter');
/** A key answers only what has been there for a moment. */
const press = async (page: Page, key: 'a' | 'r') => {
  await waiting(page).locator('[aria-current][data-keys="answer"]').waitFor();
  await page.keyboard.press(key);
};
const ask = (bot: string, command: string) =>
  type(bot, `clear; gantry gate check shell.exec --wait 600 --command '${command}' && echo allowed-$?`);
const screen = async (bot: string) => (await gantry.cli('agents', 'capture', bot)).out;

test('an empty inbox says what will be here', async () => {
  const { page } = first;
  await chord(page, 'g', 'i');
  await page.getByText('Nothing waits for you. When a bot asks').waitFor();
  expect(await axe(page)).toEqual([]);
});

test('a bot that asks is announced wherever the person is, and counted in the rail and the status bar', async () => {
  const { page } = first;
  await chord(page, 'g', 's');
  await ask('scribe@demo', 'npm publish --tag latest');
  await page.getByText('scribe@demo asks').waitFor();
  await page.getByRole('link', { name: '1 waiting: Inbox' }).waitFor();
  await page.getByRole('contentinfo').getByText('1 needs you').waitFor();
  await expect.poll(() => page.title()).toBe('(1) Settings · Gantry');
  await page.getByRole('button', { name: 'Answer' }).click();
  await page.getByRole('heading', { name: 'Inbox', level: 1 }).waitFor();
});

test('the card shows who asks, the exact command, the risk and the time that is left; a key answers it with a note', async () => {
  const { page } = first;
  const question = waiting(page).getByRole('article').first();
  await question.getByText('npm publish --tag latest').first().waitFor();
  await question.getByRole('button', { name: 'scribe@demo' }).waitFor();
  await question.getByText(/risk/).waitFor();
  await question.getByText(/ left$/).waitFor();
  await page.keyboard.press('n');
  await expect.poll(() => focusedName(page)).toContain('Note for the answer');
  await page.keyboard.type('go ahead');
  // Keys of the note are the note's own; Escape gives them back to the card.
  await page.keyboard.press('Escape');
  await press(page, 'a');
  await waiting(page)
    .getByText(/Approved by you in the browser/)
    .waitFor();
  await expect.poll(() => screen('scribe@demo')).toMatch(/^allowed-0/m);
  await page.getByRole('link', { name: 'Inbox', exact: true }).waitFor();
});

test('a command is shown whole however long it is: nothing of it lies beyond the edge of its card', async () => {
  const { page } = first;
  const long = `echo ${'harmless '.repeat(40)}; mv dist gone`;
  await ask('scribe@demo', long);
  const question = waiting(page).getByRole('article').filter({ hasText: 'harmless' });
  const text = question.getByRole('region', { name: /would do$/ });
  await text.getByText('; mv dist gone').waitFor();
  expect(
    await text.evaluate((box) => [box.scrollWidth - box.clientWidth, box.scrollHeight - box.clientHeight]),
  ).toEqual([0, 0]);
  await press(page, 'a');
  await expect.poll(() => screen('scribe@demo')).toMatch(/^allowed-0/m);
});

test('a rejected command is not run', async () => {
  const { page } = first;
  await ask('scribe@demo', 'rm -rf dist');
  await waiting(page)
    .getByRole('article')
    .filter({ hasText: 'rm -rf dist' })
    .getByRole('button', { name: 'Reject' })
    .waitFor();
  await press(page, 'r');
  await waiting(page)
    .getByText(/Rejected by you in the browser/)
    .waitFor();
  await type('scribe@demo', 'echo over-$((1+1))');
  await expect.poll(() => screen('scribe@demo')).toMatch(/^over-2/m);
  expect(await screen('scribe@demo')).not.toMatch(/^allowed/m);
});

describe('with a gate and a bot that wait', () => {
  beforeAll(async () => {
    const run = await gantry.cli('workflows', 'run', 'release', '--project', 'release', '--json');
    expect([run.code, run.err]).toEqual([0, '']);
    await ask('tester@demo', 'git push origin main');
    await waiting(first.page).getByRole('article').filter({ hasText: 'git push' }).waitFor();
  });

  test('the inbox, wide and narrow', async () => {
    await first.page.reload();
    const small = await visit(browser, `${gantry.origin}/inbox`, { ...narrow, like: first.context });
    for (const { page } of [first, small]) {
      await card(page, /Publish/).waitFor();
      await waiting(page).getByRole('article').filter({ hasText: 'git push' }).waitFor();
      await page.getByRole('heading', { name: 'Earlier' }).waitFor();
      await looked(page, 'inbox');
    }
    expect([...first.errors, ...small.errors]).toEqual([]);
    await small.close();
  });

  test('arrow keys choose the card that a key answers', async () => {
    const { page } = first;
    await expect.poll(() => waiting(page).locator('[aria-current]').textContent()).toContain('Publish');
    await page.keyboard.press('j');
    await expect.poll(() => waiting(page).locator('[aria-current]').textContent()).toContain('git push');
    await page.keyboard.press('k');
    await expect.poll(() => waiting(page).locator('[aria-current]').textContent()).toContain('Publish');
  });

  test('a key never answers a question while the focus is on another row', async () => {
    const { page } = first;
    // Beyond the last question j stays where it is; arrow keys reach what was answered earlier.
    for (const key of ['j', 'j', 'j']) await page.keyboard.press(key);
    await expect.poll(() => focusedName(page)).toContain('git push');
    await page.keyboard.press('ArrowDown');
    await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe('SUMMARY');
    await page.keyboard.press('a');
    await page.keyboard.press('r');
    const pending = await gantry.cli('workspace', 'approvals', '--json');
    expect(JSON.parse(pending.out).approvals).toHaveLength(2);
    expect(await waiting(page).locator('[data-decide="approve"]').count()).toBe(2);
    await page.keyboard.press('Home');
  });

  test('two windows answer one question: the second is told who was first, where and when, and nothing else happens', async () => {
    const { page } = first;
    const second = await visit(browser, `${gantry.origin}/inbox`, { like: first.context });
    await card(second.page, /Publish/).waitFor();
    // The second window hears of nothing while it decides, as one does that has lost its connection for a moment.
    await second.page.route('**/api/factory/approvals', (route) => route.abort());
    await second.page.route('**/api/factory/events*', (route) => route.abort());
    await second.page.evaluate(() => window.dispatchEvent(new Event('offline')));
    const answers: Page[] = [];
    const held = Promise.withResolvers<void>();
    await second.page.route('**/resolve', async (route) => {
      answers.push(second.page);
      await held.promise;
      await route.continue();
    });
    await card(second.page, /Publish/)
      .getByRole('button', { name: 'Reject' })
      .click();
    await expect.poll(() => answers.length).toBe(1);
    await card(page, /Publish/)
      .getByRole('button', { name: 'Approve' })
      .click();
    await waiting(page)
      .getByText(/Approved by you in the browser/)
      .first()
      .waitFor();
    held.resolve();
    const alert = second.page.getByRole('alert');
    await expect.poll(() => alert.textContent()).toMatch(/approved/i);
    await waiting(second.page)
      .getByText(/Approved by you in the browser/)
      .first()
      .waitFor();
    expect(second.errors.filter((text) => !/409|ERR_FAILED/.test(text))).toEqual([]);
    await second.close();
    await go(page, '/work');
    await page.locator('[data-node="publish"][data-status="done"]').waitFor();
  });

  test('a question answered elsewhere folds by itself', async () => {
    const { page } = first;
    await go(page, '/inbox');
    const question = waiting(page).getByRole('article').filter({ hasText: 'git push' });
    const id = await question.getAttribute('data-approval');
    const answered = await gantry.cli('workspace', 'reject', id ?? '', '--note', 'not on a Friday', '--json');
    expect([answered.code, answered.err]).toEqual([0, '']);
    const line = page.locator(`[data-approval="${id}"][data-answered]`);
    await line.getByText(/Rejected by you on the command line/).waitFor();
    await line.locator('summary').click();
    await line.getByText('not on a Friday').waitFor();
  });
});

test('who presses on and on answers one question, never the next one unseen; after a look a key answers that, too', async () => {
  const { page } = first;
  // With the focus on another row no key answers at all.
  await page.getByRole('heading', { name: 'Inbox', level: 1 }).click();
  await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
  await ask('scribe@demo', 'echo the-first');
  await waiting(page).getByRole('article').filter({ hasText: 'the-first' }).locator('[data-decide]').first().waitFor();
  await ask('tester@demo', 'echo the-second');
  const second = waiting(page).getByRole('article').filter({ hasText: 'the-second' });
  await second.locator('[data-decide]').first().waitFor();
  await waiting(page).locator('[aria-current][data-keys="answer"]', { hasText: 'the-first' }).waitFor();
  const stop = await page.evaluateHandle(() => {
    const timer = setInterval(() => {
      document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'a', bubbles: true }));
    }, 40);
    return () => clearInterval(timer);
  });
  await expect.poll(() => screen('scribe@demo')).toMatch(/^allowed-0/m);
  await second.getByText(/read it first/).waitFor();
  expect(await second.locator('[data-decide="approve"]').count()).toBe(1);
  const pending = JSON.parse((await gantry.cli('workspace', 'approvals', '--json')).out).approvals;
  expect(pending).toHaveLength(1);
  expect(await axe(page)).toEqual([]);
  await picture(page, 'inbox-early-dark');
  await page.evaluate((end) => end(), stop);
  await press(page, 'a');
  await expect.poll(() => screen('tester@demo')).toMatch(/^allowed-0/m);
});

test('neither the palette nor a click answers what was not read: the palette shows the command, and Enter leads elsewhere', async () => {
  const { page } = first;
  const why = '--reason "only prints the date"';
  await type(
    'scribe@demo',
    `clear; gantry gate check shell.exec --wait 600 --command 'rm -rf ~/unread' ${why} && echo allowed-$?`,
  );
  const question = waiting(page).getByRole('article').filter({ hasText: 'rm -rf ~/unread' });
  await question.locator('[data-reason]').getByText('only prints the date').waitFor();
  // A question that has only just come: pressed by a click at once, as whoever aimed at another one does.
  await page.addInitScript(() => {
    new MutationObserver((_changes, self) => {
      const button = document.querySelector<HTMLButtonElement>('[data-decide="approve"]');
      if (button === null) return;
      self.disconnect();
      button.click();
    }).observe(document, { childList: true, subtree: true });
  });
  await page.reload();
  await question.getByText(/read it first/).waitFor();
  const palette = page.getByRole('dialog');
  await openPalette(page);
  await palette.getByRole('option').first().waitFor();
  await page.keyboard.press('Enter');
  await expect.poll(() => focusedName(page)).toContain('Note for the answer');
  const find = await openPalette(page);
  await find.fill('approve sel');
  await palette.getByRole('option').filter({ hasText: 'rm -rf ~/unread' }).first().waitFor();
  // Part of its title chooses nothing that answers.
  expect(await palette.getByRole('option', { name: /^Approve/, selected: true }).count()).toBe(0);
  await picture(page, 'palette-approve-dark');
  const pending = JSON.parse((await gantry.cli('workspace', 'approvals', '--json')).out).approvals;
  expect(pending).toHaveLength(1);
  await page.keyboard.press('Escape');
  // Enter led to the note; from there Escape leads back to the card.
  await expect.poll(() => focusedName(page)).toContain('Note for the answer');
  await page.keyboard.press('Escape');
  await picture(page, 'inbox-reason-dark');
  await press(page, 'r');
  await waiting(page)
    .getByText(/Rejected by you in the browser/)
    .first()
    .waitFor();
});

test('where a command runs and with what stands beside it on its card and in the palette, and below it on the command line', async () => {
  const { page } = first;
  const args = JSON.stringify({ command: 'cat', env: { LD_PRELOAD: './x.so' }, stdin: 'one\ntwo' });
  const called = gantry.cli('tools', 'call', 'shell.exec', '--args', args);
  const question = waiting(page).getByRole('article').filter({ hasText: 'LD_PRELOAD' });
  await question.locator('[data-detail="Variables"]').getByText('LD_PRELOAD=./x.so').waitFor();
  await question.locator('[data-detail="Input"]').getByText('two').waitFor();
  await question
    .getByRole('region', { name: /would do$/ })
    .getByText('cat', { exact: true })
    .waitFor();
  await looked(page, 'inbox-details');
  expect((await gantry.cli('workspace', 'approvals')).out).toMatch(
    / {2}│ cat\n(?:.*\n)*? *variables +LD_PRELOAD=\.\/x\.so\n/,
  );
  await page.keyboard.press('Control+k');
  const palette = page.getByRole('dialog');
  await palette.getByPlaceholder('Find bots').fill('reject selected');
  await palette.getByRole('option').filter({ hasText: 'Variables: LD_PRELOAD=./x.so' }).first().waitFor();
  await page.keyboard.press('Escape');
  await question.locator('[data-decide="reject"]:not([aria-disabled])').click();
  expect((await called).code).not.toBe(0);
});

test('of 518 notifications the true number stands there, all can be reached, few are drawn, and what was listed is marked read', async () => {
  const own = await visit(browser, `${gantry.origin}/floor`, { like: first.context });
  const { page } = own;
  const many = Array.from({ length: 518 }, (_, index) => ({
    id: `n${index}`,
    event: 'message.received',
    title: `Text ${index}`,
    body: 'Is it ready?',
    url: '/floor',
    at: new Date(Date.now() - index * 60_000).toISOString(),
    readAt: null as string | null,
    outcome: 'sent',
  }));
  const marked: string[][] = [];
  await page.route('**/api/v1/notifications?*', async (route) => {
    const asked = new URL(route.request().url()).searchParams;
    const from = Number(asked.get('cursor') ?? 0);
    const end = from + Number(asked.get('limit'));
    const unread = many.filter(({ readAt }) => readAt === null).length;
    const counts = { total: many.length, unread, questions: { total: 0, unread: 0 } };
    const nextCursor = end < many.length ? `${end}` : null;
    await route.fulfill({ json: { notifications: many.slice(from, end), ...counts, nextCursor } });
  });
  await page.route('**/api/v1/notifications/read', async (route) => {
    const { ids = [], undo } = route.request().postDataJSON() as { ids?: string[]; undo?: string };
    const at = new Date().toISOString();
    if (undo === undefined) marked.push(ids);
    for (const one of many) {
      if (ids.includes(one.id)) one.readAt = at;
      if (one.readAt === undo) one.readAt = null;
    }
    await route.fulfill({ json: { read: ids.length, unread: 0, at } });
  });
  await go(page, '/inbox');
  const news = page.getByRole('region', { name: 'Notifications' });
  await news.getByRole('heading', { name: 'Notifications 518, 518 unread' }).waitFor();
  await picture(page, 'inbox-many-dark');
  await news.getByRole('button', { name: /Text 2 / }).focus();
  await page.keyboard.press('x');
  await news.getByRole('checkbox', { name: 'Select Text 5', exact: true }).check();
  const bar = news.getByRole('toolbar', { name: 'Selected notifications' });
  await bar.getByText('2 selected').waitFor();
  await bar.getByRole('button', { name: 'Mark as read' }).click();
  await news.getByRole('heading', { name: 'Notifications 518, 516 unread' }).waitFor();
  expect(marked.splice(0)).toEqual([['n2', 'n5']]);
  await page.keyboard.press('Control+z');
  await news.getByRole('heading', { name: 'Notifications 518, 518 unread' }).waitFor();
  const search = page.getByRole('searchbox', { name: 'Search the inbox' });
  await search.fill('text 417');
  await news.getByRole('button', { name: /Text 417/ }).waitFor();
  await expect.poll(() => news.getByRole('listitem').count()).toBe(1);
  await search.fill('');
  await page.getByRole('combobox', { name: 'Group questions' }).selectOption('kind');
  await news.getByRole('heading', { name: 'A message arrived' }).waitFor();
  await page.getByRole('combobox', { name: 'Group questions' }).selectOption('none');
  await news.getByRole('button', { name: 'Mark shown as read' }).click();
  await news.getByRole('heading', { name: 'Notifications 518, 510 unread' }).waitFor();
  expect(marked.flat()).toEqual(many.slice(0, 8).map(({ id }) => id));
  await news.getByRole('button', { name: 'Show 510 more' }).click();
  const last = news.getByRole('button', { name: /Text 517/ });
  await expect
    .poll(async () => {
      await news.locator('[data-scroll]').evaluate((box) => box.scrollTo(0, box.scrollHeight));
      return last.isVisible();
    })
    .toBe(true);
  await expect.poll(() => news.getByRole('listitem').count()).toBeLessThan(60);
  expect(await axe(page)).toEqual([]);
  await picture(page, 'inbox-many-end-dark');
  await page.setViewportSize(narrow);
  await picture(page, 'inbox-many-390');
  await news.getByRole('button', { name: 'Mark shown as read' }).click();
  await news.getByRole('heading', { name: 'Notifications 518', exact: true }).waitFor();
  expect(marked.every((ids) => ids.length <= 200)).toBe(true);
  await own.close();
});

test('of 200 questions few are drawn; keys go through all of them, a search finds each, and an answer moves nothing', async () => {
  const own = await visit(browser, `${gantry.origin}/floor`, { like: first.context });
  const { page } = own;
  const questions = Array.from({ length: 200 }, (_, index) => ({
    ...{ id: `apr_many${String(index).padStart(6, '0')}`, kind: 'gate', state: 'pending', decision: null },
    ...{ title: `Question ${index}`, summary: `npm run task-${index}`, risk: 'medium', source: 'gate', agentId: null },
    requestedAt: new Date(Date.now() - (300 - index) * 60_000).toISOString(),
    expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
    ...{ resolvedAt: null as string | null, resolvedBy: null as object | null, appliedAt: null, note: null },
  }));
  const asked: { body: unknown; id: string }[] = [];
  await page.route('**/api/factory/approvals?*', (route) => route.fulfill({ json: { approvals: questions } }));
  await page.route('**/api/factory/approvals/*/resolve', async (route) => {
    const id = route.request().url().split('/').at(-2)!;
    asked.push({ id, body: route.request().postDataJSON() });
    const one = questions.find((each) => each.id === id)!;
    Object.assign(one, { state: 'resolved', decision: 'approve', resolvedAt: new Date().toISOString() });
    one.resolvedBy = { user: 'other', surface: 'browser' };
    await route.fulfill({ json: one });
  });
  await go(page, '/inbox');
  await waiting(page).getByRole('heading', { name: 'Waiting for you 200' }).waitFor();
  await card(page, 'Question 0').waitFor();
  const nodes = () => page.evaluate(() => document.querySelectorAll('*').length);
  expect(await nodes()).toBeLessThan(1500);
  await picture(page, 'inbox-200-dark');
  for (let press = 0; press < 40; press += 1) await page.keyboard.press('j');
  await expect.poll(() => focusedName(page)).toContain('Question 40');
  expect(await nodes()).toBeLessThan(1500);
  const box = page.locator('[data-scroll-box]');
  const placeOf = async (title: string) => Math.round((await card(page, title).boundingBox())!.y);
  await expect.poll(async () => (await placeOf('Question 40')) > 0 && (await placeOf('Question 40')) < 900).toBe(true);
  // Scrolled away, the card that keys act on still is drawn, and no key answers it unseen.
  await box.evaluate((element) => element.scrollTo(0, 0));
  await card(page, 'Question 0').waitFor();
  await page.keyboard.press('a');
  await card(page, 'Question 40').getByText('read it first').waitFor();
  expect(asked).toEqual([]);
  const before = await placeOf('Question 39');
  await waiting(page).locator('[aria-current][data-keys="answer"]').waitFor();
  await page.keyboard.press('a');
  await waiting(page)
    .getByText(/Approved by other/)
    .waitFor();
  expect(asked).toEqual([{ id: questions[40]!.id, body: { decision: 'approve' } }]);
  expect(Math.abs((await placeOf('Question 39')) - before)).toBeLessThan(2);
  await page.keyboard.press('/');
  await page.keyboard.type('task-177');
  await card(page, 'Question 177').waitFor();
  await expect.poll(() => waiting(page).locator('[data-row][data-approval]').count()).toBe(1);
  await page.getByRole('searchbox', { name: 'Search the inbox' }).fill('');
  await page.getByRole('heading', { name: 'Waiting for you 199' }).waitFor();
  expect(await axe(page)).toEqual([]);
  await page.setViewportSize(narrow);
  await picture(page, 'inbox-200-390');
  await own.close();
});

test('questions that one rule would cover are offered together, with the rule, and each is answered for itself', async () => {
  const { page } = first;
  await go(page, '/inbox');
  const bots = ['scribe@demo', 'tester@demo'];
  for (const bot of bots) await ask(bot, 'npm run together');
  const offer = page.getByRole('list', { name: 'Questions that a rule would cover' }).getByRole('listitem');
  await offer.getByText('command: "npm run together"').waitFor();
  await looked(page, 'inbox-offer');
  await offer.getByRole('button', { name: 'Review 2 questions' }).click();
  const dialog = page.getByRole('dialog', { name: 'Approve 2 questions' });
  const rule = await dialog.getByRole('region', { name: 'The rule', exact: true }).textContent();
  expect(rule).toMatch(/bot: "\{(scribe|tester)@demo,(scribe|tester)@demo\}"/);
  await dialog.getByRole('checkbox', { name: /Also add this rule/ }).check();
  await looked(page, 'inbox-rule');
  // Somebody else answers one of them while the dialog is open.
  const other = await dialog.locator('[data-answers]').first().getAttribute('data-answers');
  expect((await gantry.cli('workspace', 'reject', other ?? '', '--json')).code).toBe(0);
  await dialog.getByText('Scroll to the end').waitFor({ state: 'detached' });
  await dialog.getByRole('button', { name: 'Add the rule and approve 2', exact: true }).click();
  const results = page.getByRole('dialog', { name: 'Approved 1 of 2' });
  await results.getByText(/Rejected by you on the command line/).waitFor();
  await results.getByRole('button', { name: 'Close', exact: true }).last().click();
  await offer.waitFor({ state: 'detached' });
  const file = readFileSync(join(gantry.workspace, '.gantry', 'policy.yaml'), 'utf8');
  const plain = (text: string) => text.replace(/\s+/g, ' ');
  expect(plain(file)).toContain(plain(rule ?? 'none'));
  // From now on neither of them is asked about.
  for (const bot of bots) {
    await ask(bot, 'npm run together');
    await expect.poll(() => screen(bot)).toMatch(/^allowed-0/m);
  }
});

test('several questions are found, grouped, read together and answered together, each for itself', async () => {
  const { page } = first;
  await go(page, '/inbox');
  const bots = ['scribe@demo', 'tester@demo'];
  for (const bot of bots) await ask(bot, `echo many-of-${bot.split('@')[0]}`);
  for (const bot of bots) {
    const title = `many-of-${bot.split('@')[0]}`;
    await waiting(page).getByRole('article').filter({ hasText: title }).locator('[data-decide]').first().waitFor();
  }
  await page.keyboard.press('/');
  await page.keyboard.type('many tester');
  await expect.poll(() => waiting(page).locator('[data-row][data-approval]').count()).toBe(1);
  await page.getByRole('searchbox', { name: 'Search the inbox' }).fill('');
  await page.getByRole('combobox', { name: 'Group questions' }).selectOption('team');
  await page.getByRole('checkbox', { name: 'Select all of demo' }).check();
  const bar = page.getByRole('toolbar', { name: 'Selected questions' });
  await bar.getByText('2 selected').waitFor();
  await bar.getByRole('button', { name: 'Approve…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Approve 2 questions' });
  for (const bot of bots)
    await dialog
      .getByText(`echo many-of-${bot.split('@')[0]}`)
      .first()
      .waitFor();
  expect(await axe(page)).toEqual([]);
  await looked(page, 'inbox-many');
  // Somebody else answers one of them while the dialog is open.
  const other = await dialog.locator('[data-answers]').first().getAttribute('data-answers');
  const faster = await gantry.cli('workspace', 'reject', other ?? '', '--json');
  expect([faster.code, faster.err]).toEqual([0, '']);
  await dialog.getByText('Scroll to the end').waitFor({ state: 'detached' });
  await dialog.getByRole('button', { name: 'Approve 2', exact: true }).click();
  const results = page.getByRole('dialog', { name: 'Approved 1 of 2' });
  await results.getByText(/Rejected by you on the command line/).waitFor();
  await results.getByRole('button', { name: 'Close', exact: true }).last().click();
  await expect.poll(() => screen('tester@demo')).toMatch(/^allowed-0/m);
  await page.getByRole('combobox', { name: 'Group questions' }).selectOption('none');
});

describe('on Home', () => {
  const needs = (page: Page) => page.locator('section, div', { has: page.getByRole('heading', { name: 'Needs you' }) });
  const question = (page: Page, command: string) => page.getByRole('article').filter({ hasText: command });
  const readyOn = (page: Page, command: string) =>
    question(page, command).and(page.locator('[aria-current][data-keys="answer"]'));

  test('a question is approved by mouse, the next one rejected with words by r, the third approved by a once it was read', async () => {
    const { page } = first;
    await go(page, '/');
    await needs(page).first().waitFor();
    await ask('scribe@demo', 'npm run home-mouse');
    await readyOn(page, 'home-mouse').waitFor();
    await looked(page, 'home-question');
    await question(page, 'home-mouse').getByRole('button', { name: 'Approve' }).click();
    await question(page, 'home-mouse')
      .getByText(/Approved by you in the browser/)
      .waitFor();
    await expect.poll(() => screen('scribe@demo')).toMatch(/^allowed-0/m);

    await ask('scribe@demo', 'npm run home-words');
    await readyOn(page, 'home-words').waitFor();
    await question(page, 'home-words').getByRole('textbox').fill('run the tests before');
    // In the note a letter is a letter; from the card it is the answer.
    await page.keyboard.press('r');
    await question(page, 'home-words').focus();
    await readyOn(page, 'home-words').waitFor();
    await page.keyboard.press('r');
    await expect.poll(() => screen('scribe@demo')).toContain('run the tests beforer');
    expect(await screen('scribe@demo')).not.toMatch(/^allowed/m);

    await page.evaluate(() => {
      (document.activeElement as HTMLElement | null)?.blur();
      // As whoever presses on does: the key comes with the question.
      new MutationObserver((_changes, self) => {
        if (document.querySelector('[data-decide="approve"]') === null) return;
        self.disconnect();
        document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'a', bubbles: true }));
      }).observe(document.body, { childList: true, subtree: true });
    });
    await ask('scribe@demo', 'npm run home-key');
    await question(page, 'home-key')
      .getByText(/read it first/)
      .waitFor();
    expect(JSON.parse((await gantry.cli('workspace', 'approvals', '--json')).out).approvals).toHaveLength(1);
    await readyOn(page, 'home-key').waitFor();
    await page.keyboard.press('a');
    await expect.poll(() => screen('scribe@demo')).toMatch(/^allowed-0/m);
  });
});

test('quiet hours, what comes through in them, the digest and muted bots are set in Settings and stay', async () => {
  const { page, errors } = first;
  await go(page, '/settings/notifications');
  const toggle = (name: string) => page.getByRole('switch', { name });
  const isOn = (name: string) => toggle(name).getAttribute('aria-checked');
  await toggle('Hold pushes back in quiet hours').click();
  await expect.poll(() => isOn('Hold pushes back in quiet hours')).toBe('true');
  expect([await isOn('Questions come through'), await isOn('Digest after quiet hours')]).toEqual(['true', 'true']);
  const quiet = () =>
    page.evaluate(
      async () =>
        (await (await fetch('/api/v1/notifications/quiet')).json()) as {
          quietHours: { from: string; to: string };
          digest: boolean;
          mutedBots: string[];
        },
    );
  const saved = async () => {
    const { quietHours } = await quiet();
    return [quietHours.from, quietHours.to];
  };
  await page.getByLabel('From').fill('21:30');
  await page.getByLabel('From').blur();
  await expect.poll(saved).toEqual(['21:30', '07:00']);
  await page.getByLabel('to', { exact: true }).fill('06:45');
  await page.getByLabel('to', { exact: true }).blur();
  await expect.poll(saved).toEqual(['21:30', '06:45']);
  // What is changed while an earlier change is being saved is shown at once, and saved after it.
  let release = (): void => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route('**/notifications/quiet', async (route) => {
    if (route.request().method() !== 'GET') await held;
    await route.continue();
  });
  await toggle('Digest after quiet hours').click();
  await expect.poll(() => isOn('Digest after quiet hours')).toBe('false');
  await toggle('Push about tester@demo').click();
  await page.getByText('Muted: only listed in the inbox.').waitFor();
  expect((await quiet()).digest).toBe(true);
  release();
  await expect.poll(async () => [(await quiet()).digest, (await quiet()).mutedBots.length]).toEqual([false, 1]);
  await page.unroute('**/notifications/quiet');
  await looked(page, 'quiet-hours');
  await page.reload();
  await expect.poll(() => isOn('Digest after quiet hours')).toBe('false');
  expect(await page.getByLabel('From').inputValue()).toBe('21:30');
  expect(await page.getByLabel('to', { exact: true }).inputValue()).toBe('06:45');
  expect([await isOn('Questions come through'), await isOn('Push about tester@demo')]).toEqual(['true', 'false']);
  await toggle('Hold pushes back in quiet hours').click();
  await page.getByText('Pushes reach you at any time.').waitFor();
  await expect.poll(() => toggle('Digest after quiet hours').count()).toBe(0);
  expect(errors.filter((text) => !/ERR_FAILED|409/.test(text))).toEqual([]);
});
