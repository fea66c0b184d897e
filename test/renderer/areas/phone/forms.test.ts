import { expect, test } from 'vitest';
import { RegistrationForm } from '../../../../src/contracts/phone/registration.ts';
import {
  detailsOf,
  emptyPort,
  problemsOfPort,
  unread,
  wantedOf,
} from '../../../../src/renderer/areas/phone/port-form.ts';
import {
  draftOf,
  fieldWord,
  formOf,
  problemsByField,
  problemsIn,
  sections,
} from '../../../../src/renderer/areas/phone/registration-form.ts';

const blank = draftOf(null);
const typed = {
  ...blank,
  texts: { ...blank.texts, legalName: ' Acme Inc ', ein: '12-3456789', mobilePhone: '202 555 0123', region: 'co' },
  samples: ['Your order 12 is ready.', '  ', 'Reply STOP to end.'],
  monthly: '500',
};

test('a form holds what was typed, without what is empty and what belongs to another kind of sender', () => {
  expect(formOf(typed, 'local')).toEqual({
    kind: '10dlc',
    legalName: 'Acme Inc',
    ein: '12-3456789',
    region: 'CO',
    sampleMessages: ['Your order 12 is ready.', 'Reply STOP to end.'],
    monthlyMessages: 500,
  });
  expect(formOf({ ...typed, who: 'person' }, 'local')).toMatchObject({
    entityType: 'SOLE_PROPRIETOR',
    useCase: 'SOLE_PROPRIETOR',
    mobilePhone: '+12025550123',
  });
  expect(formOf({ ...typed, who: 'person' }, 'local')).not.toHaveProperty('ein');
  expect(formOf(blank, 'toll_free')).toEqual({ kind: 'toll_free' });
});

test('what was filed is in its fields again, a masked EIN too, and comes out the same', () => {
  const filed = RegistrationForm.parse({
    ...formOf(typed, 'local'),
    entityType: 'PUBLIC_PROFIT',
    stockSymbol: 'ACME',
    stockExchange: 'NYSE',
    ein: '**-***6789',
  });
  expect(formOf(draftOf(filed), 'local')).toEqual(filed);
  const person = RegistrationForm.parse(formOf({ ...typed, who: 'person' }, 'local'));
  expect(draftOf(person).who).toBe('person');
  expect(formOf(draftOf(person), 'local')).toEqual(person);
});

test('each problem stands below its field; one of no field that is shown is not lost', () => {
  const problems = [
    { field: 'ein', text: 'Nine digits.' },
    { field: 'sampleMessages.1', text: 'Too short.' },
    { field: 'mobilePhone', text: 'Is no mobile.' },
    { field: null, text: 'The account is new.' },
  ];
  const shown = problemsByField(problems, blank);
  expect(shown.get('ein')).toBe('Nine digits.');
  expect(shown.get('sampleMessages')).toBe('Too short.');
  expect(shown.get('')).toBe('Is no mobile. The account is new.');
  expect(problemsByField(problems, { ...blank, who: 'person' }).get('mobilePhone')).toBe('Is no mobile.');
  expect(problemsIn({ problems })).toEqual(problems);
  expect(problemsIn({ problems: 'no list' })).toBeNull();
  expect(problemsIn({ problems: [{ text: 4 }] })).toBeNull();
  expect(problemsIn(undefined)).toBeNull();
});

test('every field of the form is there to be corrected', () => {
  const elsewhere = ['kind', 'subUseCases', 'sampleMessages', 'monthlyMessages', 'optInWorkflow'];
  const shown = sections.flatMap(({ fields }) => fields.map(({ name }) => name as string));
  expect([...shown, ...elsewhere].toSorted()).toEqual(Object.keys(RegistrationForm.shape).toSorted());
  expect(fieldWord('postalCode')).toBe('ZIP code');
});

test('a port tells the other carrier what was typed, and asks for what is missing or wrong', () => {
  expect(detailsOf(emptyPort)).toEqual({});
  expect(detailsOf({ ...emptyPort, pin: ' 1234 ', billingNumber: '(202) 555-0123', country: 'us' })).toEqual({
    pin: '1234',
    billingNumber: '+12025550123',
    country: 'US',
  });
  expect(problemsOfPort(emptyPort)).toEqual({});
  expect(Object.keys(problemsOfPort({ ...emptyPort, billingNumber: 'none', country: 'USA', region: 'C' }))).toEqual([
    'region',
    'billingNumber',
    'country',
  ]);
  expect(problemsOfPort({ ...emptyPort, invoice: unread })).toEqual({ invoice: 'The file is being read.' });
  const wanted = wantedOf({
    missing: ['invoice'],
    problems: [
      { code: 'PASSCODE_PIN_INVALID', text: 'The PIN is wrong.', field: 'pin' },
      { code: 'OTHER', text: 'Something else.', field: null },
    ],
  });
  expect([...wanted]).toEqual([
    ['invoice', null],
    ['pin', 'The PIN is wrong.'],
  ]);
});
