/** The words that are filed and answered: flow, replies, what carriers name back, and no EIN in any of them. Pure. */
import { describe, expect, test } from 'vitest';
import { maskEin, readEin, withoutEins } from '../../../../src/cloud-api/phone/registration/ein.ts';
import { feesOf } from '../../../../src/cloud-api/phone/registration/fees.ts';
import { brandOf, campaignOf, fieldOf, tollFreeOf } from '../../../../src/cloud-api/phone/registration/filing.ts';
import type { CheckedForm } from '../../../../src/cloud-api/phone/registration/form.ts';
import { linksOf, messageFlowOf } from '../../../../src/cloud-api/phone/registration/message-flow.ts';
import { optInPageOf } from '../../../../src/cloud-api/phone/registration/page.ts';
import { preflight } from '../../../../src/cloud-api/phone/registration/preflight.ts';
import { problemOf, problemsOfBrand } from '../../../../src/cloud-api/phone/registration/refusal.ts';
import { repliesOf } from '../../../../src/cloud-api/phone/registration/replies.ts';
import type { RegistrationForm } from '../../../../src/contracts/phone/registration.ts';
import { business, origin, person } from './support.ts';

const number = { id: 'number_1', e164: '+19705550150', type: 'local' as const };
const tollFree = { id: 'number_2', e164: '+18005550150', type: 'toll_free' as const };
const checked = (form: RegistrationForm, of: typeof number | typeof tollFree = number): CheckedForm =>
  preflight(form, { number: of, origin, hosted: true }).form!;
const facts = { number, origin, webhookUrl: `${origin}/hook` };
const gsm7 = /^[ !"#$%&'()*+,\-./0-9:;<=>?@A-Z_a-zÄÅÆÇÉÑÖØÜßàäåæèéìñòöøùü]*$/;

describe('the message flow', () => {
  test('has one way in, the keywords, and the links; the hosted page where the business has none', () => {
    const flow = messageFlowOf(number.e164, linksOf(checked(business), number.id, origin));
    expect(flow).toContain('one way to opt in');
    for (const word of ['STOP', 'START', 'HELP', number.e164]) expect(flow).toContain(word);
    expect(flow).toContain(`${origin}/sms/number_1,`);
    expect(flow).toContain(`Terms: ${origin}/sms/number_1#terms Privacy: ${origin}/sms/number_1#privacy`);
    expect(flow.length).toBeGreaterThanOrEqual(40);
    expect(flow.length).toBeLessThanOrEqual(500);
  });

  test('shows the business’s own page, and never what the form says of the workflow', () => {
    const form = checked({
      ...business,
      optInPageUrl: 'https://bakery.example.com/texts',
      optInWorkflow: 'We buy lists.',
    });
    const flow = messageFlowOf(number.e164, linksOf(form, number.id, origin));
    expect(flow).toContain('https://bakery.example.com/texts');
    const filed = [
      brandOf(form, '12-3456789', 'x'),
      campaignOf(form, facts, { brandId: 'b', key: 'k' }),
      tollFreeOf(form, '12-3456789', facts),
    ];
    expect(JSON.stringify(filed)).not.toContain('buy lists');
  });

  test('one that grows too long for a toll-free verification is told by field', () => {
    const optInPageUrl = `https://bakery.example.com/${'x'.repeat(400)}`;
    const { problems } = preflight({ ...business, optInPageUrl }, { number: tollFree, origin, hosted: true });
    expect(problems.map(({ field }) => field)).toEqual(['optInPageUrl']);
  });
});

describe('replies', () => {
  const names = [
    'Blue Bottle',
    'Café “Zürich” – Bücher & Blätter 書店',
    '書店',
    '🍞🍞🍞',
    'N'.repeat(100),
    '[{|}] ~^\\',
  ];
  test.each(names)('of %s are 20 to 320 characters that any phone shows', (brandName) => {
    const replies = repliesOf(number, { ...business, brandName, contactEmail: `${'a'.repeat(90)}@b.example` });
    for (const reply of Object.values(replies)) {
      expect(reply).toMatch(gsm7);
      expect(reply.length).toBeGreaterThanOrEqual(20);
      expect(reply.length).toBeLessThanOrEqual(255);
    }
    expect(replies.stop).toContain('START');
    expect(replies.start).toMatch(/HELP.*STOP/);
    expect(replies.help).toContain('STOP');
  });

  test('are the same words as are filed, and name the number where there is no form', () => {
    const replies = repliesOf(number, business);
    expect(campaignOf(checked(business), facts, { brandId: 'b', key: 'k' })).toMatchObject({
      helpMessage: replies.help,
      optInMessage: replies.start,
      optOutMessage: replies.stop,
    });
    expect(repliesOf(number, null).stop).toContain(number.e164);
  });
});

describe('what is filed', () => {
  test('of a sole proprietor is without EIN and company, with name and mobile', () => {
    const brand = brandOf(checked(person), null, 'https://x.example/hook');
    expect(
      Object.entries(brand)
        .filter(([, value]) => value !== undefined)
        .map(([name]) => name),
    ).not.toEqual(expect.arrayContaining(['ein']));
    expect(brand).toMatchObject({
      entityType: 'SOLE_PROPRIETOR',
      displayName: 'Moss Gardening',
      mobilePhone: '+19705550122',
      firstName: 'Ada',
      lastName: 'Moss',
    });
    expect('companyName' in brand).toBe(false);
  });

  test('of a toll-free number has the whole name of the state', () => {
    const asked = tollFreeOf(checked({ ...business, region: 'co' }, tollFree), '12-3456789', facts);
    expect(asked).toMatchObject({ state: 'Colorado', useCase: 'CUSTOMER_CARE', monthlyMessages: 1000 });
  });

  test('costs what is not there yet', () => {
    const form = checked(business);
    expect(feesOf(form, { brand: false, campaign: false }).map(({ amount }) => amount)).toEqual([
      ...['4.00 USD', '15.00 USD', '10.00 USD'],
    ]);
    expect(feesOf(form, { brand: true, campaign: true })).toEqual([]);
    expect(feesOf(checked(person), { brand: true, campaign: false }).at(-1)?.amount).toBe('2.00 USD');
    expect(feesOf(checked(business, tollFree), { brand: false, campaign: false })).toEqual([]);
  });
});

describe('an EIN', () => {
  test('is read with and without its dash, and told masked', () => {
    expect(readEin('123456789')).toBe('12-3456789');
    expect(readEin(' 12-3456789 ')).toBe('12-3456789');
    for (const text of ['', '12-34567890', '1-23456789', 'x2-3456789', '111111111']) expect(readEin(text)).toBe(null);
    expect(maskEin('12-3456789')).toBe('**-***6789');
  });

  test('is taken out of whatever a carrier says, and telephone numbers stay', () => {
    expect(withoutEins('EIN 12-3456789 (123456789) of +19705550150')).toBe(
      'EIN **-***6789 (**-***6789) of +19705550150',
    );
    const [problem] = problemsOfBrand([{ fields: ['ein'], text: '12-3456789 is of somebody else.' }]);
    expect(problem).toEqual({ field: 'ein', text: '**-***6789 is of somebody else.' });
    expect(problemOf('Sample 12-3456789').text).not.toContain('3456789');
  });
});

describe('what a carrier names', () => {
  test.each([
    ['companyName', 'legalName'],
    ['/sample2', 'sampleMessages'],
    ['body.state', 'region'],
    ['TAX_ID', 'ein'],
    ['unheardOf', null],
  ])('%s is our %s', (theirs, ours) => {
    expect(fieldOf(theirs)).toBe(ours);
  });

  test('a reason in prose points at the field', () => {
    expect(problemOf('The samples do not match the use case.').field).toBe('sampleMessages');
    expect(problemOf('Privacy policy lacks a statement.').field).toBe('privacyUrl');
    expect(problemOf('It is not allowed.').field).toBe(null);
  });
});

describe('the hosted page', () => {
  test('tells who, what for, how to opt in and out, terms and privacy', () => {
    const html = optInPageOf(number.e164, checked(business));
    for (const words of [
      'Blue Bottle',
      '+1 (970) 555-0150',
      'Message and data rates may apply',
      'STOP',
      'HELP',
      'id="terms"',
    ]) {
      expect(html).toContain(words);
    }
    expect(html).toContain('id="privacy"');
    expect(html).toContain('shared with third parties');
    expect(html).not.toContain('**-***');
    expect(html).not.toContain('Mill Lane');
  });

  test('shows what a form says as text', () => {
    const evil = '<script>alert(1)</script>" onload=x';
    const html = optInPageOf(number.e164, {
      ...checked(business),
      legalName: evil,
      brandName: evil,
      description: evil,
    });
    expect(html).not.toContain('<script');
    expect(html).toContain('&#60;script&#62;');
  });
});
