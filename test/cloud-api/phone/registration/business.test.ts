/** A business registers a local number: filed, reviewed, approved or refused, corrected, and nothing paid twice. */
import { describe, expect, test } from 'vitest';
import { filedOf } from '../../../../src/cloud-api/phone/registration/store.ts';
import { engines } from '../../../support/engines.ts';
import { business, isApproved, isRejected, openRig, origin, registrationOf } from './support.ts';

describe.each(engines)('a business on $name', (engine) => {
  test('is approved: brand, campaign, number, each fee once, and the number texts', async () => {
    const rig = await openRig(engine);
    const { id, e164 } = await rig.buy();
    const filed = await rig.submit(id, business);
    expect(filed.status).toBe(201);
    expect(registrationOf(filed)).toMatchObject({ kind: '10dlc', smsState: 'pending_registration', needsPin: false });
    const approved = await rig.until(id, isApproved);
    expect(approved).toMatchObject({ smsState: 'active', campaignId: expect.any(String), problems: [] });
    expect(approved.rejectionReason).toBe(undefined);
    expect(approved.steps.map(({ step, state }) => `${step} ${state}`)).toEqual([
      ...['filed done', 'brand working', 'brand done', 'campaign working', 'campaign done', 'number done'],
    ]);
    expect((await rig.rows.numbers.find(id))?.smsState).toBe('active');
    expect(rig.charges('brand')).toHaveLength(1);
    expect(rig.charges('campaign')).toHaveLength(1);
    const [campaign] = Object.values(rig.sim.state.campaigns);
    expect(campaign?.asked).toMatchObject({
      embeddedLink: true,
      embeddedPhone: true,
      subscriberOptout: true,
      usecase: 'CUSTOMER_CARE',
      messageFlow: expect.stringContaining(`${origin}/sms/${id}`),
      helpMessage: expect.stringContaining('STOP'),
      optoutMessage: expect.stringContaining('START'),
    });
    const [brand] = Object.values(rig.sim.state.brands);
    expect(brand?.asked).toMatchObject({ ein: '12-3456789', companyName: business.legalName });
    expect(rig.sim.state.assignments[e164]?.status).toBe('ASSIGNED');
  });

  test('what it costs is counted as the carrier charges it: three months at once, and each month after them', async () => {
    const rig = await openRig(engine);
    const { id } = await rig.buy();
    await rig.submit(id, business);
    await rig.until(id, isApproved);
    const spent = () => [...rig.counted.lines.values()].reduce((sum, { microUsd }) => sum + microUsd, 0) / 1e6;
    const charged = [...rig.charges('brand'), ...rig.charges('campaign')].reduce((sum, { amount }) => sum + amount, 0);
    expect([spent(), rig.counted.lines.size]).toEqual([charged, 5]);
    const day = 24 * 60 * 60_000;
    await rig.part.forgetOld?.(rig.clock.now() + 80 * day);
    expect(rig.counted.lines.size).toBe(5);
    await rig.part.forgetOld?.(rig.clock.now() + 95 * day);
    await rig.part.forgetOld?.(rig.clock.now() + 95 * day);
    expect([spent(), rig.counted.lines.size]).toEqual([charged + 10, 6]);
    await rig.release(id);
    await rig.part.forgetOld?.(rig.clock.now() + 400 * day);
    expect(rig.counted.lines.size).toBe(6);
  });

  test('its number says that one was filed, from then on and whatever becomes of it; one without says so, too', async () => {
    const rig = await openRig(engine);
    const [{ id }, other] = [await rig.buy(), await rig.buy()];
    const filed = async () => [...(await filedOf(rig.store, [id, other.id]))];
    expect([await filed(), await filedOf(rig.store, [])]).toEqual([[], new Set()]);
    await rig.submit(id, business, '?dryRun=1');
    expect(await filed()).toEqual([]);
    await rig.submit(id, business);
    expect(await filed()).toEqual([id]);
    await rig.until(id, isApproved);
    expect(await filed()).toEqual([id]);
  });

  test('the same form again is the same registration; another one waits for the decision', async () => {
    const rig = await openRig(engine);
    const { id } = await rig.buy();
    await rig.fail('brand_slow');
    const first = registrationOf(await rig.submit(id, business));
    const again = await rig.submit(id, business);
    expect([again.status, registrationOf(again).id]).toEqual([200, first.id]);
    const masked = await rig.submit(id, { ...business, ein: '**-***6789' });
    expect([masked.status, registrationOf(masked).id]).toEqual([200, first.id]);
    const other = await rig.submit(id, { ...business, city: 'Denver' });
    expect([other.status, other.json.error]).toEqual([409, 'registration_pending']);
    expect(rig.charges('brand')).toHaveLength(1);
  });

  test('a Canadian number texts at once, and registers nothing', async () => {
    const rig = await openRig(engine);
    const { id, smsState } = await rig.buy('+14165550150', 'local', 'CA');
    expect(smsState).toBe('active');
    const { status, json } = await rig.submit(id, business);
    expect([status, json.error]).toEqual([409, 'registration_not_needed']);
  });

  test('a form with problems costs nothing and tells them all', async () => {
    const rig = await openRig(engine);
    const { id } = await rig.buy();
    const { status, json } = await rig.submit(id, { ...business, ein: '12', region: 'ZZ', sampleMessages: [] });
    const body = json as unknown as { error: string; problems: { field: string }[] };
    expect([status, body.error]).toEqual([400, 'bad_request']);
    expect(body.problems.map(({ field }) => field)).toEqual(['region', 'ein', 'sampleMessages']);
    expect((await rig.read(id)).json).toMatchObject({ error: 'registration_not_found' });
    expect(rig.charges('brand')).toEqual([]);
  });

  test('a dry run says fees and flow, and files nothing', async () => {
    const rig = await openRig(engine);
    const { id } = await rig.buy();
    const { status, json } = await rig.submit(id, business, '?dryRun=1');
    expect(status).toBe(200);
    expect(json).toMatchObject({
      dryRun: true,
      plan: { kind: '10dlc', corrects: false, optInUrl: `${origin}/sms/${id}`, warnings: [] },
    });
    expect((json as unknown as { plan: { fees: unknown[] } }).plan.fees).toHaveLength(3);
    expect((await rig.submit(id, {}, '?dryRun=1')).status).toBe(400);
    expect((await rig.read(id)).status).toBe(404);
    expect(rig.sim.state.brands).toEqual({});
  });

  test('a brand that is refused over its details names the fields; the next form files a new one', async () => {
    const rig = await openRig(engine);
    const { id } = await rig.buy();
    await rig.fail('brand_mismatch');
    const first = registrationOf(await rig.submit(id, business));
    const rejected = await rig.until(id, isRejected);
    expect(rejected).toMatchObject({ smsState: 'rejected', campaignId: null });
    expect(rejected.rejectionReason).toContain('do not belong together');
    expect(rejected.problems.map(({ field }) => field)).toEqual(['ein', 'legalName']);
    expect(rejected.steps.at(-1)).toMatchObject({ step: 'brand', state: 'failed', field: 'ein' });
    const masked = await rig.submit(id, { ...business, ein: '**-***6789' });
    expect([masked.status, masked.json.message]).toEqual([400, expect.stringContaining('wiped')]);
    const next = await rig.submit(id, { ...business, legalName: 'Blue Bottle Bakeries LLC' });
    expect(next.status).toBe(201);
    expect(registrationOf(next).id).not.toBe(first.id);
    await rig.until(id, isApproved);
    expect(rig.charges('brand')).toHaveLength(2);
    expect(rig.charges('campaign')).toHaveLength(1);
  });

  test('a refused campaign is corrected in place: no new brand, no new campaign', async () => {
    const rig = await openRig(engine);
    const { id } = await rig.buy();
    await rig.fail('campaign_mno_rejected', { reason: 'The samples do not match the use case.' });
    await rig.submit(id, business);
    const rejected = await rig.until(id, isRejected);
    expect(rejected.rejectionReason).toBe('campaign: The samples do not match the use case.');
    expect(rejected.problems).toEqual([{ field: 'sampleMessages', text: expect.any(String) }]);
    const sampleMessages = [
      'Blue Bottle: bread is ready. Reply STOP to opt out.',
      'Blue Bottle: open until six today.',
    ];
    const other = { sampleMessages, city: 'Denver', description: `${business.description} And more.` };
    const again = await rig.submit(id, { ...business, ...other, ein: '**-***6789' });
    expect(again.status).toBe(200);
    const corrected = registrationOf(again);
    expect([corrected.id, corrected.campaignId]).toEqual([rejected.id, rejected.campaignId]);
    expect(corrected.form).toMatchObject({ city: 'Denver', description: business.description });
    expect(corrected.steps.some(({ text }) => text.includes('Carriers do not change these: description'))).toBe(true);
    await rig.until(id, isApproved);
    expect(Object.values(rig.sim.state.brands).map(({ asked }) => asked.city)).toEqual(['Denver']);
    expect(Object.values(rig.sim.state.campaigns).map(({ asked }) => asked.sample1)).toEqual([sampleMessages[0]]);
    expect([rig.charges('brand').length, rig.charges('campaign').length]).toEqual([1, 1]);
  });

  test('what lies outside of the campaign is appealed where correcting it changed nothing', async () => {
    const rig = await openRig(engine);
    const { id } = await rig.buy();
    await rig.fail('campaign_mno_rejected', { reason: 'The website lacks a privacy policy.', times: 2 });
    await rig.submit(id, business);
    expect((await rig.until(id, isRejected)).problems[0]?.field).toBe('privacyUrl');
    await rig.submit(id, business);
    await rig.until(id, isApproved);
    const asked = rig.sim.state.log.map(({ detail }) => String(detail.op));
    expect(asked.filter((op) => ['campaign.correct', 'campaign.appeal'].includes(op))).toEqual([
      ...['campaign.correct', 'campaign.appeal'],
    ]);
    expect(rig.charges('campaign')).toHaveLength(1);
  });

  test('a campaign that is refused outright is filed once more, with the brand that is there', async () => {
    const rig = await openRig(engine);
    const { id } = await rig.buy();
    await rig.fail('campaign_refused', { reason: 'The description is too vague.' });
    await rig.submit(id, business);
    const rejected = await rig.until(id, isRejected);
    expect(rejected.rejectionReason).toMatch(/^campaign: /);
    expect(rejected.campaignId).toBe(null);
    expect((await rig.submit(id, business)).status).toBe(200);
    await rig.until(id, isApproved);
    expect([rig.charges('brand').length, rig.charges('campaign').length]).toEqual([1, 1]);
  });

  test('a campaign that is suspended or falls dormant blocks the number, and stays approved', async () => {
    const rig = await openRig(engine);
    const { id } = await rig.buy();
    await rig.submit(id, business);
    await rig.until(id, isApproved);
    const [campaign] = Object.values(rig.sim.state.campaigns);
    campaign!.status = 'DORMANT';
    rig.clock.jump(24 * 60 * 60_000);
    rig.part.start?.();
    await rig.clock.advance(5_000);
    await rig.until(id, ({ smsState }) => smsState === 'blocked');
    expect(registrationOf(await rig.read(id)).state).toBe('approved');
    campaign!.status = 'ACTIVE';
    rig.clock.jump(24 * 60 * 60_000);
    await rig.clock.advance(5_000);
    await rig.until(id, ({ smsState }) => smsState === 'active');
  });
});
