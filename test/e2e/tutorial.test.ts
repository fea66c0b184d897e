/** The step of docs/tutorial.md that no command does: the gate of a release is approved on a page as wide as a phone. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Browser, openBrowser, visit } from './support/browser.ts';
import { type Gantry, startGantry } from './support/gantry.ts';
import { narrow } from './support/looks.ts';

let gantry: Gantry;
let browser: Browser;
const publish = {
  id: 'publish',
  title: 'Publish',
  wait_gate: { kind: 'manual', description: 'Publish this version?' },
  command: 'echo published',
};

beforeAll(async () => {
  [gantry, browser] = await Promise.all([startGantry(), openBrowser()]);
  const templates = join(gantry.workspace, '.gantry', 'templates');
  mkdirSync(templates, { recursive: true });
  writeFileSync(join(templates, 'release.json'), JSON.stringify({ name: 'Release', steps: [publish] }));
  await gantry.agree();
});
afterAll(async () => {
  await browser?.close();
  await gantry?.remove();
});

test('a gate is approved in the inbox of a phone, and the run ends as done', async () => {
  const started = await gantry.cli('workflows', 'run', 'release', '--project', 'wordcount', '--json');
  const { dagId } = JSON.parse(started.out) as { dagId: string };
  const { page, errors, close } = await visit(browser, gantry.url, narrow);
  await page.getByRole('navigation', { name: 'Places' }).getByRole('link', { name: /Inbox/ }).click();
  const question = page.getByRole('region', { name: 'Waiting for you' }).getByRole('article', { name: /Publish/ });
  await question.getByText('Publish this version?').waitFor();
  await question.getByRole('button', { name: /^Approve/ }).click();
  await question.waitFor({ state: 'detached' });
  const watched = await gantry.cli('workflows', 'watch', dagId, '--json');
  expect([watched.code, watched.err]).toEqual([0, '']);
  expect(errors).toEqual([]);
  await close();
});
