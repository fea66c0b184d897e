/** A call that is refused, then allowed, answered, handed to somebody else who is asked first, and ended. */
import assert from 'node:assert/strict';
import type { Call } from '../../src/contracts/phone/calls.ts';
import {
  type Around,
  addHandset,
  button,
  commit,
  handset,
  handsetOf,
  mainNumber,
  openHandsets,
  openNumber,
  patience,
  status,
  words,
} from './phone-around.ts';
import { seconds, until } from './scenes.ts';

const purpose = 'The bike can be fetched';

export async function playCalls(around: Around): Promise<void> {
  const { scenes, app, product, device } = around;
  const { page } = app.seen;
  const number = await mainNumber(around);
  const dialog = page.getByRole('dialog');
  const calls = async () =>
    (await product.web.call<{ calls: Call[] }>('GET', `/api/v1/phone/numbers/${number.id}/calls`)).calls;
  const state = (name: string, of: string) =>
    handset(page, name).locator(`[data-handset-call="${of}"]`).waitFor(patience);
  /** The newest one, of them that say so: the list hears of a call a moment after the handset. */
  const openCall = async (hasText: string | RegExp = /./) => {
    await openNumber(page, number.e164, 'Calls');
    await page.locator('[data-call]').filter({ hasText }).first().click();
  };
  const ask = async (to: string) => {
    await openNumber(page, number.e164, 'Calls');
    await button(page, 'Call somebody').click();
    await dialog.getByRole('textbox', { name: /^Number/ }).fill(words(to));
    await dialog.getByRole('textbox', { name: /^Purpose/ }).fill(purpose);
    await button(dialog, 'Check permission').click();
  };
  const heardBy = async (e164: string) => (await handsetOf(around, e164)).calls.at(-1)?.heard ?? [];
  let cy = '';
  let dee = '';

  await scenes.scene('a call to somebody who never wrote is refused with the reason', async () => {
    await openHandsets(page);
    cy = await addHandset(page, 'Cy');
    dee = await addHandset(page, 'Dee');
    await ask(cy);
    const refused = dialog.locator('[data-call-refused]');
    await refused.waitFor(patience);
    const why = (await refused.textContent()) ?? '';
    await app.picture('20-no-consent', 'all');
    assert.deepEqual((await handsetOf(around, cy)).calls, []);
    await button(dialog, 'Cancel').click();
    return why;
  });

  await scenes.scene('with their consent noted it is allowed, and rings on the handset', async () => {
    await openNumber(page, number.e164, 'Consent');
    await button(page, 'Record consent').click();
    await dialog.getByRole('textbox', { name: /^Their number/ }).fill(words(cy));
    await dialog.getByRole('textbox', { name: /^How/ }).fill('at the counter');
    await dialog.getByRole('textbox', { name: /^Evidence/ }).fill('“Call me when it is done”, to Ada on Monday.');
    await app.picture('21-consent', 'all');
    await commit(page);
    await page.locator('[data-entry="consent"]', { hasText: words(cy) }).waitFor(patience);
    await ask(cy);
    await dialog.locator('[data-plan="call"]').waitFor(patience);
    const plan = (await dialog.locator('[data-plan="call"]').textContent()) ?? '';
    await app.picture('22-allowed', 'all');
    const from = performance.now();
    await button(dialog, 'Call now').click();
    await dialog.waitFor({ state: 'detached', ...patience });
    await status(page, 'Ringing');
    await app.picture('23-rings', 'all');
    await openHandsets(page);
    await state('Cy', 'ringing');
    return `“${plan}”; it rang ${seconds(from)} after the click`;
  });

  await scenes.scene('it is answered, held and taken up again', async () => {
    await button(handset(page, 'Cy'), 'Answer').click();
    await state('Cy', 'talking');
    await app.picture('24-talks');
    await openCall();
    await status(page, 'Talking');
    const bar = page.getByRole('toolbar', { name: 'Call controls' });
    await button(bar, 'Hold').click();
    await status(page, 'On hold');
    await app.picture('25-held', 'all');
    await button(bar, 'Resume').click();
    await status(page, 'Talking');
    const heard = await heardBy(cy);
    return heard.length === 0 ? 'nothing was spoken yet' : `the handset heard “${heard.join('” “')}”`;
  });

  /** Up to the moment in which Dee hears what they are asked; the call is the newest one. */
  const transfer = async () => {
    await openCall();
    await page.getByRole('toolbar', { name: 'Call controls' }).getByRole('button', { name: 'Transfer' }).click();
    await dialog.getByRole('radio', { name: /Dee at the workshop/ }).check();
    await app.picture('26-transfer', 'all');
    await button(dialog, 'Transfer').click();
    await dialog.waitFor({ state: 'detached', ...patience });
    await status(page, 'Being transferred');
    await app.picture('27-asking', 'all');
    await openHandsets(page);
    await state('Dee', 'ringing');
    await state('Cy', 'held');
    await button(handset(page, 'Dee'), 'Answer').click();
    await state('Dee', 'talking');
    const live = handset(page, 'Dee').locator('[data-handset-call]');
    await live.getByText(/Press 1 to take it/).waitFor(patience);
    await app.picture('28-asked', 'all');
  };

  await scenes.scene(
    'a warm transfer asks a colleague; who declines it with 2 leaves the caller to the bot',
    async () => {
      await openNumber(page, number.e164, 'Calls');
      const add = page.getByRole('form', { name: 'Add a transfer target' });
      await add.getByRole('textbox', { name: 'Name' }).fill('Dee at the workshop');
      await add.getByRole('textbox', { name: 'Number' }).fill(words(dee));
      await button(add, 'Add').click();
      await page.getByRole('list', { name: 'Transfer targets' }).getByText(words(dee)).waitFor(patience);
      await transfer();
      await button(handset(page, 'Dee'), 'Press 2').click();
      await state('Cy', 'talking');
      await openCall();
      await page.getByText('Declined').waitFor(patience);
      await status(page, 'Talking');
      return `Cy is told “${(await heardBy(cy)).at(-1)}”`;
    },
  );

  await scenes.scene('asked again the colleague takes it with 1, and both hear each other', async () => {
    const from = performance.now();
    await transfer();
    await button(handset(page, 'Dee'), 'Press 1').click();
    await state('Cy', 'talking');
    const [call] = await until('that they are joined', async () => {
      const all = await calls();
      return all[0]?.transfer?.state === 'accepted' && all;
    });
    const took = seconds(from);
    await openCall();
    await page.getByText('Accepted').waitFor(patience);
    await app.picture('29-bridged', 'all');
    return `${took} after the click, ${call?.legs.map(({ role, state: is }) => `${role} ${is}`).join(', ')}; Dee heard “${(await heardBy(dee)).join('” “')}”`;
  });

  await scenes.scene('the call ends for everybody, and the device is told', async () => {
    await openHandsets(page);
    await button(handset(page, 'Cy'), 'Hang up').click();
    for (const name of ['Cy', 'Dee']) {
      await handset(page, name)
        .locator('[data-handset-call]')
        .waitFor({ state: 'detached', ...patience });
    }
    await openCall();
    await status(page, 'Ended');
    await app.picture('30-ended', 'all');
    const ended = await device.told('the end of the call', ({ title }) => / (ended|missed) a call$/.test(title));
    const [call] = await calls();
    assert.equal(call?.status, 'ended');
    assert.equal(call.missed, false);
    return `“${ended.title}”: ${ended.body} (${call.endedBecause})`;
  });

  await scenes.scene('the bot takes a call that comes in', async () => {
    await openHandsets(page);
    await button(handset(page, 'Dee'), 'Call from Dee').click();
    await state('Dee', 'talking');
    await app.picture('31-comes-in');
    await openCall(words(dee));
    await status(page, 'Talking');
    await button(page, 'Hang up').click();
    await status(page, 'Ended');
    const [call] = await calls();
    assert.deepEqual([call?.direction, call?.with], ['in', dee]);
    const heard = await heardBy(dee);
    return `answered by itself; Dee heard “${heard.join('” “')}”`;
  });
}
