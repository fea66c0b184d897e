/** The person's own phone: confirmed by the code on the page, asked what bots ask, and answering by text. */
import assert from 'node:assert/strict';
import { type Around, button, handsetOf, mainNumber, openHandsets, patience, textFrom, words } from './phone-around.ts';
import { seconds, until } from './scenes.ts';

interface Gate {
  readonly verdict: 'allow' | 'ask' | 'deny';
}

export async function playOwn(around: Around): Promise<void> {
  const { scenes, app, product } = around;
  const { page } = app.seen;
  const number = await mainNumber(around);
  // A handset that is there from the start.
  const mine = '+12025550101';
  const texts = async () => (await handsetOf(around, mine)).texts.filter(({ text }) => /\bNO \d{6}/.test(text));

  await scenes.scene('the person’s own phone is confirmed by the code that the page shows', async () => {
    await page.locator('[data-page="own"]').click();
    const form = page.getByRole('form', { name: 'My own phone' });
    await form.getByRole('textbox', { name: /^Your phone/ }).fill(words(mine));
    const to = form.getByRole('combobox');
    await to.selectOption({ label: words(number.e164) });
    await button(form, 'Get a code').click();
    const code = page.locator('[data-own="waiting"]').getByRole('button', { name: /Copy/ });
    await code.waitFor(patience);
    await app.picture('70-own', 'all');
    const shown = (await code.locator('span').first().textContent()) ?? '';
    await openHandsets(page);
    await page.getByRole('combobox', { name: 'Number that Ada reaches' }).selectOption({ label: words(number.e164) });
    await textFrom(page, 'Ada', shown);
    await page.locator('[data-page="own"]').click();
    await page.getByText(/^This phone answers approvals/).waitFor(patience);
    await app.picture('71-confirmed');
    return `${words(mine)} by “${shown}”`;
  });

  const ask = (tag: string) =>
    product.engine.call<Gate>('POST', '/api/factory/gate', {
      tool: 'shell.exec',
      command: `npm publish --tag ${tag}`,
      reason: 'to be asked by text',
      waitSeconds: 50,
    });
  for (const [word, verdict] of [
    ['YES', 'allow'],
    ['NO', 'deny'],
  ] as const) {
    await scenes.scene(`what a bot asks comes as a text, and ${word} from that phone answers it`, async () => {
      const before = (await texts()).length;
      const asked = ask(word.toLowerCase());
      const from = performance.now();
      const [question, code = ''] = await until('the question on the handset', async () => {
        const [came] = (await texts()).slice(before);
        const found = new RegExp(`${word} (\\d{6})`).exec(came?.text ?? '');
        return found !== null && ([found.input, found[1]] as const);
      });
      const took = seconds(from);
      await openHandsets(page);
      await textFrom(page, 'Ada', `${word} ${code}`);
      assert.equal((await asked).verdict, verdict);
      if (word === 'YES') await app.picture('72-asked');
      return `asked after ${took}: “${question}”; ${verdict}`;
    });
  }
}
