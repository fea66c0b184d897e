/** The page of the phone with the demo phone: numbers, registration, texts, ports and who agreed. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { DemoPhone } from '../../src/contracts/phone/demo.ts';
import { text } from '../support/model-server/script.ts';
import { axe, type Browser, chord, focusedName, go, openBrowser, type Visit, visit } from './support/browser.ts';
import { startGantry } from './support/gantry.ts';
import { looked, narrow, wide } from './support/looks.ts';
import { button, handset, type PhoneTeam, patience, startPhoneTeam, status } from './support/phone.ts';

let phone: PhoneTeam;
let browser: Browser;
let first: Visit;

beforeAll(async () => {
  [phone, browser] = await Promise.all([startPhoneTeam(), openBrowser()]);
  first = await visit(browser, phone.gantry.url);
  await first.page.getByRole('heading', { name: 'Home', level: 1 }).waitFor();
});
afterAll(async () => {
  await browser?.close();
  await phone?.close();
});

test('on every page it says that the carrier is simulated, and the place of the phone how a number comes about', async () => {
  const { page } = first;
  const banner = page.getByRole('region', { name: 'Demo phone' });
  await banner.getByText('Simulated carrier: no real texts or calls').waitFor();
  const heading = page.getByRole('heading', { name: 'Phone', level: 1 });
  await expect
    .poll(async () => {
      await chord(page, 'g', 'p');
      return heading.isVisible();
    })
    .toBe(true);
  await banner.waitFor();
  await page.getByText('Phone numbers of your bots appear here.').waitFor();
  expect(await axe(page)).toEqual([]);
});

test('a number is searched, planned with its cost, and bought for a bot', async () => {
  const { page } = first;
  await page.keyboard.press('n');
  const dialog = page.getByRole('dialog', { name: 'Get a number' });
  await dialog.locator('[data-offered]').first().waitFor(patience);
  await dialog.getByRole('textbox', { name: 'Area code' }).fill('303');
  await dialog.locator('[data-offered^="+1303"]').first().check();
  await expect.poll(() => button(dialog, 'Buy').isDisabled()).toBe(true);
  await dialog.getByText('Choose the bot that answers.').waitFor();
  await dialog
    .getByRole('combobox', { name: /^Bot/ })
    .locator('option', { hasText: 'Choose a bot' })
    .waitFor({ state: 'attached' });
  await dialog.getByRole('combobox', { name: /^Bot/ }).selectOption({ label: 'clerk' });
  await dialog.getByText(/It will be 1 of the 10 numbers in your plan/).waitFor();
  await looked(page, 'phone-buy');
  await page.keyboard.press('Control+Enter');
  await dialog.waitFor({ state: 'detached', ...patience });
  await status(page, 'Needs registration');
  await page.getByRole('region', { name: 'This number' }).getByText('clerk').waitFor();
});

test('a registration is looked over before any fee, filed, and corrected at the field that the registry refused', async () => {
  const { page } = first;
  await button(page, 'Register it').click();
  const form = page.getByRole('form', { name: 'Registration' });
  await button(form, 'Check the form').click();
  await form.getByText('Give the name that the business is registered under.').waitFor(patience);
  await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute('name'))).toBe('legalName');
  await looked(page, 'phone-form');
  for (const [name, value] of [
    ['Legal name', 'Corner Bikes LLC'],
    // One that no tax authority knows.
    ['EIN', '12-3450000'],
    ['Street', '12 Market Street'],
    ['City', 'Denver'],
    ['State', 'CO'],
    ['ZIP code', '80202'],
    ['Email', 'ada@bikes.example'],
    ['Sample text 1', 'Corner Bikes: your bike is ready. Reply STOP to end.'],
    ['Sample text 2', 'Corner Bikes: we open at nine tomorrow. Reply HELP for help.'],
    ['Website', 'https://bikes.example'],
    ['Phone', '+13035550188'],
  ] as const) {
    await form.getByRole('textbox', { name: new RegExp(`^${name}( required)?$`) }).fill(value);
  }
  await page.keyboard.press('Control+Enter');
  const plan = form.getByRole('region', { name: 'What filing does' });
  await plan.getByRole('row').first().waitFor(patience);
  await looked(page, 'phone-form-plan');
  await button(form, 'File it').click();
  await status(page, 'Needs correction');
  await page.locator('[data-step="brand"] .text-fail, [data-step="brand"].text-fail').first().waitFor();
  await looked(page, 'phone-rejected');
  await button(page, /^Correct the/).click();
  const ein = form.getByRole('textbox', { name: /^EIN/ });
  await expect.poll(() => ein.inputValue()).toBe('**-***0000');
  await ein.fill('12-3456789');
  await page.keyboard.press('Control+Enter');
  await plan.waitFor(patience);
  await button(form, /^(File|Correct) it$/).click();
  await status(page, 'Texts and calls');
  await expect.poll(() => page.content()).not.toContain('12-3456789');
  await looked(page, 'phone-registered');
});

test('what is registered is corrected where it still can be, and the number texts on', async () => {
  const { page } = first;
  await button(page, 'Correct the details').click();
  const form = page.getByRole('form', { name: 'Registration' });
  await form.getByText(/^Change what is out of date/).waitFor(patience);
  await expect.poll(() => form.getByRole('textbox', { name: /^Legal name/ }).getAttribute('readonly')).not.toBe(null);
  // What is empty and stays so is not asked for.
  await expect.poll(() => form.getByRole('textbox', { name: /^(Terms|Privacy)/ }).count()).toBe(0);
  await expect.poll(() => form.getByText('Cannot change.').count()).toBeGreaterThan(3);
  const website = form.getByRole('textbox', { name: /^Website/ });
  await website.fill('not a website');
  await page.keyboard.press('Control+Enter');
  await form.getByText(/is not the address of a website/).waitFor(patience);
  await website.fill('https://shop.bikes.example');
  await page.keyboard.press('Control+Enter');
  await form.getByText(/The carriers get these changes: website\./).waitFor(patience);
  await looked(page, 'phone-correction');
  await button(form, 'Correct it').click();
  await page.getByText('The carriers accepted the correction (website).').waitFor(patience);
  await status(page, 'Texts and calls');
  await looked(page, 'phone-corrected');
});

test('a correction under way and a refused one are said on the card; the refused one is opened again, or put away for good', async () => {
  const { page } = first;
  const wanted = 'https://closed.bikes.example';
  const correction = {
    state: 'pending',
    fields: ['website', 'sampleMessages'],
    problems: [] as object[],
    nextRetryAt: null as string | null,
    askedAt: '2026-03-02T10:00:00.000Z',
    decidedAt: null as string | null,
  };
  // As the carriers would answer; the simulated ones cannot be told to refuse from a page.
  await page.route('**/api/v1/phone/numbers/*/registration', async (route) => {
    if (route.request().method() !== 'GET') return route.continue();
    const answer = await route.fetch();
    const known = (await answer.json()) as { form: object };
    await route.fulfill({
      response: answer,
      json: { ...known, correction: { ...correction, form: { ...known.form, website: wanted } } },
    });
  });
  const form = page.getByRole('form', { name: 'Registration' });
  const website = form.getByRole('textbox', { name: /^Website/ });
  const card = page.getByRole('region', { name: 'Registration' });
  const seen = async (name: string) => {
    for (const size of [wide, narrow]) {
      await page.setViewportSize(size);
      await looked(page, name, { light: true });
    }
    await page.setViewportSize(wide);
  };
  await page.reload();
  await card.getByText(/A correction is in review: website, sample messages/).waitFor(patience);
  await seen('phone-correction-pending');
  Object.assign(correction, {
    state: 'refused',
    reason: 'The website cannot be reached.',
    problems: [{ field: 'website', text: 'The website cannot be reached.' }],
    decidedAt: '2026-03-02T10:05:00.000Z',
  });
  await card.getByText(/was refused\. The current registration still holds/).waitFor(patience);
  await seen('phone-correction-refused');
  await button(card, 'Correct the website').click();
  await form.getByText('The website cannot be reached.').waitFor();
  expect(await website.inputValue()).toBe(wanted);
  await seen('phone-correction-again');
  await page.goBack();
  await button(card, 'Dismiss').click();
  await card.getByText(/was refused\. The current registration still holds/).waitFor({ state: 'detached' });
  await expect.poll(() => focusedName(page)).toBe('Correct the details');
  await page.reload();
  await button(card, 'Correct the details').click();
  await expect.poll(() => website.inputValue()).toBe('https://shop.bikes.example');
  expect(await form.getByText('The website cannot be reached.').count()).toBe(0);
  await page.unroute('**/api/v1/phone/numbers/*/registration');
  await page.goBack();
  await card.waitFor();
});

test('what a handset texts reaches the bot, whose answer is in the conversation and on the handset', async () => {
  const { page } = first;
  phone.model.script(() => text('Yes, it is ready. We are open until six.'));
  await button(page, 'Text it from a handset').click();
  await button(page, 'Add handset').click();
  await page.getByRole('dialog').getByRole('textbox', { name: /^Name/ }).fill('Bea');
  await page.keyboard.press('Control+Enter');
  const bea = handset(page, 'Bea');
  await bea.getByRole('textbox', { name: 'Message from Bea' }).fill('Is my bike ready?');
  await page.keyboard.press('Enter');
  await bea.locator('[data-handset-text="in"]', { hasText: 'We are open until six.' }).waitFor(patience);
  await looked(page, 'phone-handsets');
  await page.locator('[data-number]').click();
  await page.locator('[data-conversation]').click();
  const log = page.getByRole('log', { name: 'Messages' });
  await log.getByText('Is my bike ready?').waitFor(patience);
  await log.locator('[data-text="delivered"]', { hasText: 'by clerk' }).waitFor(patience);
  await page.getByRole('textbox', { name: /^Text to/ }).fill('Please bring the “blue” key.');
  await page.getByText(/About 1 part, \d+ left in the last \(an emoji/).waitFor();
  await page.keyboard.press('Control+Enter');
  await log.locator('[data-text="delivered"]', { hasText: 'by you' }).waitFor(patience);
  await looked(page, 'phone');
});

test('STOP closes the composer with the reason and is never shown to the bot; only their START opens it again', async () => {
  const { page } = first;
  const asked = phone.model.requests.length;
  const say = async (word: string) => {
    await go(page, '/phone?page=handsets');
    await button(handset(page, 'Bea'), word).click();
    await go(page, `/phone?number=${number}&with=${encodeURIComponent(person)}`);
  };
  const { number = '', with: person = '' } = Object.fromEntries(new URL(page.url()).searchParams);
  await say('STOP');
  await page.locator('[data-refused]', { hasText: 'They said STOP.' }).waitFor(patience);
  await page.getByRole('log').getByText('Not shown to the bot').waitFor(patience);
  await looked(page, 'phone-stop');
  await page.getByRole('group', { name: 'View' }).getByRole('button', { name: 'Consent' }).click();
  await page.locator('[data-entry="stop"]').waitFor(patience);
  await say('START');
  await page.getByRole('textbox', { name: /^Text to/ }).waitFor(patience);
  expect(phone.model.requests.length).toBe(asked);
});

test('a sole proprietor enters the code that came to their phone; a wrong one is refused and costs nothing', async () => {
  const { page } = first;
  const { numbers } = await phone.call<{ numbers: { runtimeId: string; botId: string }[] }>(
    'GET',
    '/api/v1/phone/numbers',
  );
  const { runtimeId, botId } = numbers[0] ?? {};
  const body = { e164: '+13035550160', runtimeId, botId };
  const { number } = await phone.call<{ number: { id: string } }>('POST', '/api/v1/phone/numbers', body);
  await go(page, `/phone?number=${number.id}&show=register`);
  const form = page.getByRole('form', { name: 'Registration' });
  await form.getByRole('radio', { name: /^A sole proprietor/ }).check();
  for (const [name, value] of [
    ['Street', '12 Market Street'],
    ['City', 'Denver'],
    ['State', 'CO'],
    ['ZIP code', '80202'],
    ['First name', 'Chloe'],
    ['Last name', 'Marsh'],
    ['Email', 'chloe@marsh.example'],
    ['Mobile phone', '202 555 0104'],
    ['Sample text 1', 'Chloe Marsh: your lesson is at four. Reply STOP to end.'],
    ['Sample text 2', 'Chloe Marsh: see you tomorrow at four. Reply HELP for help.'],
  ] as const) {
    await form.getByRole('textbox', { name: new RegExp(`^${name}( required)?$`) }).fill(value);
  }
  await page.keyboard.press('Control+Enter');
  await button(form, 'File it').click(patience);
  await status(page, 'Needs a code');
  const entry = page.getByRole('form', { name: 'Code' });
  await entry.getByText('Texted to +1 202 555 0104.').waitFor();
  await entry.getByRole('textbox').fill('000000');
  await page.keyboard.press('Enter');
  await entry.getByRole('alert').waitFor(patience);
  await looked(page, 'phone-code');
  const codeTexted = async (): Promise<string> => {
    const { handsets } = await phone.call<DemoPhone>('GET', '/api/v1/phone/demo');
    const chloes = handsets.find(({ name }) => name === 'Chloe');
    return chloes?.texts.at(-1)?.text.match(/\d{6}/)?.[0] ?? '';
  };
  await expect.poll(codeTexted, patience).not.toBe('');
  await entry.getByRole('textbox').fill(await codeTexted());
  await button(entry, 'Confirm').click();
  await status(page, 'Texts and calls');
  await phone.call('DELETE', `/api/v1/phone/numbers/${number.id}`);
  await go(page, '/phone');
  await page.locator(`[data-number="${number.id}"]`).waitFor({ state: 'detached', ...patience });
});

test('a port says what is missing, is refused for its PIN, corrected at that field, and comes: calls first, texts after', async () => {
  const { page } = first;
  await go(page, '/phone?page=handsets');
  const paused = page.getByRole('group', { name: 'Speed' }).getByRole('button', { name: 'Paused' });
  await paused.click();
  await expect.poll(() => paused.getAttribute('aria-pressed'), patience).toBe('true');
  await page.keyboard.press('n');
  await page.getByRole('button', { name: 'Bring it here' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('textbox', { name: /^Number/ }).fill('(303) 555-0177');
  await dialog.getByRole('combobox', { name: /^Bot/ }).selectOption({ label: 'clerk' });
  await looked(page, 'phone-port');
  await page.keyboard.press('Control+Enter');
  await status(page, 'Port needs details');
  const card = page.getByRole('region', { name: 'Port', exact: true });
  await card.getByText(/The other carrier still needs: .*PIN/).waitFor(patience);
  await button(card, 'Add the missing details').click();
  for (const [name, value] of [
    ['Name on the account', 'Corner Bikes LLC'],
    ['Authorized person', 'Ada Lovelace'],
    ['Account number', '4711'],
    ['PIN', '0000'],
    ['Street', '12 Market Street'],
    ['City', 'Denver'],
    ['State', 'CO'],
    ['ZIP code', '80202'],
  ] as const) {
    await dialog.getByLabel(new RegExp(`^${name}( required)?$`)).fill(value);
  }
  const pdf = { name: 'bill.pdf', mimeType: 'application/pdf', buffer: Buffer.from('%PDF-1.4\n%%EOF\n') };
  await dialog
    .getByLabel(/^Letter of authorization/)
    .setInputFiles({ ...pdf, name: 'no.pdf', buffer: Buffer.from('no') });
  await dialog.getByText('This file is not a PDF.').waitFor();
  await dialog.getByLabel(/^Letter of authorization/).setInputFiles(pdf);
  await dialog.getByLabel(/^Last bill/).setInputFiles(pdf);
  await looked(page, 'phone-port-details');
  await page.keyboard.press('Control+Enter');
  await dialog.waitFor({ state: 'detached', ...patience });
  await button(card, 'Refuse the PIN').click(patience);
  await status(page, 'Port needs correction');
  await card.getByText('The PIN is wrong.').waitFor();
  await looked(page, 'phone-port-refused');
  await button(card, 'Correct the PIN').click();
  await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute('name'))).toBe('pin');
  await page.keyboard.type('1234');
  await page.keyboard.press('Control+Enter');
  await dialog.waitFor({ state: 'detached', ...patience });
  for (const words of [/^Both carriers have agreed/, /^Calls are here\. Texts follow/, 'The number is here.']) {
    await expect
      .poll(async () => {
        const next = button(card, 'Continue');
        const said = card.getByText(words);
        if ((await said.count()) === 1 || !(await next.isVisible())) return said.count();
        await next.click();
        // Its words come a moment later: a second click would go past them.
        await said.waitFor({ timeout: 3_000 }).catch(() => {});
        return said.count();
      }, patience)
      .toBe(1);
  }
  await phone.call('POST', '/api/v1/phone/demo/speed', { speed: 'instant' });
});

test('the person’s own phone counts once a text with the code that is shown has come from it', async () => {
  const { page } = first;
  await go(page, '/phone?page=own');
  const form = page.getByRole('form', { name: 'My own phone' });
  await button(form, 'Get a code').click();
  await form.getByText('Enter it as +1 202 555 0123.').waitFor();
  await form.getByRole('textbox', { name: /^Your phone/ }).fill('202 555 0102');
  await form.getByRole('combobox').selectOption({ label: '+1 303 555 0150' });
  await button(form, 'Get a code').click();
  const code = page.locator('[data-own="waiting"]').getByRole('button', { name: /Copy/ });
  await code.waitFor(patience);
  await looked(page, 'phone-own');
  const codeShown = async () => (await code.locator('span').first().textContent()) ?? '';
  await expect.poll(codeShown).not.toBe('');
  const words = await codeShown();
  await phone.call('POST', `/api/v1/phone/demo/handsets/${encodeURIComponent('+12025550102')}/text`, {
    to: '+13035550150',
    text: words,
  });
  await page.getByText(/^This phone answers approvals by texts to/).waitFor(patience);
});

test('an invite is made and withdrawn, a number is moved to another bot, and released after what it ends is said', async () => {
  const { page } = first;
  await go(page, '/phone');
  await page.locator('[data-number]', { hasText: '+1 303 555 0150' }).click();
  const parts = page.getByRole('group', { name: 'View' });
  await parts.getByRole('button', { name: 'Consent' }).click();
  await button(page, 'Create invite').click();
  const invite = page.locator('[data-invite="open"]');
  await invite.getByText(/\/sms\/invite\//).waitFor(patience);
  await looked(page, 'phone-consent');
  // Strangers open it on their phones: everything there is large enough for a finger, and for no phone to enlarge the page.
  const [address] = /https?:\S+\/sms\/invite\/[0-9a-f]{64}/.exec((await invite.textContent()) ?? '') ?? [''];
  const theirs = await visit(browser, address, narrow);
  const controls = await theirs.page.locator('input, button').evaluateAll((all) =>
    all.map((one) => ({
      font: Number.parseFloat(getComputedStyle(one).fontSize),
      height: one.getBoundingClientRect().height,
      isBox: one.getAttribute('type') === 'checkbox',
    })),
  );
  expect(controls).toHaveLength(3);
  for (const { font, height, isBox } of controls) {
    expect(font).toBeGreaterThanOrEqual(16);
    expect(height).toBeGreaterThanOrEqual(isBox ? 24 : 44);
  }
  expect(await axe(theirs.page)).toEqual([]);
  await theirs.close();
  await button(page, 'Move').click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('combobox', { name: /^Bot/ }).selectOption({ label: 'night' });
  expect(await axe(page)).toEqual([]);
  await page.keyboard.press('Control+Enter');
  await dialog.waitFor({ state: 'detached', ...patience });
  await page.getByRole('region', { name: 'This number' }).getByText('night').waitFor();
  await button(invite, 'Withdraw').click();
  await invite.waitFor({ state: 'detached', ...patience });
  await page.locator('[data-number]', { hasText: '+1 303 555 0177' }).click();
  await button(page, 'Release').click();
  await dialog.getByText(/no longer arrive/).waitFor();
  expect(await axe(page)).toEqual([]);
  await button(dialog, 'Release').click();
  await dialog.waitFor({ state: 'detached', ...patience });
  await expect.poll(() => page.locator('[data-number]').count(), patience).toBe(1);
});

describe.each([wide, narrow])('in a $name window', (size) => {
  test('numbers, a conversation, its registration and the handsets fit, and axe finds nothing', async () => {
    const own = await visit(browser, `${phone.gantry.origin}/phone`, { ...size, like: first.context });
    const { page } = own;
    await page.locator('[data-number]').first().waitFor();
    await looked(page, 'phone-list', { light: size === wide });
    await page.locator('[data-number]').first().click();
    await page.locator('[data-conversation]').first().waitFor();
    await looked(page, 'phone-number');
    await page.locator('[data-conversation]').last().click();
    await page.getByRole('textbox', { name: /^Text to/ }).waitFor(patience);
    await looked(page, 'phone');
    await page.keyboard.press('Escape');
    await go(page, '/phone?page=handsets');
    await handset(page, 'Bea').waitFor();
    await looked(page, 'phone-handsets');
    expect(own.errors.filter((error) => !/status of 404/.test(error))).toEqual([]);
    await own.close();
  });
});

test('a number whose bot cannot answer says so, conversations that wait are marked, and such a bot is offered none', async () => {
  const own = await visit(browser, `${phone.gantry.origin}/floor`, { like: first.context });
  const { page } = own;
  const numbers = '/api/v1/phone/numbers';
  const { numbers: offered } = await phone.call<{ numbers: { e164: string }[] }>('GET', `${numbers}/search?country=US`);
  const { agents } = await phone.call<{ agents: { id: string; slug: string; machine: string }[] }>(
    'GET',
    '/api/factory/agents',
  );
  const clerk = agents.find(({ slug }) => slug === 'clerk')!;
  const to = { runtimeId: clerk.machine, botId: clerk.id };
  const { number } = await phone.call<{ number: { id: string } }>('POST', numbers, {
    e164: offered[0]!.e164,
    ...to,
  });
  await page.route('**/api/factory/agents', async (route) => {
    const answer = await route.fetch();
    const body = (await answer.json()) as { agents: { slug: string }[] };
    const asShell = body.agents.map((one) =>
      one.slug === 'clerk' ? { ...one, binding: { type: 'terminal', harness: 'shell' } } : one,
    );
    await route.fulfill({ response: answer, json: { ...body, agents: asShell } });
  });
  await page.route(`**/${number.id}/conversations*`, async (route) => {
    const at = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
    const talk = (peer: string, minutes: number) => ({
      with: peer,
      name: null,
      botId: clerk.id,
      optedOut: false,
      mayText: true,
      mayCall: false,
      last: {
        id: peer,
        numberId: number.id,
        direction: 'in',
        from: peer,
        to: offered[0]!.e164,
        text: 'Is it ready?',
        media: [],
        parts: 1,
        status: 'received',
        reason: null,
        by: null,
        botId: clerk.id,
        at: at(minutes),
      },
    });
    const conversations = [talk('+13035550101', 1), talk('+13035550102', 30)];
    await route.fulfill({ json: { conversations, nextCursor: null } });
  });
  await page.reload();
  await go(page, '/phone');
  const row = page.locator(`[data-number="${number.id}"]`);
  await row.getByText('Nobody answers').waitFor(patience);
  await row.click();
  await page.getByText('clerk cannot answer: it is a plain shell.').waitFor();
  await page.locator('[data-conversation="+13035550102"]').getByText('Unanswered').waitFor();
  await expect.poll(() => page.getByText('Unanswered').count()).toBe(1);
  await looked(page, 'phone-nobody');
  await page.setViewportSize(narrow);
  await looked(page, 'phone-nobody');
  await page.setViewportSize(wide);
  await button(page, 'Move').click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText(/Not offered, because they cannot answer: clerk is a plain shell\./).waitFor();
  const offers = dialog.getByRole('combobox', { name: /^Bot/ }).locator('option', { hasText: 'clerk' });
  await expect.poll(() => offers.count()).toBe(0);
  await looked(page, 'phone-move-missing');
  await own.close();
  await phone.call('DELETE', `${numbers}/${number.id}`);
});

test('what cannot be read keeps what was known, says why and counts to its next try', async () => {
  const { page } = first;
  await go(page, '/phone');
  await page.route('**/api/v1/phone/numbers', (route) =>
    route.fulfill({ status: 500, json: { error: 'internal', message: 'The disk is full.' } }),
  );
  await page.getByText('The disk is full.').waitFor();
  await page.locator('[data-stale="true"] [data-number]').first().waitFor();
  await page.unroute('**/api/v1/phone/numbers');
  await button(page, /^Try again/).click();
  await page.getByText('The disk is full.').waitFor({ state: 'detached' });
  // What a form or a call is refused for is an answer, too. Nobody is asked for the registration of a number that has none; the conversations of
  // one that was just deleted may have been asked for before this page knew.
  const expected = /status of (400|403|409|500)|status of 404 .*\/conversations/;
  expect(first.errors.filter((error) => !expected.test(error))).toEqual([]);
});

test('without a carrier it says how the demo is started, and what a real one needs', async () => {
  const plain = await startGantry({ workspace: 'empty' });
  const own = await visit(browser, plain.url);
  const { page } = own;
  await page.getByRole('heading', { name: 'Home', level: 1 }).waitFor();
  await go(page, '/phone');
  await page.getByText('npx gantry start --demo-phone').waitFor(patience);
  await page.getByText('GANTRY_TELNYX_API_KEY', { exact: true }).waitFor();
  expect(await page.getByRole('region', { name: 'Demo phone' }).count()).toBe(0);
  await looked(page, 'phone-none');
  expect(own.errors).toEqual([]);
  await own.close();
  await plain.remove();
});
