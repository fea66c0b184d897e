import { expect, test } from 'vitest';
import { firstTexts, problemsOf, valuesOf } from '../../../src/renderer/ui/schema-fields.ts';

const schema = {
  properties: {
    name: { type: 'string' },
    count: { type: 'integer', default: 3 },
    share: { type: 'number' },
    mode: { type: 'string', enum: ['fast', 'safe'] },
    loud: { type: 'boolean', default: true },
  },
  required: ['name'],
} as const;

test('defaults stand in the fields, and an untouched form says only what is needed', () => {
  const texts = firstTexts(schema);
  expect(texts).toEqual({ name: '', count: '3', share: '', mode: '', loud: 'true' });
  expect(problemsOf(schema, texts)).toEqual({ name: 'Required.' });
});

test('each wrong field is named at once', () => {
  const texts = { name: ' ', count: '1.5', share: 'many', mode: 'wild', loud: '' };
  expect(problemsOf(schema, texts)).toEqual({
    name: 'Required.',
    count: 'Must be a whole number.',
    share: 'Must be a number.',
    mode: 'Must be one of: fast, safe.',
  });
});

test('values have their types, and empty fields are left to the other side’s defaults', () => {
  expect(valuesOf(schema, { name: 'x', count: '7', share: '', mode: '', loud: '' })).toEqual({
    name: 'x',
    count: 7,
    loud: false,
  });
});
