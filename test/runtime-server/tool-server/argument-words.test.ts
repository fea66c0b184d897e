/** What a caller is told of arguments that a tool does not take. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { wrongArguments } from '../../../src/runtime-server/tool-server/argument-words.ts';
import { createArgumentCheck } from '../../../src/runtime-server/tool-server/servers/arguments.ts';

const own = z.strictObject({
  path: z.string(),
  limit: z.number().optional(),
  mode: z.enum(['a', 'b']).optional(),
  inner: z.strictObject({ deep: z.boolean() }).optional(),
});
const said = (given: unknown) => {
  const { error } = own.safeParse(given);
  return wrongArguments(error?.issues ?? [], given, Object.keys(own.shape));
};

test('what is missing, of another kind or not known is said in sentences', () => {
  expect(said({})).toBe('path is missing.');
  expect(said({ paht: 'x' })).toBe('path is missing. paht is not known; did you mean path?');
  expect(said({ path: 'x', colour: 1 })).toBe('colour is not known; known: path, limit, mode, inner.');
  expect(said({ path: 'x', limit: 'a' })).toBe('limit must be a number, not "a".');
  expect(said({ path: 'x', mode: 'c' })).toBe('mode must be one of "a", "b", not "c".');
  expect(said({ path: 'x', inner: {} })).toBe('inner.deep is missing.');
  expect(said([])).toBe('the arguments must be an object, not a list.');
});

test('tools of attached servers say it alike', async () => {
  const check = await createArgumentCheck(z.toJSONSchema(own));
  expect(check({})).toBe('path is missing.');
  expect(check({ path: 'x', lmit: 1 })).toBe('lmit is not known; did you mean limit?');
  expect(check({ path: 'x', limit: 'a' })).toBe('limit must be a number, not "a".');
  expect(check({ path: 'x', inner: {} })).toBe('inner.deep is missing.');
  expect(check({ path: 'x' })).toBeNull();
});
