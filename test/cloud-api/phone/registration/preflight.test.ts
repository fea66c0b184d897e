/** What a form is told before any fee. Pure. */
import { describe, expect, test } from 'vitest';
import { preflight } from '../../../../src/cloud-api/phone/registration/preflight.ts';
import type { RegistrationForm } from '../../../../src/contracts/phone/registration.ts';
import { business, origin, person } from './support.ts';

const local = { id: 'number_1', e164: '+19705550150', type: 'local' as const };
const tollFree = { id: 'number_2', e164: '+18005550150', type: 'toll_free' as const };
const check = (form: RegistrationForm, number: typeof local | typeof tollFree = local) =>
  preflight(form, { number, origin, hosted: true });
const fields = (form: RegistrationForm, number: typeof local | typeof tollFree = local) =>
  check(form, number).problems.map(({ field }) => field);
const textsOf = (form: RegistrationForm) =>
  check(form)
    .problems.map(({ text }) => text)
    .join('\n');

describe('a whole form', () => {
  test('a business and a person pass, with defaults, and the EIN is kept masked', () => {
    const { form, ein, problems } = check(business);
    expect(problems).toEqual([]);
    expect(ein).toBe('12-3456789');
    expect(form).toMatchObject({ kind: '10dlc', entityType: 'PRIVATE_PROFIT', country: 'US', ein: '**-***6789' });
    expect(JSON.stringify(form)).not.toContain('3456789');
    const { form: sole, ein: none, problems: noProblems } = check(person);
    expect(noProblems).toEqual([]);
    expect(none).toBe(null);
    expect(sole).toMatchObject({ legalName: 'Ada Moss', useCase: 'SOLE_PROPRIETOR', contactPhone: '+19705550122' });
    expect(sole?.ein).toBe(undefined);
  });

  test('an empty one is told all at once, by field', () => {
    expect(fields({})).toEqual([
      ...['legalName', 'street', 'city', 'region', 'postalCode', 'contactEmail', 'contactPhone', 'ein'],
      ...['sampleMessages', 'website'],
    ]);
    expect(fields({}, tollFree)).toEqual(expect.arrayContaining(['contactFirstName', 'contactLastName']));
  });

  test('where carriers cannot open our pages, the business shows its own', () => {
    const facts = { number: local, origin: 'http://127.0.0.1:3010', hosted: false };
    const { problems } = preflight(business, facts);
    expect(problems.map(({ field }) => field)).toEqual(['optInPageUrl', 'termsUrl', 'privacyUrl']);
    const own = 'https://bakery.example.com/texts';
    const pages = { optInPageUrl: own, termsUrl: own, privacyUrl: own };
    expect(preflight({ ...business, ...pages }, facts).problems).toEqual([]);
  });

  test('the description has a default that carriers take', () => {
    const { form } = check({ ...business, description: undefined });
    expect(form?.description.length).toBeGreaterThanOrEqual(40);
    expect(form?.description).toContain('Blue Bottle');
  });
});

describe('the kind', () => {
  test.each(['10dlc', '10DLC', '10-DLC', 'A2P', 'local'])('%s is 10dlc', (kind) => {
    expect(check({ ...business, kind }).form?.kind).toBe('10dlc');
  });

  test.each(['toll_free', 'Toll-Free', 'toll free', 'tollfree', 'TFV', 'toll-free verification'])(
    '%s is toll_free',
    (kind) => {
      expect(check({ ...business, kind }, tollFree).form?.kind).toBe('toll_free');
    },
  );

  test('one that nobody knows, or that does not fit the number, is refused', () => {
    expect(fields({ ...business, kind: 'fax' })).toEqual(['kind']);
    expect(fields({ ...business, kind: 'toll_free' })).toEqual(['kind']);
    expect(fields({ ...business, kind: '10dlc' }, tollFree)).toEqual(['kind']);
  });

  test('a sole proprietor with a toll-free number is told to use a local one', () => {
    const { problems } = check(person, tollFree);
    expect(problems.find(({ field }) => field === 'entityType')?.text).toContain('use a local number');
  });
});

describe('what is wrong with one field', () => {
  const wrong: readonly (readonly [string, RegistrationForm, string])[] = [
    ['one sample', { sampleMessages: [business.sampleMessages![0]!] }, 'sampleMessages'],
    ['a sample of 19 characters', { sampleMessages: ['x'.repeat(19), 'y'.repeat(20)] }, 'sampleMessages'],
    ['a sample of 256 characters', { sampleMessages: ['x'.repeat(256), 'y'.repeat(255)] }, 'sampleMessages'],
    ['a description of 39 characters', { description: 'd'.repeat(39) }, 'description'],
    [
      'a link shortener in a sample',
      { sampleMessages: ['Read more on bit.ly/3xyz, please.', 'y'.repeat(30)] },
      'sampleMessages',
    ],
    ['a link shortener as website', { website: 'https://tinyurl.com/bakery' }, 'website'],
    ['a website without a scheme', { website: 'bakery.example.com' }, 'website'],
    ['a script as website', { website: 'javascript:alert(1)' }, 'website'],
    ['an opt-in page without TLS', { optInPageUrl: 'http://bakery.example.com/texts' }, 'optInPageUrl'],
    ['an opt-in page with a password', { optInPageUrl: 'https://a:b@bakery.example.com/' }, 'optInPageUrl'],
    ['eight digits as EIN', { ein: '12-345678' }, 'ein'],
    ['nine equal digits as EIN', { ein: '000000000' }, 'ein'],
    ['a masked EIN of nobody', { ein: '**-***6789' }, 'ein'],
    ['a Social Security number as EIN', { ein: '123-45-6789' }, 'ein'],
    [
      'a Social Security number in the description',
      { description: `My number is 123-45-6789. ${'d'.repeat(40)}` },
      'description',
    ],
    ['a state that is none', { region: 'ZZ' }, 'region'],
    ['a postal code that is none', { postalCode: '8052' }, 'postalCode'],
    ['a phone that cannot be', { contactPhone: '+1970' }, 'contactPhone'],
    ['a mail address that is none', { contactEmail: 'ada@bakery' }, 'contactEmail'],
    ['a use case that nobody knows', { useCase: 'CHATTING' }, 'useCase'],
    ['the use case of persons', { useCase: 'SOLE_PROPRIETOR' }, 'useCase'],
    ['MIXED of one thing', { useCase: 'MIXED', subUseCases: ['MARKETING'] }, 'subUseCases'],
    ['a use case within another that is none', { subUseCases: ['CHATTING'] }, 'subUseCases'],
    ['a branch that nobody knows', { vertical: 'BAKING' }, 'vertical'],
  ];
  test.each(wrong)('%s', (_, change, field) => {
    expect(fields({ ...business, ...change })).toEqual([field]);
  });

  test('a listed company gives symbol and exchange', () => {
    expect(fields({ ...business, entityType: 'PUBLIC_PROFIT' })).toEqual(['stockSymbol', 'stockExchange']);
  });

  test('an EIN is never quoted back', () => {
    expect(textsOf({ ...business, ein: '98-76543' })).not.toContain('76543');
    expect(textsOf({ ...business, ein: '123-45-6789' })).not.toContain('6789');
  });

  test('longer samples and whole addresses pass', () => {
    expect(fields({ ...business, sampleMessages: ['x'.repeat(20), 'y'.repeat(255)] })).toEqual([]);
    expect(
      fields({ ...business, sampleMessages: [`See https://at.com/t.co ${'x'.repeat(20)}`, 'y'.repeat(255)] }),
    ).toEqual([]);
    expect(fields({ ...business, region: 'Colorado' })).toEqual([]);
  });
});

describe('a sole proprietor', () => {
  const wrong: readonly (readonly [string, RegistrationForm, string])[] = [
    ['with an EIN', { ein: '12-3456789' }, 'ein'],
    ['with LLC in the name', { brandName: 'Moss Gardening LLC' }, 'brandName'],
    ['with Inc. in the name', { legalName: 'Ada Moss, Inc.' }, 'legalName'],
    ['without a mobile', { mobilePhone: undefined, contactPhone: '+19705550111' }, 'mobilePhone'],
    ['with a mobile of Jamaica', { mobilePhone: '+18765551234' }, 'mobilePhone'],
    ['with a toll-free mobile', { mobilePhone: '+18005550122' }, 'mobilePhone'],
    ['with the number itself as mobile', { mobilePhone: '+19705550150' }, 'mobilePhone'],
    ['with another use case', { useCase: 'MARKETING' }, 'useCase'],
  ];
  test.each(wrong)('%s', (_, change, field) => {
    expect(fields({ ...person, ...change })).toEqual([field]);
  });

  test('a name that only begins like a company passes', () => {
    expect(fields({ ...person, brandName: 'Incredible Moss' })).toEqual([]);
  });
});

describe('what carriers may refuse', () => {
  test('is a warning, by word and field, and no problem', () => {
    const { problems, warnings } = check({
      ...business,
      description: 'Tells people who text the shop which beers and wines it has, and when it is open.',
    });
    expect(problems).toEqual([]);
    expect(warnings).toEqual([{ field: 'description', text: expect.stringContaining('alcohol') }]);
  });

  test('samples that name no way out are warned of', () => {
    const sampleMessages = ['Blue Bottle: your rye loaf is ready.', 'Blue Bottle: we open at seven.'];
    expect(check({ ...business, sampleMessages }).warnings.map(({ field }) => field)).toEqual(['sampleMessages']);
    expect(check(business).warnings).toEqual([]);
  });
});

describe('an EIN sent back masked', () => {
  const following = (more: object) => ({
    number: local,
    origin,
    hosted: true,
    before: { ein: '**-***6789', full: true, einNeeded: true, ...more },
  });

  test('is the one that is there', () => {
    const masked = { ...business, ein: '**-***6789' };
    expect(preflight(masked, following({}))).toMatchObject({ ein: null, problems: [], form: { ein: '**-***6789' } });
    expect(preflight({ ...business, ein: '**-***0000' }, following({})).problems).toHaveLength(1);
  });

  test('is asked for anew once it was wiped', () => {
    const { problems } = preflight({ ...business, ein: '**-***6789' }, following({ full: false }));
    expect(problems).toEqual([{ field: 'ein', text: expect.stringContaining('wiped') }]);
    expect(preflight(business, following({ full: false })).ein).toBe('12-3456789');
  });

  test('is not asked for where a campaign is corrected', () => {
    const { problems } = preflight({ ...business, ein: undefined }, following({ full: false, einNeeded: false }));
    expect(problems).toEqual([]);
  });
});
