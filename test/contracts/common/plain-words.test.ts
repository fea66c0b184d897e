/** What is wrong with a value, as a person would say it. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import '../../../src/contracts/common/plain-words.ts';

const said = (schema: z.ZodType, value: unknown): string => schema.safeParse(value).error?.issues[0]?.message ?? '';

test.each([
  [z.string(), undefined, 'is missing'],
  [z.string(), 5, 'must be a text, not a number'],
  [z.number(), 'five', 'must be a number, not a text'],
  [z.int(), 1.5, 'must be a whole number, not a number'],
  [z.boolean(), null, 'must be true or false, not null'],
  [z.array(z.string()), {}, 'must be a list, not an object'],
  [z.strictObject({}), [], 'must be an object, not a list'],
  [z.strictObject({}), { colour: 1 }, 'has a field that is unknown: "colour"'],
  [z.strictObject({}), { a: 1, b: 2 }, 'has fields that are unknown: "a", "b"'],
  [z.enum(['red', 'blue']), 'green', 'must be one of "red", "blue"'],
  [z.literal(true), false, 'must be true'],
  [z.string().min(1), '', 'must not be empty'],
  [z.string().min(3), 'ab', 'must have at least 3 characters'],
  [z.string().max(1), 'ab', 'must have at most 1 character'],
  [z.array(z.string()).max(2), ['a', 'b', 'c'], 'must have at most 2 entries'],
  [z.number().min(1), 0, 'must be at least 1'],
  [z.number().gt(1), 1, 'must be more than 1'],
  [z.number().multipleOf(5), 4, 'must be a multiple of 5'],
  [z.email(), 'nobody', 'must be an email address'],
  [z.url(), 'nowhere', 'must be an address such as https://example.com'],
  [z.iso.datetime(), 'noon', 'must be a time such as 2026-01-31T08:30:00.000Z'],
  [z.string().regex(/^a/), 'b', 'has the wrong format'],
  [z.union([z.string(), z.number()]), true, 'matches none of its allowed forms'],
  [z.custom<string>(() => false), 'x', 'is not valid'],
] as const)('%#: %s', (schema, value, words) => {
  expect(said(schema, value)).toBe(words);
});

test('a schema that says more about its own values is not overruled', () => {
  expect(said(z.string().regex(/^[A-Z]{2}$/, 'a country as US'), 'usa')).toBe('a country as US');
  expect(said(z.string('give your name'), 5)).toBe('give your name');
});

test('what was given is never said: it may be a secret', () => {
  for (const schema of [
    z.number(),
    z.enum(['a']),
    z.string().max(3),
    z.email(),
    z.strictObject({}),
    z.array(z.string()),
  ]) {
    expect(said(schema, 'sk-secret-0123456789')).not.toContain('secret');
  }
});
