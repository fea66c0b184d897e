/** A repeated or lost step that is planted is found. */
import { expect, test } from 'vitest';
import { type CarrierBooks, missing, repeated, type Told } from './verdicts.ts';

const books: CarrierBooks = {
  charges: [
    { what: 'number', ref: '+19705550150' },
    { what: 'brand', ref: 'b1' },
    { what: 'campaign', ref: 'c1' },
  ],
  brands: { b1: { asked: { companyName: 'Bakery 1' } }, b2: { asked: { companyName: 'Bakery 1' } } },
  campaigns: { c1: { brandId: 'b1', status: 'ACTIVE' } },
  texts: [
    { direction: 'outbound', own: false, text: 'one' },
    { direction: 'outbound', own: true, text: 'STOP heard' },
    { direction: 'inbound', own: false, text: 'one' },
  ],
};
const told: Told = { name: 'Bakery 1', e164: '+19705550150', approved: true, released: false, sent: ['one'] };

test('books in order have nothing against them', () => {
  expect(repeated(books)).toEqual([]);
  expect(missing(books, [told])).toEqual([]);
});

test.each([
  [{ what: 'number', ref: '+19705550150' }, '+19705550150: was bought 2 times'],
  [{ what: 'brand', ref: 'b2' }, 'Bakery 1: the business was filed 2 times'],
  [{ what: 'campaign', ref: 'c1' }, 'Bakery 1: a campaign was filed 2 times'],
])('%j once more is repeated', (charge, problem) => {
  expect(repeated({ ...books, charges: [...books.charges, charge] })).toEqual([problem]);
});

test('a text that left twice is repeated, one that never left is missing', () => {
  expect(repeated({ ...books, texts: [...books.texts, books.texts[0]!] })).toEqual(['one: was texted 2 times']);
  expect(missing(books, [{ ...told, sent: ['one', 'two'] }])).toEqual(['two: was answered and never texted']);
});

test('what was never approved, and a campaign that goes on after its number, are told', () => {
  expect(missing(books, [{ ...told, approved: false }])).toEqual(['Bakery 1 was never approved']);
  expect(missing(books, [{ ...told, released: true }])).toHaveLength(1);
  expect(missing({ ...books, campaigns: {} }, [told])).toEqual(['Bakery 1: there is no campaign']);
});
