/** A bot in a closed sandbox wants to reach a host: its person is asked in the inbox, and a rule of the team opens it for good. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { byName } from '../../src/contracts/common/by-name.ts';
import { runProcess } from '../../src/kit/process/run-process.ts';
import { type Browser, go, openBrowser, openPalette, type Visit, visit } from './support/browser.ts';
import { type Gantry, startGantry } from './support/gantry.ts';
import { looked, narrow, wide } from './support/looks.ts';
import { ownerCall } from './support/owner-call.ts';

/** What a network of its own takes. */
const works = await runProcess({
  command: ['sh', '-c', 'command -v bwrap && command -v nft && command -v ip && unshare -r -n true'],
  env: { PATH: process.env.PATH ?? '' },
  deadlineMs: 10_000,
}).then(
  ({ exitCode }) => exitCode === 0,
  () => false,
);

describe.skipIf(!works)('where a closed sandbox can be had', () => {
  let gantry: Gantry;
  let browser: Browser;
  let session: Visit;

  beforeAll(async () => {
    [gantry, browser] = await Promise.all([startGantry({ workspace: 'empty' }), openBrowser()]);
    const folder = join(gantry.workspace, '.gantry', 'teams', 'dev');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'team.yaml'), 'bots:\n  - { bot: web, harness: shell, sandbox: closed }\n');
    await gantry.agree();
    expect(await gantry.cli('teams', 'up', 'dev')).toMatchObject({ code: 0 });
    session = await visit(browser, gantry.url, { plain: true });
  });
  afterAll(async () => {
    await browser?.close();
    await gantry?.remove();
  });

  /** Nothing resolves these names: what was allowed is then not found. */
  const fetchIn = (host: string) =>
    gantry.cli('agents', 'input', 'web@dev', `clear; curl -sS -m 100 https://${host}; echo over-$?`, '--key', 'Enter');
  const screen = async () => (await gantry.cli('agents', 'capture', 'web@dev')).out;
  const card = ({ page }: Visit, host: string) => page.getByRole('article', { name: `web@dev wants ${host}:443` });

  test.each([wide, narrow])(
    'the question names bot, host and port, and the rule its reach, in a $name window',
    async (size) => {
      const isNarrow = size === narrow;
      const seen = isNarrow
        ? await visit(browser, `${gantry.origin}/`, { ...size, like: session.context, plain: true })
        : session;
      await fetchIn('registry.invalid');
      await go(seen.page, '/inbox');
      await card(seen, 'registry.invalid').waitFor();
      await looked(seen.page, 'destination-question', { light: true });
      await card(seen, 'registry.invalid').getByRole('button', { name: 'Always allow' }).click();
      const dialog = seen.page.getByRole('dialog', { name: 'Always allow this' });
      await dialog.getByText('bot: "web@dev"').waitFor();
      await dialog.getByRole('radio', { name: /^Its team/ }).check();
      await dialog.getByText('bot: "*@dev"').waitFor();
      await looked(seen.page, 'destination-rule', { light: true });
      if (isNarrow) {
        await seen.page.keyboard.press('Escape');
        await seen.close();
      } else await dialog.getByRole('button', { name: 'Cancel' }).click();
    },
  );

  test('the rule of the team opens it: what waits continues, and nobody is asked again', async () => {
    await card(session, 'registry.invalid').getByRole('button', { name: 'Always allow' }).click();
    const dialog = session.page.getByRole('dialog', { name: 'Always allow this' });
    await dialog.getByRole('radio', { name: /^Its team/ }).check();
    await dialog.getByText('bot: "*@dev"').waitFor();
    await dialog.getByRole('button', { name: 'Add the rule and approve' }).click();
    await dialog.waitFor({ state: 'detached' });
    const policy = readFileSync(join(gantry.workspace, '.gantry', 'policy.yaml'), 'utf8');
    expect(policy).toContain('bot: "*@dev"');
    expect(policy).toContain('host: "registry.invalid:443"');
    await expect.poll(screen, { timeout: 60_000 }).toMatch(/over-\d/);
    await fetchIn('registry.invalid');
    await expect.poll(screen, { timeout: 60_000 }).toMatch(/502[\s\S]*over-\d/);
    expect(JSON.parse((await gantry.cli('workspace', 'approvals', '--json')).out).approvals).toEqual([]);
  });

  test('a no is said to the program and counted where the bot is shown', async () => {
    await fetchIn('evil.invalid');
    await card(session, 'evil.invalid').getByRole('button', { name: 'Reject' }).click();
    await expect.poll(screen, { timeout: 60_000 }).toMatch(/403[\s\S]*over-\d/);
    expect((await gantry.cli('agents', 'show', 'web@dev')).out).toMatch(
      /Refused\s+evil\.invalid:443 \(a person said no/,
    );
  });

  test.each([wide, narrow])(
    'the dialog that starts a team names the secrets that stay outside of each bot, in a $name window',
    async (size) => {
      const names = ['API_KEY', ...Array.from({ length: 12 }, (_, n) => `A_TOKEN_OF_A_SERVICE_WITH_A_LONG_NAME_${n}`)];
      for (const name of names) {
        const destination = { host: 'api.invalid', port: 443, header: 'authorization', form: 'bearer', methods: null };
        const secret = { value: 'not-for-the-bot', destination };
        await ownerCall(gantry, 'PUT', `/api/factory/vault/${name}`, secret);
      }
      await ownerCall(gantry, 'PUT', '/api/factory/vault/PLAIN', { value: 'for-the-bot' });
      const folder = join(gantry.workspace, '.gantry', 'teams', 'keys');
      mkdirSync(folder, { recursive: true });
      const bot = (slug: string, secrets: readonly string[]) =>
        `  - { bot: ${slug}, harness: shell, sandbox: closed, env: { ${secrets.map((name, n) => `V${n}: "vault:${name}"`).join(', ')} } }\n`;
      const bots = bot('one', ['API_KEY', 'PLAIN']) + bot('none', ['PLAIN']) + bot('many', names);
      writeFileSync(join(folder, 'team.yaml'), `bots:\n${bots}`);
      await gantry.agree();
      const seen = await visit(browser, `${gantry.origin}/floor`, { ...size, like: session.context, plain: true });
      await openPalette(seen.page);
      await seen.page.keyboard.type('start keys');
      await seen.page.getByRole('option', { name: 'Start keys', selected: true }).waitFor();
      await seen.page.keyboard.press('Enter');
      const plan = seen.page.getByRole('list', { name: 'Plan' });
      const step = (name: string) => plan.getByRole('listitem').filter({ hasText: `${name}@keys` });
      await step('one')
        .getByText('Gets a placeholder for API_KEY: the value goes only into requests to its host.')
        .waitFor();
      await step('many')
        .getByText(
          `Gets placeholders for ${names.toSorted(byName).join(', ')}: each value goes only into requests to its host.`,
        )
        .waitFor();
      await step('none').waitFor();
      expect(await step('none').textContent()).not.toContain('placeholder');
      expect(await plan.textContent()).not.toContain('PLAIN');
      await looked(seen.page, 'team-placeholders', { light: true });
      await seen.close();
    },
  );
});
