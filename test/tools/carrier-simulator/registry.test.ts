/** Brands, codes, campaigns, links and toll-free verification, asked on the carrier's wire: what is charged, and when it is done. */
import { expect, test } from 'vitest';
import { boughtNumber, type SimulatedCarrier, startEar, startSimulator } from '../../support/phone/simulator.ts';

const business = {
  entityType: 'PRIVATE_PROFIT',
  displayName: 'Acme',
  companyName: 'Acme LLC',
  ein: '12-3456789',
  country: 'US',
  email: 'owner@acme.example',
  vertical: 'RETAIL',
};
const person = {
  entityType: 'SOLE_PROPRIETOR',
  displayName: 'Ada Bakes',
  firstName: 'Ada',
  lastName: 'Byron',
  country: 'US',
  email: 'ada@bakes.example',
  vertical: 'RETAIL',
  mobilePhone: '+12025550101',
};
const campaign = {
  usecase: 'LOW_VOLUME',
  description: 'Answers of a bakery to people who text it first.',
  sample1: 'Acme: your bread is ready. Reply STOP to end.',
};

async function cleared({ ask, sim }: SimulatedCarrier, webhookURL: string): Promise<string> {
  const { body } = await ask('POST', '/10dlc/brand', { ...business, webhookURL });
  await sim.settled();
  return body.brandId as string;
}

const charged = ({ sim }: SimulatedCarrier) => sim.state.charges.map(({ what, amount }) => [what, amount]);

test('a brand is pending, then verified; what cannot be read is told field by field', async () => {
  await using ear = await startEar();
  await using carrier = await startSimulator();
  const refused = await carrier.ask('POST', '/10dlc/brand', { ...business, entityType: 'SOLE_PROP' });
  expect(refused).toMatchObject({ status: 422, body: { detail: [{ loc: ['body', 'entityType'] }] } });
  const { body } = await carrier.ask('POST', '/10dlc/brand', { ...business, webhookURL: ear.url });
  expect(body).toMatchObject({ status: 'REGISTRATION_PENDING', displayName: 'Acme' });
  expect(body.data).toBeUndefined();
  await carrier.sim.settled();
  const read = await carrier.ask('GET', `/10dlc/brand/${body.brandId}`);
  expect(read.body).toMatchObject({ status: 'OK', identityStatus: 'VERIFIED' });
  expect(ear.of('10dlc.brand.update')).toMatchObject([{ brandId: body.brandId, type: 'TCR_BRAND_UPDATE' }]);
  expect(charged(carrier)).toEqual([['brand', 4]]);
});

test('an EIN that does not fit is refused with the fields to correct, and is vetted again once it is', async () => {
  await using carrier = await startSimulator();
  const { body } = await carrier.ask('POST', '/10dlc/brand', { ...business, ein: '12-3450000' });
  await carrier.sim.settled();
  expect((await carrier.ask('GET', `/10dlc/brand/${body.brandId}`)).body.status).toBe('REGISTRATION_FAILED');
  const feedback = await carrier.ask('GET', `/10dlc/brand/feedback/${body.brandId}`);
  expect(feedback.body.category).toMatchObject([{ id: 'TAX_ID', fields: ['ein', 'companyName'] }]);
  await carrier.ask('PUT', `/10dlc/brand/${body.brandId}`, business);
  await carrier.sim.settled();
  expect((await carrier.ask('GET', `/10dlc/brand/${body.brandId}`)).body.identityStatus).toBe('VERIFIED');
  expect(charged(carrier)).toEqual([['brand', 4]]);
});

test('the code of a sole proprietor lands on the handset of the mobile; a wrong and an old one are 400, the right one clears the brand', async () => {
  await using ear = await startEar();
  await using carrier = await startSimulator();
  const { body } = await carrier.ask('POST', '/10dlc/brand', { ...person, webhookURL: ear.url });
  const code = `/10dlc/brand/${body.brandId}/smsOtp`;
  const words = { pinSms: 'Your code is @OTP_PIN@.', successSms: 'You are registered.' };
  expect((await carrier.ask('POST', code, { ...words, pinSms: 'no place for it' })).status).toBe(400);
  await carrier.ask('POST', code, words);
  const handset = () => carrier.sim.handsets.find(person.mobilePhone).texts.map(({ text }) => text);
  const pin = /Your code is (\d{6})\./.exec(handset()[0] ?? '')?.[1] ?? '';
  expect(charged(carrier)).toEqual([]);
  expect((await carrier.ask('PUT', code, { otpPin: pin === '000000' ? '000001' : '000000' })).status).toBe(400);
  carrier.sim.advance(24 * 60 * 60 * 1000 + 1);
  expect((await carrier.ask('PUT', code, { otpPin: pin })).status).toBe(400);
  await carrier.ask('POST', code, words);
  const second = /(\d{6})/.exec(handset()[1] ?? '')?.[1];
  expect((await carrier.ask('PUT', code, { otpPin: second })).status).toBe(204);
  expect((await carrier.ask('PUT', code, { otpPin: second })).status).toBe(204);
  await carrier.sim.settled();
  expect((await carrier.ask('GET', `/10dlc/brand/${body.brandId}`)).body).toMatchObject({
    status: 'OK',
    identityStatus: 'VERIFIED',
  });
  expect(ear.of('10dlc.brand.update')).toMatchObject([{ type: 'BRAND_OTP_VERIFIED' }]);
  expect(charged(carrier)).toEqual([['brand', 4]]);
});

test('the fourth sole proprietor of a mobile is refused', async () => {
  await using carrier = await startSimulator();
  const statuses = [];
  for (let time = 0; time < 4; time += 1) statuses.push((await carrier.ask('POST', '/10dlc/brand', person)).status);
  expect(statuses).toEqual([200, 200, 200, 400]);
});

test('a campaign goes through every review, its number is linked only then, and a text arrives', async () => {
  await using ear = await startEar();
  await using carrier = await startSimulator();
  const { e164 } = await boughtNumber(carrier, ear.url);
  const brandId = await cleared(carrier, ear.url);
  carrier.sim.setSpeed('paused');
  const filed = await carrier.ask('POST', '/10dlc/campaignBuilder', {
    ...campaign,
    brandId,
    referenceId: 'ours',
    webhookURL: ear.url,
  });
  expect(filed.body).toMatchObject({ campaignStatus: 'TCR_PENDING', status: 'ACTIVE', referenceId: 'ours' });
  const linked = await carrier.ask('POST', '/10dlc/phone_number_campaigns', {
    phoneNumber: e164,
    campaignId: filed.body.campaignId,
  });
  expect(linked.body.assignmentStatus).toBe('PENDING_ASSIGNMENT');
  const seen: string[] = [];
  while (carrier.sim.step()) {
    const { body } = await carrier.ask('GET', `/10dlc/campaign/${filed.body.campaignId}`);
    const link = await carrier.ask('GET', `/10dlc/phone_number_campaigns/${encodeURIComponent(e164)}`);
    const now = `${body.campaignStatus} ${link.body.assignmentStatus}`;
    if (seen.at(-1) !== now) seen.push(now);
  }
  expect(seen).toEqual([
    'TCR_PENDING PENDING_ASSIGNMENT',
    'TCR_ACCEPTED PENDING_ASSIGNMENT',
    'TELNYX_ACCEPTED PENDING_ASSIGNMENT',
    'MNO_PENDING PENDING_ASSIGNMENT',
    'MNO_ACCEPTED PENDING_ASSIGNMENT',
    'MNO_PROVISIONED PENDING_ASSIGNMENT',
    'MNO_PROVISIONED ASSIGNED',
  ]);
  await carrier.sim.settled();
  expect(ear.of('10dlc.campaign.update').map(({ type }) => type)).toEqual([
    'TCR_EVENT',
    'TELNYX_REVIEW',
    'MNO_REVIEW',
    'VERIFIED',
  ]);
  expect(ear.of('10dlc.phone_number.update')).toMatchObject([{ phoneNumber: e164, status: 'ADDED' }]);
  carrier.sim.setSpeed('instant');
  await carrier.ask('POST', '/messages', { from: e164, to: '+12025550101', text: 'Your bread is ready.' });
  await carrier.sim.settled();
  expect(ear.of('message.finalized')).toMatchObject([{ to: [{ status: 'delivered' }] }]);
  const again = await carrier.ask('POST', '/10dlc/campaignBuilder', { ...campaign, brandId, referenceId: 'ours' });
  expect(again.status).toBe(400);
  expect(charged(carrier).filter(([what]) => what === 'campaign')).toEqual([['campaign', 19.5]]);
});

test.for([
  ['campaign_telnyx_failed', 'TELNYX_FAILED', 'TELNYX_REVIEW'],
  ['campaign_mno_rejected', 'MNO_REJECTED', 'MNO_REVIEW'],
] as const)(
  'a campaign of %s is corrected in place and reviewed again, without another fee',
  async ([name, state, type]) => {
    await using ear = await startEar();
    await using carrier = await startSimulator();
    const brandId = await cleared(carrier, ear.url);
    carrier.sim.fault({ name, reason: 'The sample lacks the name.' });
    const { body } = await carrier.ask('POST', '/10dlc/campaignBuilder', { ...campaign, brandId, webhookURL: ear.url });
    await carrier.sim.settled();
    const at = `/10dlc/campaign/${body.campaignId}`;
    expect((await carrier.ask('GET', at)).body).toMatchObject({
      campaignStatus: state,
      failureReasons: 'The sample lacks the name.',
    });
    expect(ear.of('10dlc.campaign.update').at(-1)).toMatchObject({ type, status: 'REJECTED' });
    const corrected = await carrier.ask('PUT', at, { sample1: 'Acme: ready.', description: 'left as it was' });
    expect(corrected.body).toMatchObject({
      campaignStatus: 'TCR_ACCEPTED',
      sample1: 'Acme: ready.',
      description: campaign.description,
    });
    await carrier.sim.settled();
    expect((await carrier.ask('GET', at)).body.campaignStatus).toBe('MNO_PROVISIONED');
    expect((await carrier.ask('POST', `${at}/appeal`, { appeal_reason: 'x' })).status).toBe(400);
    expect(charged(carrier).filter(([what]) => what === 'campaign')).toHaveLength(1);
  },
);

test('without money a campaign is refused in the flat shape, and nothing is charged', async () => {
  await using carrier = await startSimulator();
  const brandId = await cleared(carrier, '');
  carrier.sim.fault({ name: 'no_funds', on: 'campaign' });
  const refused = await carrier.ask('POST', '/10dlc/campaignBuilder', { ...campaign, brandId });
  expect(refused).toMatchObject({ status: 402, body: { code: '20100' } });
  expect(charged(carrier)).toEqual([['brand', 4]]);
  expect((await carrier.ask('POST', '/10dlc/campaignBuilder', { ...campaign, brandId })).status).toBe(200);
});

test('a toll-free number is verified, also after it was corrected, and is in one request alone', async () => {
  await using ear = await startEar();
  await using carrier = await startSimulator();
  const { e164 } = await boughtNumber(carrier, ear.url, '+18885550150');
  const form = {
    additionalInformation: '',
    businessAddr1: '1 Main St',
    businessCity: 'Denver',
    businessState: 'Colorado',
    businessZip: '80202',
    businessContactFirstName: 'Ada',
    businessContactLastName: 'Byron',
    businessContactEmail: 'ada@acme.example',
    businessContactPhone: '+12025550101',
    businessName: 'Acme LLC',
    businessRegistrationNumber: '12-3456789',
    businessRegistrationType: 'EIN',
    businessRegistrationCountry: 'US',
    corporateWebsite: 'https://acme.example',
    messageVolume: '1,000',
    optInWorkflow: 'People text first.',
    optInWorkflowImageURLs: [{ url: 'https://acme.example/sms' }],
    phoneNumbers: [{ phoneNumber: e164 }],
    productionMessageContent: 'Acme: ready.',
    useCase: 'Chatbot',
    useCaseSummary: 'Answers.',
  };
  const at = '/messaging_tollfree/verification/requests';
  expect((await carrier.ask('POST', at, { ...form, businessState: 'CO' })).status).toBe(422);
  carrier.sim.fault({ name: 'toll_free_waiting', reason: 'Show how people opt in.' });
  const { body } = await carrier.ask('POST', at, form);
  expect((await carrier.ask('POST', at, form)).status).toBe(400);
  await carrier.sim.settled();
  expect((await carrier.ask('GET', `${at}/${body.id}`)).body).toMatchObject({
    verificationStatus: 'Waiting For Customer',
    reason: 'Show how people opt in.',
  });
  await carrier.ask('POST', '/messages', { from: e164, to: '+12025550101', text: 'early' });
  await carrier.ask('PATCH', `${at}/${body.id}`, form);
  await carrier.sim.settled();
  expect((await carrier.ask('GET', `${at}/${body.id}`)).body.verificationStatus).toBe('Verified');
  await carrier.ask('POST', '/messages', { from: e164, to: '+12025550101', text: 'late' });
  await carrier.sim.settled();
  expect(ear.of('message.finalized')).toMatchObject([
    { text: 'early', errors: [{ code: '40329' }] },
    { text: 'late', to: [{ status: 'delivered' }] },
  ]);
  expect(await carrier.ask('DELETE', `${at}/${body.id}`)).toEqual({ status: 200, body: {} });
});
