/** What was used, in words that need no explanation. */
import { expect, test } from 'vitest';
import { costOf, tokensOf } from '../../../src/renderer/ui/money.ts';

const used = { requests: 2, inputTokens: 5000, outputTokens: 200, cents: 40, unpriced: 0 };

test('a cost is shown as far as it is known, and that it is not known is said', () => {
  expect(costOf(used)).toBe('$0.40');
  expect(costOf({ ...used, unpriced: 1 })).toBe('$0.40');
  expect(costOf({ ...used, cents: 0, unpriced: 2 })).toBe('cost unknown');
  expect(costOf({ ...used, requests: 0 })).toBe('–');
  expect(tokensOf(used)).toBe('5.2K tokens');
});
