/** The first minutes of somebody new: that nothing is real, a device for pushes, a number, and its registration as a business. */
import assert from 'node:assert/strict';
import { go } from '../e2e/support/browser.ts';
import { type Around, commit, mainNumber, pick, register, setSpeed, status, words } from './phone-around.ts';
import { seconds } from './scenes.ts';

const business = {
  'Legal name': 'Corner Bikes LLC',
  EIN: '12-3456789',
  Street: '12 Market Street',
  City: 'Denver',
  State: 'CO',
  'ZIP code': '80202',
  Email: 'ada@bikes.example',
  Phone: '+13035550188',
  Website: 'https://bikes.example',
  'Sample text 1': 'Corner Bikes: your bike is ready. Reply STOP to end.',
  'Sample text 2': 'Corner Bikes: we open at nine tomorrow. Reply HELP for help.',
};

export async function playNumber(around: Around): Promise<void> {
  const { scenes, app, device } = around;
  const { page } = app.seen;

  await scenes.scene('somebody new is told that the carrier is simulated, and finds the phone', async () => {
    await page.getByRole('heading', { name: 'Home', level: 1 }).waitFor();
    const banner = page.getByRole('region', { name: 'Demo phone' });
    const said = (await banner.textContent()) ?? '';
    assert.match(said, /Simulated carrier: no real texts or calls/);
    await page.locator('a[href="/phone"]').first().click();
    await page.getByRole('heading', { name: 'Phone', level: 1 }).waitFor();
    await page.getByText('Phone numbers of your bots appear here.').waitFor();
    await banner.waitFor();
    await app.picture('1-empty', 'all');
    await setSpeed(page, 'Instant');
    await app.picture('2-handsets', 'all');
    return `“${said.trim()}”; the carrier works at once from now on`;
  });

  await scenes.scene('a device takes pushes once they are switched on in the settings', async () => {
    const test = await device.switchOn();
    return `${device.what}; ${test}`;
  });

  await scenes.scene('a number is searched, planned with its cost, and bought for a hosted bot', async () => {
    const e164 = await pick(page, '303', 'clerk');
    const dialog = page.getByRole('dialog', { name: 'Get a number' });
    const plan = (await dialog.locator('[data-plan="buy"]').textContent()) ?? '';
    await app.picture('3-buy', 'all');
    const from = performance.now();
    await commit(page);
    await status(page, 'Needs registration');
    await page.getByRole('region', { name: 'This number' }).getByText('clerk').waitFor();
    await app.picture('4-bought', 'all');
    assert.equal((await mainNumber(around)).e164, e164);
    return `${words(e164)}, bought in ${seconds(from)}: “${plan}”`;
  });

  await scenes.scene('the business is registered, its fees said before, and approved step by step', async () => {
    const plan = await register(page, business, (name) => app.picture(name === 'form' ? '5-form' : '6-plan', 'all'));
    const from = performance.now();
    await status(page, 'Texts and calls');
    const took = seconds(from);
    const steps = await page.getByRole('list', { name: 'Steps of the registration' }).locator('[data-step]').count();
    assert.ok(steps >= 3, `${steps} steps are shown`);
    await app.picture('7-registered', 'all');
    assert.doesNotMatch(await page.content(), /12-?3456789/);
    return `“${plan}”; ${steps} steps, approved ${took} after it was filed; the EIN is shown nowhere`;
  });

  await scenes.scene('the page that the carriers are told of is there for everybody', async () => {
    const [tab] = await Promise.all([
      page.context().waitForEvent('page'),
      page.getByRole('link', { name: 'Opt-in page' }).click(),
    ]);
    const number = await mainNumber(around);
    await tab.getByText('STOP').first().waitFor();
    const text = (await tab.locator('body').textContent()) ?? '';
    assert.match(text.replace(/\D/g, ''), new RegExp(number.e164.slice(2)));
    if (process.env.GANTRY_SCREENSHOTS !== undefined)
      await tab.screenshot({ path: `${process.env.GANTRY_SCREENSHOTS}/8-opt-in.png` });
    await tab.close();
    await go(page, `/phone?number=${number.id}`);
    return `it names the number, STOP and the terms (${text.length} characters)`;
  });
}
