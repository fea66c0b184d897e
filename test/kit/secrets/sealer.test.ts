/** Sealed secrets open where they were sealed, and nowhere else. */
import { expect, test } from 'vitest';
import { createSealer } from '../../../src/kit/secrets/sealer.ts';
import { newToken } from '../../../src/kit/secrets/token-file.ts';

const masterKey = newToken();
const sealer = createSealer({ masterKey, purpose: 'device' });

test('what is sealed opens in its place, never shows its text, and never looks the same twice', () => {
  const sealed = sealer.seal('device|token|computer_1', 'hünter2 '.repeat(100));
  expect(sealer.open('device|token|computer_1', sealed)).toBe('hünter2 '.repeat(100));
  expect(sealed).not.toContain('nter2');
  expect(sealer.seal('device|token|computer_1', 'x')).not.toBe(sealer.seal('device|token|computer_1', 'x'));
  expect(sealer.open('a', sealer.seal('a', ''))).toBe('');
});

test('another row, another purpose, another master key and a changed seal do not open', () => {
  const sealed = sealer.seal('device|token|computer_1', 'secret');
  const [version, id, iv, tag, text] = sealed.split(':');
  const flipped = (part: string) => (part.startsWith('A') ? 'B' : 'A') + part.slice(1);
  const refused = [
    () => sealer.open('device|token|computer_2', sealed),
    () => createSealer({ masterKey, purpose: 'vault' }).open('device|token|computer_1', sealed),
    () => createSealer({ masterKey: newToken(), purpose: 'device' }).open('device|token|computer_1', sealed),
    ...[
      [version, id, flipped(iv!), tag, text],
      [version, id, iv, flipped(tag!), text],
      [version, id, iv, tag, flipped(text!)],
      // Four bytes of a tag would be found by trying.
      [version, id, iv, Buffer.from(tag!, 'base64url').subarray(0, 4).toString('base64url'), text],
      ['v2', id, iv, tag, text],
      [version],
      [''],
    ].map((parts) => () => sealer.open('device|token|computer_1', parts.join(':'))),
  ];
  for (const open of refused) expect(open).toThrow(expect.objectContaining({ code: 'refused' }));
});
