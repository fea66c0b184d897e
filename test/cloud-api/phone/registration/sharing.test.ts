/** Several numbers of one business, numbers that go, events of the carrier, and the EIN that nobody can find afterwards. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { CarrierEvent } from '../../../../src/cloud-api/phone/ports.ts';
import { engines, sqliteIn } from '../../../support/engines.ts';
import { scratchFolder } from '../../../support/scratch.ts';
import { business, isApproved, isRejected, openRig, person, type Rig, registrationOf } from './support.ts';

const event = (type: string, payload: object): CarrierEvent => ({
  id: 'event_1',
  type,
  occurredAt: 1,
  receivedAt: 1,
  numberId: null,
  payload: payload as CarrierEvent['payload'],
});

async function tell({ part }: Rig, type: string, payload: object): Promise<void> {
  const reader = part.readers?.find(({ prefix }) => type.startsWith(prefix));
  const told = event(type, payload);
  expect(reader?.subject(told)).toEqual(expect.any(String));
  await reader?.take(told, new AbortController().signal);
}

const live = (rig: Rig) => Object.values(rig.sim.state.campaigns).filter(({ status }) => status === 'ACTIVE');

describe.each(engines)('numbers of one business on $name', (engine) => {
  async function twoNumbers(second: object) {
    const rig = await openRig(engine);
    const one = await rig.buy();
    await rig.submit(one.id, business);
    await rig.until(one.id, isApproved);
    const two = await rig.buy();
    const plan = await rig.submit(two.id, { ...business, ...second }, '?dryRun=1');
    expect((await rig.submit(two.id, { ...business, ...second })).status).toBe(201);
    await rig.until(two.id, isApproved);
    const { fees } = (plan.json as unknown as { plan: { fees: { amount: string }[] } }).plan;
    return { rig, one, two, fees: fees.map(({ amount }) => amount) };
  }

  test('the second with the same texts joins the campaign, free of charge; it ends with the last of them', async () => {
    const { rig, one, two, fees } = await twoNumbers({});
    expect(fees).toEqual([]);
    expect([rig.charges('brand').length, rig.charges('campaign').length]).toEqual([1, 1]);
    expect(rig.counted.lines.size).toBe(5);
    await rig.release(one.id);
    // Whoever stays in the campaign pays for it on.
    await rig.part.forgetOld?.(rig.clock.now() + 95 * 24 * 60 * 60_000);
    expect(rig.counted.lines.size).toBe(6);
    expect(live(rig)).toHaveLength(1);
    expect(rig.sim.state.assignments[one.e164]).toBe(undefined);
    await rig.release(two.id);
    expect(live(rig)).toEqual([]);
    expect(Object.values(rig.sim.state.brands)).toHaveLength(1);
  });

  test('the second with other texts has a campaign of its own and the same brand', async () => {
    const { rig, fees } = await twoNumbers({ useCase: 'DELIVERY_NOTIFICATION' });
    expect(fees).toEqual(['15.00 USD', '10.00 USD']);
    expect([rig.charges('brand').length, rig.charges('campaign').length]).toEqual([1, 2]);
  });

  test('two filed at once share brand and campaign', async () => {
    const rig = await openRig(engine);
    const [one, two] = [await rig.buy(), await rig.buy()];
    await Promise.all([rig.submit(one.id, business), rig.submit(two.id, business)]);
    await rig.until(one.id, isApproved);
    await rig.until(two.id, isApproved);
    expect([rig.charges('brand').length, rig.charges('campaign').length]).toEqual([1, 1]);
  });

  test('another business files its own brand', async () => {
    const rig = await openRig(engine);
    const [one, two] = [await rig.buy(), await rig.buy()];
    await rig.submit(one.id, business);
    await rig.submit(two.id, { ...business, legalName: 'Green Bottle LLC', ein: '98-7654321' });
    await rig.until(two.id, isApproved);
    expect(rig.charges('brand')).toHaveLength(2);
  });

  test('a number that is released while it is filed costs nothing after', async () => {
    const rig = await openRig(engine);
    const { id } = await rig.buy();
    await rig.fail('cut_after', { on: 'campaign.file' });
    await rig.submit(id, business);
    await rig.until(id, ({ rejectionReason }) => rejectionReason !== undefined);
    await rig.release(id);
    expect(live(rig)).toEqual([]);
    expect(rig.charges('campaign')).toHaveLength(1);
  });
});

describe.each(engines)('a number that goes on $name', (engine) => {
  test('while its campaign is being filed leaves nothing that costs', async () => {
    const rig = await openRig(engine);
    const { id } = await rig.buy();
    await rig.fail('slow', { on: 'campaign.file', ms: 1_000 });
    const filing = rig.submit(id, business);
    await expect.poll(() => rig.charges('campaign').length).toBe(1);
    await rig.release(id);
    await filing;
    await expect.poll(() => live(rig)).toEqual([]);
    await rig.part.close?.();
    const rows = await rig.store.all<{ ein: string | null; campaign: string | null }>(
      'SELECT ein, campaign_id AS campaign FROM phone_registration',
    );
    expect(rows).toEqual([{ ein: null, campaign: expect.any(String) }]);
  });

  test('before anything was filed is asked for no fee', async () => {
    const rig = await openRig(engine);
    const { id } = await rig.buy();
    await rig.release(id);
    await rig.release((await rig.buy()).id);
    expect(rig.sim.state.log.some(({ detail }) => String(detail.op).startsWith('campaign.'))).toBe(false);
  });
});

describe.each(engines)('events of the carrier on $name', (engine) => {
  test('are a reason to look: what they claim is not believed', async () => {
    const rig = await openRig(engine);
    const { id, e164 } = await rig.buy();
    await rig.fail('brand_slow');
    await rig.submit(id, business);
    const [brand] = Object.values(rig.sim.state.brands);
    const brandId = brand!.id;
    await tell(rig, '10dlc.brand.update', { brandId, status: 'failed', type: 'REGISTRATION' });
    expect(registrationOf(await rig.read(id))).toMatchObject({ state: 'pending', campaignId: null });
    Object.assign(brand!, { status: 'OK', identity: 'VERIFIED' });
    await tell(rig, '10dlc.brand.update', { brandId });
    await rig.sim.settled();
    await tell(rig, '10dlc.phone_number.update', { phoneNumber: e164 });
    await rig.until(id, isApproved);
    for (let times = 0; times < 5; times += 1) await tell(rig, '10dlc.campaign.update', { brandId });
    expect([rig.charges('brand').length, rig.charges('campaign').length]).toEqual([1, 1]);
  });

  test('of nobody here are taken and forgotten', async () => {
    const rig = await openRig(engine);
    await tell(rig, '10dlc.campaign.update', { campaignId: 'C4D06C2F' });
    await tell(rig, '10dlc.brand.update', {});
    await tell(rig, 'toll_free_verification.status_update', { phone_number: '+18005550199', status: 'verified' });
    expect(rig.charges()).toEqual([]);
  });
});

describe('the EIN', () => {
  test('that the carrier repeats in an event is not kept with it, and what the event is about is', async () => {
    const { part } = await openRig(engines[0]!);
    const about = { brandId: 'brand_1', phoneNumbers: [{ phoneNumber: '+18005550199' }] };
    const told = { ...about, reasons: [{ fields: ['ein'], description: 'EIN 45-9876543 is of another business.' }] };
    for (const prefix of ['10dlc.', 'toll_free']) {
      const reader = part.readers?.find((one) => one.prefix === prefix);
      const kept = reader?.keep?.(told) ?? told;
      expect(kept).toEqual(about);
      expect(reader?.subject(event('10dlc.brand.update', kept))).toBe('brand_1');
    }
  });

  test('is nowhere in the database, its journals and the log, before and after the decision', async () => {
    const ein = '45-9876543';
    const folder = scratchFolder();
    const rig = await openRig({ name: 'sqlite', place: async () => sqliteIn(folder) });
    const { id } = await rig.buy();
    const second = await rig.buy();
    const seen = () => {
      const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
      const bytes = files.map((file) => readFileSync(join(file.parentPath, file.name), 'latin1')).join('');
      return bytes + JSON.stringify([rig.lines, rig.httpLines]);
    };
    await rig.fail('refuse', { on: 'brand.create', status: 400, code: '77777', detail: 'EIN 45-9876543 is odd' });
    const replies = [await rig.submit(id, { ...business, ein }), await rig.read(id)];
    await rig.fail('brand_mismatch', { text: '45-9876543 (459876543) belongs to somebody else.' });
    replies.push(await rig.submit(second.id, { ...business, ein, legalName: 'Other LLC' }));
    const rejected = await rig.until(second.id, isRejected);
    expect(rejected.rejectionReason).toContain('belongs to somebody else');
    replies.push(await rig.submit(second.id, { ...business, ein: '45-987654', legalName: 'Other LLC' }));
    const everything = seen() + JSON.stringify([replies.map(({ text }) => text), rejected]);
    expect(everything).toContain('**-***6543');
    for (const secret of ['45-9876543', '459876543', '45-987654"']) expect(everything).not.toContain(secret);
    const sealed = await rig.store.all<{ stage: string; ein: string | null }>(
      'SELECT stage, ein FROM phone_registration',
    );
    expect(Object.fromEntries(sealed.map(({ stage, ein }) => [stage, ein === null]))).toEqual({
      filed: false,
      brand_rejected: true,
    });
  });
});

describe.each(engines)('the hosted page on $name', (engine) => {
  test('shows a registered number, and one and the same 404 for all others', async () => {
    const rig = await openRig(engine);
    const [one, two] = [await rig.buy(), await rig.buy()];
    const open = (id: string) => rig.call('GET', `/sms/${id}`, { token: null });
    const before = await open(one.id);
    await rig.submit(one.id, business);
    await rig.submit(two.id, { ...person, brandName: '<img src=x onerror=alert(1)>' });
    const shown = await open(one.id);
    expect([shown.status, shown.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(shown.headers['content-security-policy']).toContain("default-src 'none'");
    expect(shown.text).toContain('Blue Bottle');
    expect((await open(two.id)).text).not.toContain('<img');
    await rig.release(one.id);
    const others = [before, await open(one.id), await open('number_999'), await open('x')];
    expect(others.map(({ status }) => status)).toEqual([404, 404, 404, 404]);
    expect(new Set(others.map(({ text }) => text)).size).toBe(1);
    expect(
      new Set(others.map(({ headers }) => JSON.stringify({ ...headers, date: '', 'x-request-id': '' }))).size,
    ).toBe(1);
  });

  test('shows no mobile of a person that only the code went to', async () => {
    const rig = await openRig(engine);
    const [one, two] = [await rig.buy(), await rig.buy()];
    const open = async (id: string) => (await rig.call('GET', `/sms/${id}`, { token: null })).text;
    await rig.submit(one.id, person);
    expect(await open(one.id)).toContain('ada@moss.example.com');
    expect(await open(one.id)).not.toMatch(/555-?0122/);
    await rig.submit(two.id, business);
    expect(await open(two.id)).toContain('+1 (970) 555-0111');
  });

  test('asked for too often is 429', async () => {
    const rig = await openRig(engine);
    const replies = await Promise.all(Array.from({ length: 70 }, () => rig.call('GET', '/sms/x', { token: null })));
    expect(replies.filter(({ status }) => status === 429)).toHaveLength(10);
  });
});
