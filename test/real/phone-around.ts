/** What the scenes of the phone share: where they play, and the ways of a hand on its pages. */
import type { DemoPhone, Handset } from '../../src/contracts/phone/demo.ts';
import type { PhoneNumber } from '../../src/contracts/phone/number.ts';
import type { Locator, Page } from '../e2e/support/browser.ts';
import type { Product } from '../support/bench/product.ts';
import type { ModelServer } from '../support/model-server/server.ts';
import type { App } from './hands-app.ts';
import type { Device } from './phone-device.ts';
import type { Scenes } from './scenes.ts';

export interface Around {
  readonly scenes: Scenes;
  readonly app: App;
  readonly product: Product;
  readonly model: ModelServer;
  readonly device: Device;
}

/** Browser, cloud, carrier, computer and bot share a busy machine. Milliseconds. */
export const patience = { timeout: 30_000 };

export const button = (within: Page | Locator, name: string | RegExp): Locator =>
  within.getByRole('button', { name, exact: typeof name === 'string' });

export const status = (page: Page, word: string): Promise<void> =>
  page.getByRole('status').getByText(word, { exact: true }).first().waitFor(patience);

export const handset = (page: Page, name: string): Locator =>
  page.getByRole('listitem', { name: `Handset of ${name}`, exact: true });

/** `+13035550150` as pages write it. */
export const words = (e164: string): string => e164.replace(/^\+1(\d{3})(\d{3})(\d{4})$/, '+1 $1 $2 $3');

/** By the list at the left, as a hand goes. */
export async function openHandsets(page: Page): Promise<void> {
  await page.locator('[data-page="handsets"]').click();
  await page.getByRole('region', { name: 'Carrier speed' }).waitFor();
}

export async function openNumber(page: Page, e164: string, part?: 'Texts' | 'Calls' | 'Consent'): Promise<void> {
  await page.locator('[data-number]', { hasText: words(e164) }).click();
  const parts = page.getByRole('group', { name: 'View' });
  await parts.waitFor();
  if (part !== undefined) await button(parts, part).click();
}

/** One more person with a phone; answers their number. The page of the handsets is open. */
export async function addHandset(page: Page, name: string): Promise<string> {
  await page.getByRole('main').getByRole('button', { name: 'Add handset', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: 'Add a handset' });
  await dialog.getByRole('textbox', { name: /^Name/ }).fill(name);
  await page.keyboard.press('Control+Enter');
  await handset(page, name).waitFor(patience);
  return (await handset(page, name).getAttribute('data-handset')) ?? '';
}

export async function textFrom(page: Page, name: string, what: string): Promise<void> {
  await handset(page, name)
    .getByRole('textbox', { name: `Message from ${name}` })
    .fill(what);
  await page.keyboard.press('Enter');
}

/** What arrived on a handset, as it shows it. */
export const arrived = (page: Page, name: string, text?: string | RegExp): Locator =>
  handset(page, name).locator('[data-handset-text="in"]', text === undefined ? {} : { hasText: text });

export async function setSpeed(page: Page, speed: 'Instant' | 'Paused'): Promise<void> {
  await openHandsets(page);
  await button(page.getByRole('group', { name: 'Speed' }), speed).click();
}

/** What the simulated carrier itself says, for what no page shows. */
export const carrierOf = ({ product }: Pick<Around, 'product'>): Promise<DemoPhone> =>
  product.web.call<DemoPhone>('GET', '/api/v1/phone/demo');

export async function handsetOf(around: Pick<Around, 'product'>, e164: string): Promise<Handset> {
  const found = (await carrierOf(around)).handsets.find((one) => one.e164 === e164);
  if (found === undefined) throw new Error(`There is no handset ${e164}.`);
  return found;
}

async function numbersOf({ product }: Pick<Around, 'product'>): Promise<readonly PhoneNumber[]> {
  return (await product.web.call<{ numbers: PhoneNumber[] }>('GET', '/api/v1/phone/numbers')).numbers;
}

/** The one that was bought at first: what people text and call here. */
export async function mainNumber(around: Pick<Around, 'product'>): Promise<PhoneNumber> {
  const [first] = (await numbersOf(around)).toSorted((a, b) => a.createdAt.localeCompare(b.createdAt));
  if (first === undefined) throw new Error('There is no number.');
  return first;
}

/** Picks a number of this area code for this bot, up to its plan; answers the number. What is left is to buy it. */
export async function pick(page: Page, areaCode: string, bot: string): Promise<string> {
  await page.keyboard.press('n');
  const dialog = page.getByRole('dialog', { name: 'Get a number' });
  await dialog.locator('[data-offered]').first().waitFor(patience);
  await dialog.getByRole('textbox', { name: 'Area code' }).fill(areaCode);
  const offered = dialog.locator(`[data-offered^="+1${areaCode}"]`).first();
  await offered.check();
  const e164 = (await offered.getAttribute('data-offered')) ?? '';
  await dialog.getByRole('combobox', { name: /^Bot/ }).selectOption({ label: bot });
  await dialog.locator('[data-plan="buy"]').getByText(words(e164)).waitFor(patience);
  return e164;
}

/** The primary act of the open dialog, and that the dialog is gone. */
export async function commit(page: Page): Promise<void> {
  await page.keyboard.press('Control+Enter');
  await page.getByRole('dialog').waitFor({ state: 'detached', ...patience });
}

async function fill(within: Locator, fields: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, value] of Object.entries(fields))
    await within.getByRole('textbox', { name: new RegExp(`^${name}( required)?$`) }).fill(value);
}

/** From the page of the number up to the filing, the form of a business; answers the plan. */
export async function register(
  page: Page,
  fields: Readonly<Record<string, string>>,
  picture: (name: 'form' | 'plan') => Promise<void> = async () => {},
): Promise<string> {
  await button(page, 'Register it').click();
  const form = page.getByRole('form', { name: 'Registration' });
  await fill(form, fields);
  await picture('form');
  await button(form, 'Check the form').click();
  const plan = form.getByRole('region', { name: 'What filing does' });
  await plan.waitFor(patience);
  const said = [await plan.getByRole('paragraph').first().textContent()];
  for (const row of await plan.getByRole('row').all())
    said.push((await row.locator('th, td').allTextContents()).join(' '));
  await picture('plan');
  await button(form, 'File it').click();
  return said.join('; ');
}
