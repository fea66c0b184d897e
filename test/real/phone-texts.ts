/** A text, the bot's answer, STOP and START, as the one who texts and the one whose bot answers see them. */
import assert from 'node:assert/strict';
import { text } from '../support/model-server/script.ts';
import {
  type Around,
  addHandset,
  arrived,
  button,
  handset,
  handsetOf,
  mainNumber,
  openHandsets,
  openNumber,
  patience,
  setSpeed,
  textFrom,
} from './phone-around.ts';
import { seconds, until } from './scenes.ts';

const question = 'Is my bike ready?';
const later = 'And tomorrow?';

export async function playTexts(around: Around): Promise<void> {
  const { scenes, app, product, model, device } = around;
  const { page } = app.seen;
  const number = await mainNumber(around);
  let bea = '';
  model.script(({ lastUser }) =>
    text(lastUser.includes(later) ? 'Tomorrow we open at nine.' : 'Yes, it is ready. We are open until six.'),
  );

  await scenes.scene('a handset texts in, and the bot’s answer arrives on it', async () => {
    await setSpeed(page, 'Instant');
    bea = await addHandset(page, 'Bea');
    const from = performance.now();
    await textFrom(page, 'Bea', question);
    await arrived(page, 'Bea', 'We are open until six.').waitFor(patience);
    const took = seconds(from);
    await app.picture('10-answered', 'all');
    await openNumber(page, number.e164);
    await page.locator('[data-conversation]').click();
    const log = page.getByRole('log', { name: 'Messages' });
    await log.getByText(question).waitFor(patience);
    await log.locator('[data-text="delivered"]', { hasText: 'by clerk' }).waitFor(patience);
    await app.picture('11-conversation', 'all');
    return `answered ${took} after the text, ${model.requests.length} request to the model`;
  });

  await scenes.scene('the device is told of the text', async () => {
    const { title, body } = await device.told('the text', (told) => told.body === question);
    assert.match(title, /clerk/);
    return `“${title}”: ${body}`;
  });

  await scenes.scene('the person answers by hand, from the same conversation', async () => {
    const mine = 'It is Ada here: bring the key.';
    await page.getByRole('textbox', { name: /^Text to/ }).fill(mine);
    await page.getByText(/About 1 part/).waitFor();
    await page.keyboard.press('Control+Enter');
    await page.locator('[data-text="delivered"]', { hasText: 'by you' }).waitFor(patience);
    await openHandsets(page);
    await arrived(page, 'Bea', mine).waitFor(patience);
    return 'on the handset, with its receipt in the conversation';
  });

  const optOut = /opted out/;
  await scenes.scene('STOP is confirmed once, and nothing leaves any more', async () => {
    const asked = model.requests.length;
    await button(handset(page, 'Bea'), 'STOP').click();
    await arrived(page, 'Bea', optOut).waitFor(patience);
    await app.picture('12-stop');
    await button(handset(page, 'Bea'), 'STOP').click();
    const optOuts = () => product.web.call<{ entries: object[] }>('GET', `/api/v1/phone/numbers/${number.id}/opt-outs`);
    await until('the second STOP', async () => (await optOuts()).entries.length === 2);
    await openNumber(page, number.e164);
    await page.locator('[data-conversation]').click();
    await page.locator('[data-refused]', { hasText: 'They said STOP.' }).waitFor(patience);
    await app.picture('13-refused', 'all');
    const refusal = await product.web
      .call('POST', '/api/v1/channels/sms/send', { numberId: number.id, to: bea, text: 'Are you sure?' })
      .then(() => 'sent', String);
    assert.match(refusal, /403 .*recipient_opted_out/);
    const { texts } = await handsetOf(around, bea);
    const confirmations = texts.filter((one) => one.direction === 'in' && optOut.test(one.text)).length;
    assert.equal(confirmations, 1);
    assert.equal(
      texts.some((one) => one.text === 'Are you sure?'),
      false,
    );
    assert.equal(model.requests.length, asked);
    return `two STOP, ${confirmations} confirmation, the bot was shown neither; ${refusal.replace(/^.*?403/, '403')}`;
  });

  await scenes.scene('a call to whom said STOP is refused as well', async () => {
    const refusal = await product.web
      .call('POST', '/api/v1/phone/calls/outbound', {
        numberId: number.id,
        to: bea,
        botId: number.botId,
        purpose: 'To ask whether they are sure',
      })
      .then(() => 'allowed', String);
    assert.match(refusal, /403 .*no_consent/);
    return refusal.replace(/^.*?403/, '403');
  });

  await scenes.scene('START is confirmed, and the bot answers again', async () => {
    await openHandsets(page);
    await button(handset(page, 'Bea'), 'START').click();
    await arrived(page, 'Bea', /You get texts from this number/).waitFor(patience);
    const from = performance.now();
    await textFrom(page, 'Bea', later);
    await arrived(page, 'Bea', 'Tomorrow we open at nine.').waitFor(patience);
    const took = seconds(from);
    await openNumber(page, number.e164, 'Consent');
    await page.locator('[data-entry="start"]').first().waitFor(patience);
    const kept = await page.locator('[data-entry="stop"], [data-entry="start"]').count();
    await app.picture('14-history', 'all');
    return `answered ${took} after the text; ${kept} entries are on record`;
  });
}
