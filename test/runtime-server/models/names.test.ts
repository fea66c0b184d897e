/** From a name in a team file to an address, a key and a price: nothing is guessed, nothing is asked where the person did not say so. */
import { expect, test } from 'vitest';
import { findEndpoint, listEndpoints, type Target } from '../../../src/runtime-server/models/endpoints.ts';
import { costOf, createPriceOf } from '../../../src/runtime-server/models/prices.ts';

const keys = { ANTHROPIC_API_KEY: 'a', OPENAI_API_KEY: 'o', GEMINI_API_KEY: 'g' };
const target = (...given: Parameters<typeof findEndpoint>): Target => {
  const found = findEndpoint(...given);
  if ('problem' in found) throw new Error(found.problem.fact);
  return found.target;
};
const problem = (...given: Parameters<typeof findEndpoint>) => {
  const found = findEndpoint(...given);
  return 'problem' in found ? `${found.problem.fact} ${found.problem.action}` : null;
};

test.each([
  ['claude-sonnet-5-5', 'anthropic', 'claude-sonnet-5-5', 'a', 'api.anthropic.com'],
  ['anthropic/my-finetune', 'anthropic', 'my-finetune', 'a', 'api.anthropic.com'],
  ['gpt-5.5', 'openai', 'gpt-5.5', 'o', 'api.openai.com'],
  ['o3-mini', 'openai', 'o3-mini', 'o', 'api.openai.com'],
  ['openai/org/model:1', 'openai', 'org/model:1', 'o', 'api.openai.com'],
  ['gemini-3-pro', 'google', 'gemini-3-pro', 'g', 'generativelanguage.googleapis.com'],
] as const)('%s is asked on the %s wire', (name, wire, model, key, where) => {
  expect(target(name, keys)).toEqual({ wire, model, key, where, baseUrl: null, bearer: false });
});

test('a name of nobody is a problem that lists who could be named, unless a compatible server is set', () => {
  expect(problem('qwen3-coder', keys)).toMatch(
    /No provider is configured for the model "qwen3-coder".*anthropic, openai, google/,
  );
  expect(problem('mistral/large', keys, { ollama: { wire: 'openai' } })).toContain('ollama');
  const env = { OPENAI_BASE_URL: 'http://127.0.0.1:11434/v1' };
  expect(target('qwen3-coder', env)).toMatchObject({
    wire: 'openai',
    key: null,
    baseUrl: env.OPENAI_BASE_URL,
    where: '127.0.0.1:11434',
  });
});

test('the vendor wants a key and it is named; a server of one’s own may want none', () => {
  expect(problem('claude-x', {})).toMatch(/^ANTHROPIC_API_KEY is not set, .* Set ANTHROPIC_API_KEY/);
  expect(problem('claude-x', { ANTHROPIC_API_KEY: ' ' })).toContain('ANTHROPIC_API_KEY is not set');
  expect(problem('gpt-x', { OPENAI_BASE_URL: 'https://api.openai.com/v1' })).toContain('OPENAI_API_KEY is not set');
  expect(target('claude-x', { ANTHROPIC_AUTH_TOKEN: 't' })).toMatchObject({ key: 't', bearer: true });
  expect(target('gemini-x', { GOOGLE_API_KEY: 'k' })).toMatchObject({ key: 'k' });
  const own = { gate: { wire: 'anthropic', baseUrl: 'https://gate.example', keyEnv: 'GATE_KEY' } } as const;
  expect(problem('gate/claude-x', keys, own)).toContain('GATE_KEY is not set');
  expect(target('gate/claude-x', { GATE_KEY: 'k' }, own)).toMatchObject({ key: 'k', baseUrl: 'https://gate.example' });
});

test('a key of a vendor never goes to another endpoint', () => {
  const own = { mine: { wire: 'openai', baseUrl: 'http://127.0.0.1:1/v1' } } as const;
  expect(target('mine/gpt-5', keys, own).key).toBeNull();
  for (const name of ['constructor/x', '__proto__/x', 'toString/x'])
    expect(problem(name, {}, own)).toContain('No provider is configured');
});

test('what can be asked is listed with the names of keys, never with a key', () => {
  const list = listEndpoints(
    { ...keys, OPENAI_BASE_URL: 'http://127.0.0.1:9/v1' },
    { mine: { wire: 'openai', baseUrl: 'http://h:2/v1' } },
  );
  expect(list).toMatchObject([
    { name: 'anthropic', set: ['ANTHROPIC_API_KEY'], where: 'api.anthropic.com' },
    { name: 'openai', where: '127.0.0.1:9 (OPENAI_BASE_URL)' },
    { name: 'google' },
    { name: 'mine', variables: [], where: 'h:2' },
  ]);
});

test('prices hold for a name and its dated versions; everything else is unknown', () => {
  const priceOf = createPriceOf({ 'my-model': { input: 1, output: 2 } });
  expect(priceOf('claude-haiku-4-5-20251001')).toEqual(priceOf('claude-haiku-4-5'));
  expect(priceOf('claude-haiku-4-5')).not.toBeNull();
  expect(priceOf('my-model')).toEqual({ input: 1, output: 2 });
  for (const name of ['claude-haiku-4-5-turbo', 'claude-haiku', 'gpt-5-of-tomorrow', 'constructor'])
    expect(priceOf(name)).toBeNull();
});

test('cached input has its own price, long requests have none that is known', () => {
  const usage = { input: 1000, cachedInput: 2000, cacheWrite: 100, output: 10 };
  expect(costOf(usage, { input: 3, output: 15, cachedInput: 0.3, cacheWrite: 3.75 })).toBe(3000 + 600 + 375 + 150);
  expect(costOf(usage, { input: 3, output: 15 })).toBe(3 * 3100 + 150);
  expect(costOf(usage, { input: 3, output: 15, upToInput: 3000 })).toBeNull();
  expect(costOf(usage, null)).toBeNull();
});
