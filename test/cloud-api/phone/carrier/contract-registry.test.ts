/** Businesses, campaigns and verifications over the carrier's wire; with CARRIER_OPENAPI also held against its own papers. */
import { describe, expect, test } from 'vitest';
import type { BrandAsked, CampaignAsked, TollFreeAsked } from '../../../../src/cloud-api/phone/carrier/port.ts';
import { carriers, type Opened } from './contract-support.ts';

const webhookUrl = 'http://127.0.0.1:9/registry';
const nobody = '00000000-0000-4000-8000-000000000000';

const business: BrandAsked = {
  entityType: 'PRIVATE_PROFIT',
  displayName: 'Acme Flowers',
  companyName: 'Acme Flowers Inc',
  ein: '12-3456789',
  email: 'us@acme.example',
  phone: '+19705550100',
  country: 'US',
  vertical: 'RETAIL',
  website: 'https://acme.example',
  street: '1 Main St',
  city: 'Denver',
  state: 'CO',
  postalCode: '80202',
  webhookUrl,
  key: 'brand 1',
};

const sole: BrandAsked = {
  entityType: 'SOLE_PROPRIETOR',
  displayName: 'Ada Flowers',
  firstName: 'Ada',
  lastName: 'Byron',
  email: 'ada@acme.example',
  phone: '+12025550101',
  mobilePhone: '+12025550101',
  country: 'US',
  vertical: 'RETAIL',
  street: '1 Main St',
  city: 'Denver',
  state: 'CO',
  postalCode: '80202',
  webhookUrl,
  key: 'brand 2',
};

const campaignOf = (brandId: string, key: string): CampaignAsked => ({
  brandId,
  key,
  useCase: 'LOW_VOLUME',
  subUseCases: ['CUSTOMER_CARE', 'ACCOUNT_NOTIFICATION'],
  description: 'Customers of the flower shop ask about their orders, and the shop answers them.',
  messageFlow:
    'A customer texts the number first after seeing it at https://acme.example/sms. Reply STOP to end, HELP for help.',
  samples: ['Acme: your flowers are ready. Reply STOP to end.', 'Acme: your order has been sent. Reply STOP to end.'],
  helpMessage: 'Acme Flowers: write to us@acme.example. Reply STOP to end.',
  optInMessage: 'Acme Flowers: you get texts about your orders. Reply HELP for help, STOP to end.',
  optOutMessage: 'Acme Flowers: you get no more texts. Reply START to begin again.',
  helpKeywords: ['HELP'],
  optInKeywords: ['START', 'UNSTOP'],
  optOutKeywords: ['STOP', 'END'],
  termsUrl: 'https://acme.example/terms',
  privacyUrl: 'https://acme.example/privacy',
  webhookUrl,
});

const tollFreeOf = (e164: string): TollFreeAsked => ({
  e164,
  businessName: 'Acme Flowers Inc',
  website: 'https://acme.example',
  street: '1 Main St',
  city: 'Denver',
  state: 'Colorado',
  postalCode: '80202',
  country: 'US',
  ein: '12-3456789',
  webhookUrl,
  contactFirstName: 'Ada',
  contactLastName: 'Byron',
  contactEmail: 'us@acme.example',
  contactPhone: '+12025550101',
  monthlyMessages: 700,
  useCase: 'CUSTOMER_CARE',
  summary: 'Customers ask about their orders.',
  sample: 'Acme: your flowers are ready.',
  messageFlow: 'A customer texts the number first.',
  optInUrl: 'https://gantry.example/sms/number_1',
  helpMessage: 'Acme: write to us@acme.example.',
  optInMessage: 'Acme: welcome.',
  termsUrl: 'https://acme.example/terms',
  privacyUrl: 'https://acme.example/privacy',
});

async function cleared({ carrier, sim }: Opened, asked = business) {
  const { brandId } = await carrier.registry.createBrand(asked);
  await sim.settled();
  return brandId;
}

async function buy({ carrier, sim }: Opened, type: 'local' | 'toll_free') {
  const profile = await carrier.numbers.createProfile({ name: type, webhookUrl, destinations: ['US', 'CA'] });
  const [offer] = await carrier.numbers.search({ country: 'US', type, limit: 1 });
  await carrier.numbers.order({ e164: offer!.e164, profileId: profile.id, key: type });
  await sim.settled();
  return offer!.e164;
}

describe.each(carriers)('the registry of $name', ({ open }) => {
  test('a business waits, clears, and is found again by the key of its filing alone', async () => {
    const opened = await open();
    const { registry } = opened.carrier;
    expect(await registry.findBrand(business)).toBe(null);
    const filed = await registry.createBrand(business);
    expect(filed).toEqual({ brandId: expect.any(String), state: 'pending', problems: [] });
    await opened.sim.settled();
    expect(await registry.readBrand(filed.brandId)).toEqual({ ...filed, state: 'cleared' });
    expect(await registry.findBrand(business)).toEqual({ ...filed, state: 'cleared' });
    expect(await registry.findBrand({ ...business, key: 'brand 9' })).toBe(null);
    const { key: _, ...keyless } = business;
    expect((await registry.findBrand(keyless))?.brandId).toBe(filed.brandId);
    expect(await registry.findBrand({ ...keyless, ein: '98-7654321' })).toBe(null);
    await expect(registry.readBrand(nobody)).rejects.toMatchObject({ kind: 'not_found' });
  });

  test('one that the tax office does not know fails with the fields to correct, and without its EIN', async () => {
    const opened = await open();
    opened.sim.fault({
      name: 'brand_mismatch',
      text: 'EIN 12-3456789 is not of Acme.',
      fields: ['ein', 'companyName'],
    });
    const brandId = await cleared(opened);
    expect(await opened.carrier.registry.readBrand(brandId)).toEqual({
      brandId,
      state: 'failed',
      problems: [{ fields: ['ein', 'companyName'], text: 'EIN … is not of Acme.' }],
    });
  });

  test('a business that cleared is corrected as a whole, and by what it was verified it stays', async () => {
    const opened = await open();
    const { registry } = opened.carrier;
    const brandId = await cleared(opened);
    const other = {
      companyName: 'Other Inc',
      ein: '98-7654321',
      entityType: 'NON_PROFIT',
      website: 'https://new.example',
    };
    const corrected = await registry.correctBrand(brandId, { ...business, ...other });
    expect(corrected).toEqual({ brandId, state: 'cleared', problems: [] });
    const asked = opened.sim.state.brands[brandId]?.asked;
    const { companyName, ein, entityType, phone } = business;
    expect(asked).toMatchObject({ companyName, ein, entityType, phone, website: 'https://new.example' });
    expect((await registry.findBrand(business))?.brandId).toBe(brandId);
  });

  test('a form that is refused at once names its fields', async () => {
    const { carrier } = await open();
    const refused = carrier.registry.createBrand({ ...business, vertical: 'FLOWERS' });
    await expect(refused).rejects.toMatchObject({ kind: 'details', fields: [expect.stringContaining('vertical')] });
  });

  test('a sole proprietor sends no EIN, and clears by the code that their phone got', async () => {
    const opened = await open();
    const { registry } = opened.carrier;
    const { brandId, state } = await registry.createBrand({ ...sole, ein: '12-3456789', companyName: 'Never sent' });
    expect(state).toBe('pending');
    expect(JSON.stringify(opened.sim.state.brands[brandId]?.asked)).not.toMatch(/3456789|Never sent/);
    await registry.sendCode(brandId, { code: 'Your code is {pin}.', success: 'Thank you.' });
    await opened.sim.settled();
    const pin = opened.sim.state.brands[brandId]!.code!.pin;
    expect(opened.sim.state.texts.at(-1)?.text).toBe(`Your code is ${pin}.`);
    const wrong = pin === '000000' ? '000001' : '000000';
    await expect(registry.checkCode(brandId, wrong)).rejects.toMatchObject({ kind: 'wrong_pin' });
    await registry.checkCode(brandId, pin);
    expect((await registry.readBrand(brandId)).state).toBe('cleared');
  });

  test('a campaign is filed with all that is promised, found by its key, approved, takes a number and ends', async () => {
    const opened = await open();
    const { registry } = opened.carrier;
    const brandId = await cleared(opened);
    const asked = campaignOf(brandId, 'campaign 1');
    const filed = await registry.createCampaign(asked);
    expect(filed).toEqual({ campaignId: expect.any(String), state: 'pending', reason: null });
    const { campaignId } = filed;
    expect(opened.sim.state.campaigns[campaignId]?.asked).toMatchObject({
      usecase: 'LOW_VOLUME',
      subUsecases: ['CUSTOMER_CARE', 'ACCOUNT_NOTIFICATION'],
      helpMessage: asked.helpMessage,
      optinMessage: asked.optInMessage,
      optoutMessage: asked.optOutMessage,
      optoutKeywords: 'STOP,END',
      embeddedLink: true,
      embeddedPhone: true,
      referenceId: 'campaign 1',
      sample1: asked.samples[0],
      sample2: asked.samples[1],
      messageFlow: asked.messageFlow,
    });
    await opened.sim.settled();
    const found = await registry.findCampaign({ brandId, key: 'campaign 1' });
    expect(found).toEqual({ campaignId, state: 'approved', reason: null });
    expect(await registry.findCampaign({ brandId, key: 'campaign 2' })).toBe(null);
    expect(await registry.readCampaign(campaignId)).toEqual(found);

    const e164 = await buy(opened, 'local');
    expect((await registry.readAssignment(e164)).state).toBe('none');
    expect((await registry.assign(e164, campaignId)).state).toBe('pending');
    await opened.sim.settled();
    expect(await registry.readAssignment(e164)).toEqual({ state: 'assigned', campaignId, reason: null });
    await registry.unassign(e164);
    await opened.sim.settled();
    await registry.unassign(e164);
    expect((await registry.readAssignment(e164)).state).toBe('none');
    await registry.endCampaign(campaignId);
    await registry.endCampaign(nobody);
  });

  test('a campaign that was refused says why, and goes back into review where it is', async () => {
    const opened = await open();
    const { registry } = opened.carrier;
    const brandId = await cleared(opened);
    opened.sim.fault({ name: 'campaign_mno_rejected', reason: 'The page does not show how to opt in.' });
    const asked = campaignOf(brandId, 'campaign 1');
    const { campaignId } = await registry.createCampaign(asked);
    await opened.sim.settled();
    const refused = await registry.readCampaign(campaignId);
    expect([refused.state, refused.reason]).toEqual(['failed', 'The page does not show how to opt in.']);
    const corrected = await registry.correctCampaign(campaignId, {
      ...asked,
      messageFlow: `${asked.messageFlow} So it is.`,
    });
    expect([corrected.campaignId, corrected.state]).toEqual([campaignId, 'pending']);
    await opened.sim.settled();
    expect((await registry.readCampaign(campaignId)).state).toBe('approved');
    expect(Object.keys(opened.sim.state.campaigns)).toEqual([campaignId]);
  });

  test('without money a campaign is nobody’s fault', async () => {
    const opened = await open();
    const brandId = await cleared(opened);
    opened.sim.state.account.balance = 0;
    const poor = opened.carrier.registry.createCampaign(campaignOf(brandId, 'campaign 1'));
    await expect(poor).rejects.toMatchObject({ kind: 'service' });
  });

  test('a toll-free number is verified, found by its number, corrected where it is, and let go', async () => {
    const opened = await open();
    const { registry } = opened.carrier;
    const e164 = await buy(opened, 'toll_free');
    const asked = tollFreeOf(e164);
    expect(await registry.findTollFree(e164)).toBe(null);
    opened.sim.fault({ name: 'toll_free_rejected', reason: 'The sample names no business.' });
    const filed = await registry.createTollFree(asked);
    expect(filed).toEqual({ requestId: expect.any(String), state: 'pending', reason: null });
    await opened.sim.settled();
    const { requestId } = filed;
    const refused = await registry.readTollFree(requestId);
    expect([refused.state, refused.reason]).toEqual(['rejected', 'The sample names no business.']);
    expect((await registry.correctTollFree(requestId, asked)).requestId).toBe(requestId);
    await opened.sim.settled();
    expect(await registry.findTollFree(e164)).toMatchObject({ requestId, state: 'verified' });
    await registry.endTollFree(requestId);
    await registry.endTollFree(nobody);
  });
});
