import { expect, test } from 'vitest';
import { visible, visibleLine } from '../../../src/contracts/approvals/visible.ts';

test('what would be drawn as nothing, or would turn or overwrite what is drawn, is written out', () => {
  expect(visible('rm -rf ~\rgit status')).toBe('rm -rf ~\\u{d}git status');
  expect(visible('\u001b]0;x\u0007a\u001b[8m')).toBe('\\u{1b}]0;x\\u{7}a\\u{1b}[8m');
  expect(visible('a\u202eb\u2066\u200b\u2028\u2029\ufeff\u00ad')).toBe(
    'a\\u{202e}b\\u{2066}\\u{200b}\\u{2028}\\u{2029}\\u{feff}\\u{ad}',
  );
  expect(visible('\u{e0041}\u3164\u00a0\ud800')).toBe('\\u{e0041}\\u{3164}\\u{a0}\\u{d800}');
});

test('words of any language, lines and tabs stay as they are; what was written out stays too', () => {
  for (const text of ['a\n\tb', 'Grüße, 日本語\u3000です, हिन्दी, שלום, 🚀', visible('\u202e')])
    expect(visible(text)).toBe(text);
  expect(visibleLine('a\nb\tc\r')).toBe('a\\nb\\tc\\u{d}');
});
