/** What is registered is corrected: the number texts all the while, what is shared is told once, and a refusal leaves what held before. */
import { describe, expect, test } from 'vitest';
import type { Registration, RegistrationForm } from '../../../../src/contracts/phone/registration.ts';
import { engines } from '../../../support/engines.ts';
import {
  business,
  ein,
  isApproved,
  isRejected,
  openPart,
  openRig,
  person,
  type Rig,
  registrationOf,
} from './support.ts';

const moved = {
  website: 'https://bread.example.com',
  street: '7 Oven Street',
  contactEmail: 'hello@bread.example.com',
};

const calls = (rig: Rig, op: string) => rig.sim.state.log.filter(({ detail }) => detail.op === op).length;
const brandOf = (rig: Rig) => Object.values(rig.sim.state.brands)[0]!;
const campaigns = (rig: Rig) => Object.values(rig.sim.state.campaigns);

async function registered(rig: Rig, form: object = business, ...number: Parameters<Rig['buy']>) {
  const one = await rig.buy(...number);
  await rig.submit(one.id, form);
  await rig.until(one.id, isApproved);
  return one;
}

/** Reads it until it is decided; the number is active each time. */
async function decided(rig: Rig, id: string, state: 'taken' | 'refused'): Promise<Registration> {
  const last = await rig.until(id, ({ correction, smsState, state: is }) => {
    expect([is, smsState]).toEqual(['approved', 'active']);
    return correction?.state !== 'pending';
  });
  expect(last.correction).toMatchObject({ state });
  return last;
}

const problemFields = ({ json }: Awaited<ReturnType<Rig['submit']>>) =>
  (json as unknown as { problems: { field: string }[] }).problems.map(({ field }) => field);

/** The carrier's steps wait until they are wanted. */
const reviews = (rig: Rig, speed: 'paused' | 'instant') => rig.ask('POST', '/sim/speed', { speed });

/** What networks do with a text of it now. */
async function delivers(rig: Rig, numberId: string): Promise<boolean> {
  const { e164, profileId } = (await rig.rows.numbers.find(numberId))!;
  const to = '+19705550188';
  await rig.carrier.texts.send({ from: e164, to, text: 'Hello.', profileId: profileId!, tag: 'text_1' });
  const text = () => Object.values(rig.sim.state.texts).findLast((one) => one.from === e164);
  for (let turn = 0; turn < 20 && text()?.status !== 'delivered' && text()?.errors.length === 0; turn += 1) {
    await rig.ask('POST', '/sim/advance', { ms: 200 });
  }
  return text()?.status === 'delivered';
}

describe.each(engines)('a registered business on $name', (engine) => {
  test('is corrected at the carriers while its number texts on, and costs nothing', async () => {
    const rig = await openRig(engine);
    const { id } = await registered(rig);
    const before = { charges: rig.charges().length, asked: { ...brandOf(rig).asked } };
    const plan = (await rig.submit(id, moved, '?dryRun=1')).json as unknown as { plan: object };
    expect(plan.plan).toMatchObject({ fees: [], corrects: true, changes: ['website', 'street', 'contactEmail'] });
    expect(calls(rig, 'brand.change')).toBe(0);
    const given = await rig.submit(id, moved);
    expect(given.status).toBe(200);
    expect(registrationOf(given).correction?.fields).toEqual(['website', 'street', 'contactEmail']);
    const after = await decided(rig, id, 'taken');
    expect(after.form).toEqual({ ...registrationOf(given).form, ...moved });
    const { email, website, street } = brandOf(rig).asked;
    expect({ email, website, street }).toEqual({ ...moved, email: moved.contactEmail, contactEmail: undefined });
    // By what it was verified, and what was not corrected, is there still.
    for (const field of ['companyName', 'ein', 'entityType', 'city', 'phone', 'displayName', 'webhookURL']) {
      expect(brandOf(rig).asked[field]).toBe(before.asked[field]);
    }
    expect(campaigns(rig)[0]?.asked.helpMessage).toContain('hello@bread.example.com');
    expect([calls(rig, 'brand.change'), calls(rig, 'campaign.correct'), rig.charges().length]).toEqual([
      ...[1, 1, before.charges],
    ]);
    expect(after.steps.map(({ text }) => text).join('\n')).toContain('accepted the correction (website, street');
    expect(await delivers(rig, id)).toBe(true);
    expect((await rig.call('GET', `/sms/${id}`, { token: null })).text).toContain('https://bread.example.com');
  });

  test('under another name answers STOP, START and HELP by it', async () => {
    const rig = await openRig(engine);
    const { id, profileId } = await registered(rig);
    await rig.submit(id, { brandName: 'Green Bottle' });
    await decided(rig, id, 'taken');
    const replies = rig.sim.state.autoResponses.filter((one) => one.profileId === profileId).map(({ text }) => text);
    expect(replies.length).toBeGreaterThan(2);
    expect(replies.filter((text) => !text.startsWith('Green Bottle: '))).toEqual([]);
    expect(brandOf(rig).asked.displayName).toBe('Green Bottle');
  });

  test('is told before anything is sent what the carriers never change', async () => {
    const rig = await openRig(engine);
    const { id } = await registered(rig);
    const before = registrationOf(await rig.read(id));
    const fixed = { legalName: 'Other LLC', ein: '98-7654321', entityType: 'NON_PROFIT', useCase: '2FA' };
    for (const query of ['', '?dryRun=1']) {
      const refused = await rig.submit(id, { ...moved, ...fixed, description: 'x'.repeat(60) }, query);
      expect([refused.status, refused.json.error, problemFields(refused)]).toEqual([
        ...[400, 'bad_request', ['entityType', 'legalName', 'ein', 'useCase', 'description']],
      ]);
    }
    expect(registrationOf(await rig.read(id))).toEqual(before);
    expect(calls(rig, 'brand.change')).toBe(0);
    expect(before.correctable).toEqual(expect.arrayContaining(['brandName', 'website', 'sampleMessages']));
    for (const field of problemFields(await rig.submit(id, fixed))) expect(before.correctable).not.toContain(field);
  });

  test('that sends what is registered, masked EIN and all, changes nothing; a second correction waits for the first', async () => {
    const rig = await openRig(engine);
    const { id } = await registered(rig);
    const same = await rig.submit(id, { ...business, ein: '**-***6789' });
    expect([same.status, registrationOf(same).correction]).toEqual([200, null]);
    await rig.submit(id, { ...business, ein });
    expect(calls(rig, 'brand.change')).toBe(0);
    await reviews(rig, 'paused');
    await rig.fail('brand_vetted_again');
    await rig.submit(id, moved);
    const steps = registrationOf(await rig.submit(id, moved)).steps.length;
    const other = await rig.submit(id, { city: 'Denver' });
    expect([other.status, other.json.error]).toEqual([409, 'correction_pending']);
    expect(registrationOf(await rig.read(id)).steps).toHaveLength(steps);
  });

  test('refused by the carrier keeps what was registered, and says why and at which field', async () => {
    const rig = await openRig(engine);
    const { id } = await registered(rig);
    const { form } = registrationOf(await rig.read(id));
    const detail = 'The website cannot be reached.';
    await rig.fail('refuse', { on: 'brand.change', status: 400, code: '10015', detail });
    await rig.submit(id, moved);
    const after = await decided(rig, id, 'refused');
    expect(after.form).toEqual(form);
    expect(after.correction).toMatchObject({
      reason: detail,
      problems: [{ field: 'website', text: detail }],
      form: moved,
      decidedAt: expect.any(String),
    });
    expect(after.problems).toEqual([]);
    // Corrected once more, it is taken.
    await rig.submit(id, { ...moved, website: 'https://bakery.example.com/new' });
    expect((await decided(rig, id, 'taken')).form.website).toBe('https://bakery.example.com/new');
  });

  test('refused is said no more once the same detail was changed with the form of another number', async () => {
    const rig = await openRig(engine);
    const { id } = await registered(rig);
    const rejected = async (useCase: RegistrationForm['useCase']) => {
      const other = await rig.buy();
      const form = { ...business, useCase };
      await rig.fail('campaign_mno_rejected', { reason: 'The samples do not match the use case.' });
      await rig.submit(other.id, form);
      await rig.until(other.id, isRejected);
      return { id: other.id, form };
    };
    const others = [await rejected('DELIVERY_NOTIFICATION'), await rejected('MARKETING')];
    await rig.fail('refuse', { on: 'brand.change', status: 400, code: '10015', detail: 'It cannot be reached.' });
    await rig.submit(id, { website: moved.website });
    await decided(rig, id, 'refused');
    const changed = async ({ id: other, form }: (typeof others)[number], change: RegistrationForm) => {
      await rig.submit(other, { ...form, ...change });
      await rig.until(other, isApproved);
      return registrationOf(await rig.read(id));
    };
    // Something else was changed: the website is still as it was.
    expect(await changed(others[0]!, { city: 'Denver' })).toMatchObject({
      form: { city: 'Denver', website: business.website },
      correction: { state: 'refused' },
    });
    expect(await changed(others[1]!, { city: 'Denver', website: moved.website })).toMatchObject({
      form: { website: moved.website },
      correction: null,
    });
  });

  test('whose campaign is refused after the business was taken has the business put back', async () => {
    const rig = await openRig(engine);
    const { id } = await registered(rig);
    const asked = { ...brandOf(rig).asked };
    const detail = 'The help message does not name the business.';
    await rig.fail('refuse', { on: 'campaign.correct', status: 400, code: '10015', detail });
    await rig.submit(id, moved);
    const after = await decided(rig, id, 'refused');
    expect(after.correction?.reason).toBe(detail);
    expect(after.form.street).toBe('12 Mill Lane');
    expect(brandOf(rig).asked).toEqual(asked);
    expect(await delivers(rig, id)).toBe(true);
  });

  test.each([
    ['is vetted again', 'brand_vetted_again', 'brand_mismatch'],
    ['has its campaign reviewed again', 'campaign_reviewed_again', 'campaign_mno_rejected'],
  ])('that %s texts on meanwhile; refused then, what held before is put back', async (_, again, refusal) => {
    const rig = await openRig(engine);
    const { id } = await registered(rig);
    const [asked, help] = [{ ...brandOf(rig).asked }, campaigns(rig)[0]?.asked.helpMessage];
    await reviews(rig, 'paused');
    await rig.fail(again);
    await rig.submit(id, moved);
    expect(registrationOf(await rig.read(id)).correction?.state).toBe('pending');
    expect(await delivers(rig, id)).toBe(true);
    await reviews(rig, 'instant');
    await decided(rig, id, 'taken');
    await rig.fail(again);
    await rig.fail(refusal);
    await rig.submit(id, business);
    const after = await decided(rig, id, 'refused');
    expect(after.form).toMatchObject(moved);
    expect(brandOf(rig).asked).toMatchObject({
      ...asked,
      website: moved.website,
      street: moved.street,
      email: moved.contactEmail,
    });
    expect(campaigns(rig)[0]?.asked.helpMessage).not.toBe(help);
    // And it is looked at once more, until it holds again.
    await rig.until(id, () => brandOf(rig).identity === 'VERIFIED' && campaigns(rig)[0]?.state === 'MNO_PROVISIONED');
    expect(registrationOf(await rig.read(id))).toMatchObject({ state: 'approved', smsState: 'active' });
  });

  test('waits where our account cannot, says so, and is tried again', async () => {
    const rig = await openRig(engine);
    const { id } = await registered(rig);
    await rig.fail('level_2', { on: 'brand.change' });
    const waiting = registrationOf(await rig.submit(id, moved)).correction;
    expect(waiting).toMatchObject({ state: 'pending', reason: expect.stringMatching(/^waiting: /) });
    expect(Date.parse(waiting!.nextRetryAt!) - rig.clock.now()).toBe(30 * 60_000);
    await rig.submit(id, moved);
    expect(calls(rig, 'brand.change')).toBe(1);
    rig.part.start?.();
    rig.clock.jump(31 * 60_000);
    await rig.clock.advance(5_000);
    await decided(rig, id, 'taken');
  });

  test.each(['cut_after', 'cut_before'])('goes on where the program was killed over it (%s)', async (fault) => {
    const rig = await openRig(engine);
    const { id } = await registered(rig);
    await rig.fail(fault, { on: 'brand.change' });
    await rig.submit(id, moved);
    await rig.part.close?.();
    const next = await openPart(rig.store, { sim: rig.sim, clock: rig.clock });
    next.part.start?.();
    for (
      let turn = 0;
      turn < 40 && campaigns(rig)[0]?.asked.helpMessage?.toString().includes('bread') !== true;
      turn += 1
    ) {
      rig.clock.jump(30_000);
      await rig.clock.advance(5_000);
      await rig.sim.settled();
    }
    await expect
      .poll(() => rig.store.all('SELECT stage FROM phone_registration_correction'))
      .toEqual([{ stage: 'taken' }]);
    expect(brandOf(rig).asked.street).toBe('7 Oven Street');
  });
});

describe.each(engines)('numbers that share a business on $name', (engine) => {
  test('are corrected once, by whichever it was asked for, and shown so at each', async () => {
    const rig = await openRig(engine);
    const [one, two] = [await registered(rig), await registered(rig)];
    const samples = ['Blue Bottle: your bread is ready. Reply STOP to opt out.', business.sampleMessages![1]!];
    await rig.submit(two.id, { ...moved, sampleMessages: samples });
    await decided(rig, two.id, 'taken');
    const other = registrationOf(await rig.read(one.id));
    expect(other).toMatchObject({ form: { ...moved, sampleMessages: samples }, correction: { state: 'taken' } });
    expect(other.steps.at(-1)?.text).toContain('accepted the correction');
    expect([calls(rig, 'brand.change'), calls(rig, 'campaign.correct')]).toEqual([1, 1]);
    // A third one joins what was corrected, free of charge.
    const third = await rig.buy();
    const plan = await rig.submit(third.id, { ...business, ...moved, sampleMessages: samples }, '?dryRun=1');
    expect((plan.json as unknown as { plan: { fees: unknown[] } }).plan.fees).toEqual([]);
  });

  test('with a campaign each: the business once, each campaign once, and samples of the one that was asked for', async () => {
    const rig = await openRig(engine);
    const one = await registered(rig);
    const two = await registered(rig, { ...business, useCase: 'DELIVERY_NOTIFICATION' });
    const samples = ['Blue Bottle: your loaf is on its way. Reply STOP to opt out.', business.sampleMessages![1]!];
    await rig.submit(two.id, { contactEmail: moved.contactEmail, sampleMessages: samples });
    await decided(rig, two.id, 'taken');
    expect([calls(rig, 'brand.change'), calls(rig, 'campaign.correct')]).toEqual([1, 2]);
    expect(campaigns(rig).map(({ asked }) => String(asked.helpMessage).includes(moved.contactEmail))).toEqual([
      true,
      true,
    ]);
    expect(registrationOf(await rig.read(one.id)).form).toMatchObject({
      contactEmail: moved.contactEmail,
      sampleMessages: business.sampleMessages,
    });
  });

  test('of which the one that leads the correction goes: another leads it on', async () => {
    const rig = await openRig(engine);
    const [one, two] = [await registered(rig), await registered(rig)];
    await reviews(rig, 'paused');
    await rig.fail('brand_vetted_again');
    await rig.submit(two.id, moved);
    expect(registrationOf(await rig.read(one.id)).correction?.state).toBe('pending');
    await rig.release(two.id);
    await reviews(rig, 'instant');
    expect((await decided(rig, one.id, 'taken')).form).toMatchObject(moved);
    expect(calls(rig, 'brand.change')).toBe(1);
  });

  test('of which the only one goes: nothing of the correction is left under way', async () => {
    const rig = await openRig(engine);
    const { id } = await registered(rig);
    await reviews(rig, 'paused');
    await rig.fail('brand_vetted_again');
    await rig.submit(id, moved);
    await rig.release(id);
    expect(await rig.store.all('SELECT stage FROM phone_registration_correction')).toEqual([{ stage: 'refused' }]);
  });
});

describe.each(engines)('others that are registered on $name', (engine) => {
  test('a sole proprietor corrects the address, and neither the name nor the mobile that was confirmed', async () => {
    const rig = await openRig(engine);
    const { id } = await rig.buy();
    await rig.submit(id, person);
    const { needsPin } = await rig.until(id, (one) => one.needsPin);
    expect(needsPin).toBe(true);
    await rig.otp(id, brandOf(rig).code!.pin);
    await rig.until(id, isApproved);
    const refused = await rig.submit(id, { contactLastName: 'Byron', mobilePhone: '+19705550123' });
    expect([refused.status, problemFields(refused)]).toEqual([...[400, ['contactLastName', 'mobilePhone']]]);
    await rig.submit(id, { street: '7 Oven Street' });
    await decided(rig, id, 'taken');
    expect(brandOf(rig).asked).toMatchObject({
      street: '7 Oven Street',
      lastName: 'Moss',
      mobilePhone: '+19705550122',
    });
  });

  test('a toll-free number is corrected in its one request without its EIN, and texts while that is reviewed', async () => {
    const rig = await openRig(engine);
    const { id } = await registered(rig, business, '+18005550150', 'toll_free');
    const request = () => Object.values(rig.sim.state.tollFree)[0]!;
    await reviews(rig, 'paused');
    await rig.submit(id, moved);
    expect(registrationOf(await rig.read(id)).correction?.state).toBe('pending');
    expect(await delivers(rig, id)).toBe(true);
    await reviews(rig, 'instant');
    const after = await decided(rig, id, 'taken');
    expect(after.form).toMatchObject(moved);
    expect(request().asked).toMatchObject({ businessAddr1: '7 Oven Street', businessRegistrationNumber: ein });
    await rig.fail('toll_free_rejected', { reason: 'The website does not show how people opt in.' });
    await rig.submit(id, { website: 'https://other.example.com' });
    const refused = await decided(rig, id, 'refused');
    expect(refused.correction?.problems[0]?.field).not.toBe(null);
    expect([refused.form.website, request().asked.corporateWebsite]).toEqual([moved.website, moved.website]);
    await rig.until(id, () => request().status === 'Verified');
    expect(registrationOf(await rig.read(id))).toMatchObject({ state: 'approved', smsState: 'active' });
    expect(Object.values(rig.sim.state.tollFree)).toHaveLength(1);
  });

  test('a rejected campaign whose reason is the business has the business corrected with it', async () => {
    const rig = await openRig(engine);
    const { id } = await rig.buy();
    await rig.fail('campaign_telnyx_failed', { reason: 'The website does not name the business.' });
    await rig.submit(id, business);
    const rejected = await rig.until(id, isRejected);
    expect(rejected.correctable).toContain('website');
    await rig.fail('refuse', {
      on: 'brand.change',
      status: 400,
      code: '10015',
      detail: 'The website cannot be reached.',
    });
    await rig.submit(id, moved);
    expect(await rig.until(id, isRejected)).toMatchObject({ problems: [{ field: 'website' }] });
    await rig.submit(id, { website: 'https://bread.example.com/shop' });
    await rig.until(id, isApproved);
    expect(brandOf(rig).asked).toMatchObject({ website: 'https://bread.example.com/shop', street: moved.street });
    expect([rig.charges('brand').length, rig.charges('campaign').length]).toEqual([1, 1]);
  });

  test('the EIN that the carrier repeats is in no row', async () => {
    const rig = await openRig(engine);
    const { id } = await registered(rig);
    await rig.fail('refuse', { on: 'brand.change', status: 400, code: '10015', detail: `EIN ${ein} is odd.` });
    await rig.submit(id, moved);
    await decided(rig, id, 'refused');
    await rig.submit(id, moved);
    await decided(rig, id, 'taken');
    const tables = [
      'phone_registration',
      'phone_registration_step',
      'phone_registration_correction',
      'phone_paid_step',
    ];
    for (const table of tables)
      expect(JSON.stringify(await rig.store.all(`SELECT * FROM ${table}`))).not.toContain(ein);
    expect(JSON.stringify([rig.lines, rig.httpLines])).not.toContain(ein);
  });
});
