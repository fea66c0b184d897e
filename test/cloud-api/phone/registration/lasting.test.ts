/** What a registration leaves behind: after a kill, after months, and for the other numbers that share it. Nothing is paid or ended twice. */
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { createPaidSteps } from '../../../../src/cloud-api/phone/carrier/paid-steps.ts';
import { CarrierFault } from '../../../../src/cloud-api/phone/carrier/port.ts';
import { engines } from '../../../support/engines.ts';
import { business, isApproved, isRejected, openPart, openRig, type Rig, registrationOf } from './support.ts';

const day = 24 * 60 * 60_000;
const live = (rig: Rig) => Object.values(rig.sim.state.campaigns).filter(({ status }) => status === 'ACTIVE');

/** Another answer than the carrier's own, for as long as the test runs. */
const instead = (rig: Rig, own: Partial<Rig['carrier']['registry']>) => Object.assign(rig.carrier.registry, own);

describe.each(engines)('on $name', (engine) => {
  test('killed while a campaign is filed for a number that goes: whoever follows ends it', async () => {
    const rig = await openRig(engine);
    const { id } = await rig.buy();
    let send = async (): Promise<unknown> => undefined;
    let die = () => {};
    const { createCampaign } = rig.carrier.registry;
    // The carrier is slow, and who asked is killed before it answers.
    instead(rig, {
      createCampaign: (asked) => {
        send = () => createCampaign(asked);
        return new Promise((_, reject) => {
          die = () => reject(new CarrierFault('unknown', 'Nobody is there any more to hear it.'));
        });
      },
    });
    const filing = rig.submit(id, business);
    await expect.poll(async () => (await rig.store.all('SELECT key FROM phone_paid_step')).length).toBe(2);
    await rig.release(id);
    await send();
    await rig.clock.advance(6_000);
    await filing;
    expect(live(rig)).toHaveLength(1);
    const next = await openPart(rig.store, { sim: rig.sim, clock: rig.clock });
    next.part.start?.();
    for (let turn = 0; turn < 100 && live(rig).length > 0; turn += 1) {
      await delay(Math.min(turn, 50));
      rig.clock.jump(10_000);
      await rig.clock.advance(5_000);
    }
    die();
    expect(live(rig)).toEqual([]);
    await next.part.close?.();
    await expect.poll(() => rig.store.all('SELECT look_at AS at FROM phone_registration')).toEqual([{ at: null }]);
  });

  test('a carrier that never answers holds up neither an answer nor the end of the program', async () => {
    const rig = await openRig(engine);
    const { id } = await rig.buy();
    let die: ((fault: CarrierFault) => void) | undefined;
    instead(rig, {
      createBrand: () =>
        new Promise((_, reject) => {
          die = reject;
        }),
    });
    const filing = rig.submit(id, business);
    await expect.poll(() => die).toBeDefined();
    await rig.clock.advance(5_000);
    expect(registrationOf(await filing)).toMatchObject({ state: 'pending', steps: [{ step: 'filed', state: 'done' }] });
    let closed = false;
    const closing = Promise.resolve(rig.part.close?.()).then(() => {
      closed = true;
    });
    for (let turn = 0; turn < 50 && !closed; turn += 1) {
      await delay(10);
      await rig.clock.advance(100);
    }
    die?.(new CarrierFault('unknown', 'Nobody is there any more to hear it.'));
    expect(closed).toBe(true);
    await closing;
  });

  test('a carrier that is away every other time fills no timeline', async () => {
    const rig = await openRig(engine);
    const { id } = await rig.buy();
    await rig.fail('brand_slow');
    await rig.submit(id, business);
    const { readBrand } = rig.carrier.registry;
    let reads = 0;
    instead(rig, {
      readBrand: (brandId) => {
        reads += 1;
        const away = new CarrierFault('service', `Away, request ${reads}.`);
        return reads % 2 === 0 ? readBrand(brandId) : Promise.reject(away);
      },
    });
    let last = registrationOf(await rig.read(id));
    for (let turn = 0; turn < 20; turn += 1) {
      await rig.clock.advance(31 * 60_000);
      last = registrationOf(await rig.read(id));
    }
    expect(reads).toBeGreaterThan(10);
    expect(last.steps.map(({ step, state }) => `${step} ${state}`)).toEqual([
      'filed done',
      'brand working',
      'brand waiting',
    ]);
    expect(last.steps[2]?.text).toMatch(/^Away, request \d\d\.$/);
  });

  test('a carrier whose lists lag behind its answers has a number joined once', async () => {
    const rig = await openRig(engine);
    const { id } = await rig.buy();
    const { assign, readAssignment } = rig.carrier.registry;
    let assigned = 0;
    let lags = true;
    instead(rig, {
      async assign(e164, campaignId) {
        assigned += 1;
        await assign(e164, campaignId);
        return { state: 'assigned', campaignId, reason: null };
      },
      readAssignment: async (e164) => (lags ? { state: 'none', campaignId: null, reason: null } : readAssignment(e164)),
    });
    await rig.submit(id, business);
    const approved = await rig.until(id, isApproved);
    await rig.clock.advance(60_000);
    lags = false;
    expect([assigned, registrationOf(await rig.read(id)).steps.length]).toEqual([1, approved.steps.length]);
    expect(approved.steps.map(({ text }) => text).join()).not.toContain('no longer part');
  });

  test('a number joins a campaign that was filed months ago, and it is not filed again', async () => {
    const rig = await openRig(engine);
    const one = await rig.buy();
    await rig.submit(one.id, business);
    await rig.until(one.id, isApproved);
    rig.clock.jump(100 * day);
    const steps = createPaidSteps({ store: rig.store, clock: rig.clock, timers: rig.clock });
    await steps.forgetOld(rig.clock.now());
    expect(await rig.store.all('SELECT key FROM phone_paid_step')).toEqual([]);
    const two = await rig.buy();
    await rig.submit(two.id, business);
    await rig.until(two.id, isApproved);
    expect([rig.charges('brand').length, rig.charges('campaign').length]).toEqual([1, 1]);
  });

  test('each of two numbers of one campaign has its own correction sent', async () => {
    const rig = await openRig(engine);
    const [one, two] = [await rig.buy(), await rig.buy()];
    await rig.submit(one.id, business);
    await rig.until(one.id, isApproved);
    await rig.submit(two.id, business);
    await rig.until(two.id, isApproved);
    const [campaign] = live(rig);
    Object.assign(campaign!, { state: 'MNO_REJECTED', reason: 'The samples are too short.' });
    const event = {
      id: 'event_1',
      type: '10dlc.campaign.update',
      occurredAt: 1,
      receivedAt: 1,
      numberId: null,
      payload: { campaignId: campaign!.id },
    };
    const sent: (readonly string[])[] = [];
    const { correctCampaign } = rig.carrier.registry;
    instead(rig, {
      correctCampaign(id, asked) {
        sent.push(asked.samples);
        return correctCampaign(id, asked);
      },
    });
    const reject = async () => {
      const reader = rig.part.readers?.find(({ prefix }) => prefix === '10dlc.');
      await reader?.take(event, new AbortController().signal);
    };
    await reject();
    expect([await rig.read(one.id), await rig.read(two.id)].map(registrationOf).map(isRejected)).toEqual([true, true]);
    const samples = (which: string) => [
      `Blue Bottle: your ${which} loaf is ready until six today. Reply STOP to opt out.`,
      `Blue Bottle: the ${which} opening hours of tomorrow are seven to noon.`,
    ];
    await rig.submit(one.id, { ...business, sampleMessages: samples('first') });
    Object.assign(campaign!, { state: 'MNO_REJECTED', reason: 'The samples are too short.' });
    await rig.submit(two.id, { ...business, sampleMessages: samples('second') });
    expect(sent).toEqual([samples('first'), samples('second')]);
  });

  test('a business that was refused is filed anew, also where a number that is gone was registered for it', async () => {
    const rig = await openRig(engine);
    const [one, two] = [await rig.buy(), await rig.buy()];
    await rig.fail('brand_slow');
    await rig.submit(one.id, business);
    await rig.submit(two.id, business);
    await rig.release(one.id);
    const [brand] = Object.values(rig.sim.state.brands);
    Object.assign(brand!, { status: 'REGISTRATION_FAILED' });
    await rig.until(two.id, isRejected);
    expect((await rig.submit(two.id, { ...business, street: '14 Mill Lane' })).status).toBe(201);
    await rig.until(two.id, isApproved);
    expect(rig.charges('brand')).toHaveLength(2);
  });
});
