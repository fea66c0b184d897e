/** Whether what a composer shows is what Gantry put there, although programs and the emulator do not agree how wide an emoji is. */
import { describe, expect, test } from 'vitest';
import { holdsOurs as claude } from '../../../src/runtime-server/harness/claude/composer.ts';
import { holdsOurs as codex } from '../../../src/runtime-server/harness/codex/composer.ts';
import { holdsOurs as gemini } from '../../../src/runtime-server/harness/gemini/composer.ts';
import { countText, sameText } from '../../../src/runtime-server/harness/same-text.ts';

/** What was put there, and what the screen has of it: parts of an emoji are lost, or an old character stands beside it. */
const shownOtherwise = [
  ['a family 👩‍👩‍👧‍👦 and words', 'a family 👩‍👩‍👧‍ and words'],
  ['✅ ⚠️ ☑️', '✅d⚠️  ☑️'],
  ['flag 🇨🇭, key 1️⃣, thumb 👍🏽', 'flag 🇨, key 1, thumb 👍'],
  ['नमस्ते e\u0301', 'नमसत e'],
] as const;

describe.each([
  ['Claude Code', claude],
  ['Codex', codex],
  ['Gemini CLI', gemini],
])('in the composer of %s', (_, holds) => {
  const text = (shown: string) => ({ kind: 'text', text: shown }) as const;

  test.each(shownOtherwise)('%s is known', (ours, shown) => {
    expect(holds(text(shown), ours)).toBe(true);
  });

  test('other words are not, beside an emoji either', () => {
    for (const [ours, shown] of shownOtherwise.filter(([text]) => /\p{L}/u.test(text))) {
      expect(holds(text(`${shown} and more`), ours)).toBe(false);
      expect(holds(text(`rm -rf ${shown}`), ours)).toBe(false);
    }
    expect(holds(text('done ✅ dont deploy'), 'done ✅ deploy')).toBe(false);
    expect(holds({ kind: 'empty' }, 'done ✅')).toBe(false);
  });
});

test('a screen has a text as often as it stands there, of a long one by its end', () => {
  expect(countText('> one ✅ two\none ✅ two', 'one ✅ two')).toBe(2);
  expect(countText('> one ✅ too', 'one ✅ two')).toBe(0);
  expect(countText(`cut off ${'x'.repeat(500)} end`, `${'y'.repeat(500)}${'x'.repeat(500)} end`)).toBe(1);
  expect(sameText('the end', 'not seen: the end', { tail: true })).toBe(true);
  expect(sameText('the end', 'not seen: the end')).toBe(false);
});
