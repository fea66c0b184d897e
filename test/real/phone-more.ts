/** A number that comes from another carrier, one of a person without a business, and how numbers move and go. */
import assert from 'node:assert/strict';
import { CallError } from '../support/bench/http.ts';
import {
  type Around,
  addHandset,
  arrived,
  button,
  carrierOf,
  commit,
  handsetOf,
  mainNumber,
  numbersOf,
  openHandsets,
  openNumber,
  patience,
  pick,
  register,
  setSpeed,
  status,
  textFrom,
  words,
} from './phone-around.ts';
import { business } from './phone-number.ts';
import { seconds, until } from './scenes.ts';

const ported = '+13035550177';
const person = {
  'Known as': 'Fay mends clocks',
  Street: '4 Pearl Street',
  City: 'Boulder',
  State: 'CO',
  'ZIP code': '80302',
  'First name': 'Fay',
  'Last name': 'Moreau',
  Email: 'fay@clocks.example',
  'Sample text 1': 'Fay mends clocks: yours ticks again. Reply STOP to end.',
  'Sample text 2': 'Fay mends clocks: I am away until Monday. Reply HELP for help.',
};
const pdf = { name: 'bill.pdf', mimeType: 'application/pdf', buffer: Buffer.from('%PDF-1.4\n%%EOF\n') };

export async function playPort(around: Around): Promise<void> {
  const { scenes, app } = around;
  const { page } = app.seen;
  const dialog = page.getByRole('dialog');
  const card = page.getByRole('region', { name: 'Port', exact: true });

  await scenes.scene('a port is refused for its PIN, with the field to correct', async () => {
    // The other carrier is the person here: it answers when they press.
    await setSpeed(page, 'Paused');
    await page.keyboard.press('n');
    await button(page, 'Bring it here').click();
    await dialog.getByRole('textbox', { name: /^Number/ }).fill(words(ported));
    await dialog.getByRole('combobox', { name: /^Bot/ }).selectOption({ label: 'clerk' });
    await commit(page);
    await status(page, 'Port needs details');
    const missing = (await card.getByText(/The other carrier still needs/).textContent()) ?? '';
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
    ] as const)
      await dialog.getByLabel(new RegExp(`^${name}`)).fill(value);
    await dialog.getByLabel(/^Letter of authorization/).setInputFiles(pdf);
    await dialog.getByLabel(/^Last bill/).setInputFiles(pdf);
    await app.picture('40-port', 'all');
    // Files that are being read are waited for by who hands them in.
    await until('the port handed in', async () => {
      await page.keyboard.press('Control+Enter');
      return dialog.waitFor({ state: 'detached', timeout: 2000 }).then(() => true);
    });
    await button(card, 'Refuse the PIN').click(patience);
    await status(page, 'Port needs correction');
    await card.getByText('The PIN is wrong.').waitFor(patience);
    await app.picture('41-exception', 'all');
    return missing;
  });

  await scenes.scene('corrected at that field, the number comes: calls first, then texts', async () => {
    await button(card, 'Correct the PIN').click();
    await until('the field in focus', () =>
      page.evaluate(() => document.activeElement?.getAttribute('name') === 'pin'),
    );
    await page.keyboard.type('1234');
    await commit(page);
    const sentence = card.locator('[data-port] > p').first();
    const told: string[] = [];
    while (!told.at(-1)?.startsWith('The number is here')) {
      const now = await until('the next state of the port', async () => {
        const said = (await sentence.textContent())?.trim();
        if (said !== told.at(-1)) return said;
        const next = button(card, 'Continue');
        if (await next.isEnabled({ timeout: 500 })) await next.click({ timeout: 1000 });
        return null;
      });
      told.push(now);
    }
    for (const said of [/^Both carriers have agreed/, /^Calls are here\. Texts follow/])
      assert.ok(
        told.some((one) => said.test(one)),
        `${said.source} is not among ${told.join(' → ')}`,
      );
    await app.picture('42-ported', 'all');
    return told.join(' → ');
  });

  await scenes.scene('once registered beside the first one, it texts', async () => {
    await setSpeed(page, 'Instant');
    await openNumber(page, ported);
    const plan = await register(page, business);
    assert.match(plan, /joins them/);
    await status(page, 'Texts and calls');
    await openHandsets(page);
    const eve = await addHandset(page, 'Eve');
    const to = page.getByRole('combobox', { name: 'Number that Eve reaches' });
    await to.selectOption({ label: words(ported) });
    const from = performance.now();
    await textFrom(page, 'Eve', 'Is this still your number?');
    await arrived(page, 'Eve').first().waitFor(patience);
    const took = seconds(from);
    const [answer] = (await handsetOf(around, eve)).texts.filter(({ direction }) => direction === 'in');
    assert.equal(answer?.with, ported);
    return `“${plan}”; ${words(ported)} answered ${took} after the text: “${answer.text}”`;
  });
}

export async function playPerson(around: Around): Promise<void> {
  const { scenes, app, product } = around;
  const { page } = app.seen;

  await scenes.scene('a person without a business registers with the code from their handset', async () => {
    await setSpeed(page, 'Instant');
    const fay = await addHandset(page, 'Fay');
    const e164 = await pick(page, '720', 'night');
    await commit(page);
    await status(page, 'Needs registration');
    await register(page, { ...person, 'Mobile phone': words(fay) });
    await status(page, 'Needs a code');
    await app.picture('50-code', 'all');
    const pin = await until('the code on the handset', async () => {
      const { texts } = await handsetOf(around, fay);
      return texts.map((one) => /\b\d{6}\b/.exec(one.text)?.[0]).find((found) => found !== undefined);
    });
    const number = (await numbersOf(around)).find((one) => one.e164 === e164);
    const wrong = pin === '000000' ? '111111' : '000000';
    const refused = await product.web
      .call('POST', `/api/v1/phone/numbers/${number?.id}/registration/otp`, { pin: wrong })
      .catch((error: unknown) => error);
    assert.ok(refused instanceof CallError && refused.status === 400, String(refused));
    const code = page.getByRole('form', { name: 'Code', exact: true });
    await code.getByRole('textbox', { name: 'Code' }).fill(pin);
    await button(code, 'Confirm').click();
    await status(page, 'Texts and calls');
    await app.picture('51-person', 'all');
    return `${words(e164)}: a wrong code is 400, ${pin} from the handset is taken, approved`;
  });
}

export async function playEnd(around: Around): Promise<void> {
  const { scenes, app, product } = around;
  const { page, errors } = app.seen;
  const dialog = page.getByRole('dialog');

  await scenes.scene('a number moves to another bot, whose answer is what people get from then on', async () => {
    const number = await mainNumber(around);
    const bea = (await carrierOf(around)).handsets.find(({ name }) => name === 'Bea')?.e164 ?? '';
    await openNumber(page, number.e164);
    await button(page, 'Move').click();
    await dialog.getByRole('combobox', { name: /^Bot/ }).selectOption({ label: 'night' });
    await app.picture('60-move', 'all');
    await commit(page);
    await page.getByRole('region', { name: 'This number' }).getByText('night').waitFor(patience);
    await openHandsets(page);
    await page.getByRole('combobox', { name: 'Number that Bea reaches' }).selectOption({ label: words(number.e164) });
    await textFrom(page, 'Bea', 'Who is there now?');
    await openNumber(page, number.e164, 'Texts');
    await page.locator('[data-conversation]', { hasText: words(bea) }).click();
    const log = page.getByRole('log', { name: 'Messages' });
    await log.locator('[data-text="delivered"]', { hasText: 'by night' }).waitFor(patience);
    const before = await log.locator('[data-text="delivered"]', { hasText: 'by clerk' }).count();
    await app.picture('61-moved');
    return `${words(number.e164)} is night’s, which answers; ${before} older answers are clerk’s`;
  });

  await scenes.scene('a number is released after what ends with it is said', async () => {
    const before = await numbersOf(around);
    const { id } = before.find(({ e164 }) => e164 === ported) ?? { id: '' };
    const optIn = async () => (await fetch(`${product.origin}/sms/${id}`)).status;
    assert.equal(await optIn(), 200);
    await openNumber(page, ported);
    await button(page, 'Release').click();
    const ends = dialog.locator('[data-plan="release"]');
    await ends.getByText(/no longer arrive/).waitFor();
    const said = await ends.getByRole('listitem').count();
    await app.picture('62-release', 'all');
    await button(dialog, 'Release').click();
    await dialog.waitFor({ state: 'detached', ...patience });
    await until('one number less', async () => (await numbersOf(around)).length === before.length - 1);
    await page.locator('[data-number]', { hasText: words(ported) }).waitFor({ state: 'detached', ...patience });
    const eve = (await carrierOf(around)).handsets.find(({ name }) => name === 'Eve')?.e164 ?? '';
    const refusal = await until('that the carrier takes no text for it', async () => {
      const path = `/api/v1/phone/demo/handsets/${encodeURIComponent(eve)}/text`;
      const said = await product.web.call('POST', path, { to: ported, text: 'Hello?' }).then(() => null, String);
      return said?.replace(/^.*?(\d{3}) /, '$1 ');
    });
    assert.equal(await optIn(), 404);
    return `${said} things are said to end; its page is 404, and a text to it is refused: ${refusal}`;
  });

  await scenes.scene('the page made no mistake of its own', async () => {
    // What is refused, and what is not there yet, a browser notes itself.
    const own = errors.filter((error) => !/status of (400|403|404)/.test(error));
    assert.deepEqual(own, []);
    return `no error in its console but ${errors.length} answers of 400, 403 or 404 that scenes were about`;
  });
}
