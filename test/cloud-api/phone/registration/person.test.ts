/** A sole proprietor registers: the code on the mobile, how often it may be sent and tried, and one number a person. */
import { describe, expect, test } from 'vitest';
import { engines } from '../../../support/engines.ts';
import { isApproved, openRig, person, type Rig, registrationOf } from './support.ts';

const mobile = person.mobilePhone!;
const wrong = (pin: string) => String((Number(pin) + 1) % 1_000_000).padStart(6, '0');

/** What the handset was texted last. */
function pinOf({ sim }: Rig): string {
  const [brand] = Object.values(sim.state.brands);
  return brand?.code?.pin ?? '';
}

const heardBy = ({ sim }: Rig) =>
  Object.values(sim.state.texts).filter(({ to, text }) => to === mobile && /your code/.test(text));

describe.each(engines)('a sole proprietor on $name', (engine) => {
  async function filed() {
    const rig = await openRig(engine);
    const { id } = await rig.buy();
    const reply = await rig.submit(id, person);
    expect(reply.status).toBe(201);
    return { rig, id, registration: registrationOf(reply) };
  }

  test('gets a code, enters it, and is approved; no EIN and no company are filed', async () => {
    const { rig, id, registration } = await filed();
    expect(registration).toMatchObject({ state: 'pending', needsPin: true, campaignId: null });
    const [brand] = Object.values(rig.sim.state.brands);
    expect(brand?.asked).toMatchObject({ entityType: 'SOLE_PROPRIETOR', mobilePhone: mobile, firstName: 'Ada' });
    expect(brand?.asked.ein).toBe(undefined);
    expect(brand?.asked.companyName).toBe(undefined);
    expect(heardBy(rig)).toHaveLength(1);
    expect(heardBy(rig)[0]?.text).toContain(pinOf(rig));
    expect(rig.counted.counted()).toEqual([]);
    const confirmed = await rig.otp(id, pinOf(rig));
    expect(confirmed.status).toBe(200);
    expect(registrationOf(confirmed)).toMatchObject({ needsPin: false, campaignId: expect.any(String) });
    expect((await rig.until(id, isApproved)).form.useCase).toBe('SOLE_PROPRIETOR');
    expect([rig.charges('brand').length, rig.charges('campaign').length]).toEqual([1, 1]);
    const late = await rig.otp(id, pinOf(rig));
    expect([late.status, late.json.error]).toEqual([409, 'no_code_needed']);
  });

  test('a wrong pin is 400, and five of them end the code', async () => {
    const { rig, id } = await filed();
    const pin = pinOf(rig);
    for (let tried = 0; tried < 5; tried += 1) {
      const { status, json } = await rig.otp(id, wrong(pin));
      expect([status, json.error]).toEqual([400, 'wrong_pin']);
    }
    const right = await rig.otp(id, pin);
    expect([right.status, right.json.message]).toEqual([400, expect.stringContaining('tried 5 times')]);
    const [brand] = Object.values(rig.sim.state.brands);
    expect(brand?.code?.tries).toBe(5);
    expect((await rig.otp(id)).status).toBe(200);
    expect((await rig.otp(id, pinOf(rig))).status).toBe(200);
    await rig.until(id, isApproved);
  });

  test('guesses that come at once are counted one by one', async () => {
    const { rig, id } = await filed();
    const pin = pinOf(rig);
    const replies = await Promise.all(Array.from({ length: 20 }, () => rig.otp(id, wrong(pin))));
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 400));
    const [brand] = Object.values(rig.sim.state.brands);
    expect(brand?.code?.tries).toBe(5);
  });

  test('what is no code at all costs no try', async () => {
    const { rig, id } = await filed();
    for (const pin of ['12', 'abcdef', '12 34', '123456789012']) expect((await rig.otp(id, pin)).status).toBe(400);
    const [brand] = Object.values(rig.sim.state.brands);
    expect(brand?.code?.tries).toBe(0);
  });

  test('a code lives a day, here and at the carrier', async () => {
    const { rig, id } = await filed();
    await rig.fail('code_expired');
    expect((await rig.otp(id, pinOf(rig))).status).toBe(400);
    rig.clock.jump(24 * 60 * 60_000);
    const { status, json } = await rig.otp(id, pinOf(rig));
    expect([status, json.message]).toEqual([400, expect.stringContaining('older than a day')]);
  });

  test('three codes in ten minutes, then 429 with when', async () => {
    const { rig, id } = await filed();
    expect((await rig.otp(id)).status).toBe(200);
    expect((await rig.otp(id)).status).toBe(200);
    const { status, json, headers } = await rig.otp(id);
    expect([status, json.error]).toEqual([429, 'rate_limited']);
    expect(Number(headers['retry-after'])).toBeGreaterThan(500);
    expect(heardBy(rig)).toHaveLength(3);
    rig.clock.jump(10 * 60_000);
    expect((await rig.otp(id)).status).toBe(200);
  });

  test('a code that could not be sent counts for nothing, and is tried again', async () => {
    const rig = await openRig(engine);
    const { id } = await rig.buy();
    await rig.fail('too_many', { on: 'brand.sendCode' });
    const waiting = registrationOf(await rig.submit(id, person));
    expect(waiting.rejectionReason).toMatch(/^waiting: /);
    rig.part.start?.();
    rig.clock.jump(30 * 60_000);
    await rig.clock.advance(5_000);
    await rig.until(id, ({ rejectionReason }) => rejectionReason === undefined);
    expect(heardBy(rig)).toHaveLength(1);
  });

  test('has one number: the second is 409 with the reason, until the first is gone', async () => {
    const { rig, id } = await filed();
    const second = await rig.buy();
    for (const query of ['', '?dryRun=1']) {
      const { status, json } = await rig.submit(second.id, person, query);
      expect([status, json.error]).toEqual([409, 'one_number_per_person']);
    }
    await rig.otp(id, pinOf(rig));
    await rig.until(id, isApproved);
    await rig.release(id);
    // The person is registered already: neither a fee nor a code for that.
    expect((await rig.submit(second.id, person)).status).toBe(201);
    await rig.until(second.id, isApproved);
    expect([rig.charges('brand').length, heardBy(rig).length]).toEqual([1, 1]);
    expect(Object.values(rig.sim.state.campaigns).filter(({ status }) => status === 'ACTIVE')).toHaveLength(1);
  });
});
