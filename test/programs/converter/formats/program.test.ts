import { afterAll, expect, test } from 'vitest';
import { startConverter } from '../../../support/documents/converter.ts';
import { said, samples } from './samples.ts';

const program = startConverter();
afterAll(() => program.close());

test.each(Object.entries(samples))('%s is read inside the program that may reach nothing', async (name, bytes) => {
  const result = await program.convert(bytes, name);
  expect(result.markdown).toMatch(said);
});
