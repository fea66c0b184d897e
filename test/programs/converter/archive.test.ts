/** Archives: every document in its place, and nothing that an archive can do to whoever opens it. */
import { afterAll, expect, test } from 'vitest';
import { failure, startConverter } from '../../support/documents/converter.ts';
import { makePdf } from '../../support/documents/pdf.ts';
import { makeZip } from '../../support/documents/zip.ts';

const { convert, close } = startConverter();
afterAll(close);

test('every entry stands under its name, also in an archive within the archive', async () => {
  const inner = makeZip([{ name: 'deep.csv', content: 'a,b\n1,2\n' }]);
  const { markdown, metadata, kind } = await convert(
    makeZip([
      { name: 'folder/', content: '', stored: true },
      { name: 'folder/a.md', content: '# Title\n\n```\n# code\n```\n' },
      { name: 'b.pdf', content: makePdf([{ texts: [{ text: 'Words of the PDF', x: 60, y: 100 }] }]) },
      { name: 'in.zip', content: inner },
      { name: '__MACOSX/._a.md', content: 'x' },
    ]),
  );
  expect(kind).toBe('zip');
  expect(markdown).toContain(
    '## folder/a.md\n\n### Title\n\n```\n# code\n```\n\n## b.pdf\n\nWords of the PDF\n\n## in.zip\n\n#### deep.csv\n\n| a | b |',
  );
  expect(metadata).toMatchObject({ files: 3 });
});

test('an entry that cannot be read says so in its place, and the others are read', async () => {
  const { markdown } = await convert(
    makeZip([
      { name: 'x.bin', content: Buffer.from([0, 1, 2, 3, 0, 0, 0, 9]) },
      { name: 'secret.txt', content: 'x', encrypted: true },
      { name: 'wrong.txt', content: 'words', claims: { crc: 1 } },
      { name: 'good.txt', content: 'good words' },
    ]),
  );
  expect(markdown).toMatch(/## x\.bin\n\n> Not converted: .*an unknown format/);
  expect(markdown).toMatch(/## secret\.txt\n\n> Not converted: .*encrypted/);
  expect(markdown).toMatch(/## wrong\.txt\n\n> Not converted: .*checksum/);
  expect(markdown).toContain('## good.txt\n\n```\ngood words\n```');
});

test('names that lead out of the archive are not read, and told', async () => {
  const names = ['../up.txt', '/etc/passwd', 'a/../../b.txt', 'C:\\windows.txt', '..\\back.txt'];
  const { markdown, notes } = await convert(
    makeZip([...names.map((name) => ({ name, content: 'evil' })), { name: 'ok.txt', content: 'fine' }]),
  );
  expect(markdown).toBe('## ok.txt\n\n```\nfine\n```\n');
  expect(notes.join()).toContain('../up.txt');
  expect(markdown).not.toContain('evil');
});

test('an entry that unpacks to far more than it is, or than it says, is not unpacked', async () => {
  const zeros = Buffer.alloc(33 * 1024 * 1024);
  const { markdown } = await convert(
    makeZip([
      { name: 'bomb.txt', content: zeros },
      { name: 'liar.txt', content: zeros, claims: { size: 100 } },
      { name: 'ok.txt', content: 'fine' },
    ]),
  );
  expect(markdown).toMatch(/## bomb\.txt\n\n> Not converted: .*unpacks to \d+ times its size/);
  expect(markdown).toMatch(/## liar\.txt\n\n> Not converted: .*more than its directory says/);
  expect(markdown).toContain('## ok.txt\n\n```\nfine\n```');
});

test('entries that are small one by one and unpack to far more together are not unpacked', async () => {
  const zeros = Buffer.alloc(8 * 1024 * 1024);
  const { markdown } = await convert(
    makeZip(Array.from({ length: 6 }, (_, index) => ({ name: `${index}.txt`, content: zeros }))),
  );
  expect(markdown.match(/unpacks to \d+ times its size/g)).toHaveLength(2);
});

test('archives in archives end at a depth, and all of them share what may be unpacked', async () => {
  let nested = makeZip([{ name: 'core.txt', content: 'core' }]);
  for (let depth = 0; depth < 8; depth += 1) nested = makeZip([{ name: `level-${depth}.zip`, content: nested }]);
  const deep = await convert(nested);
  expect(deep.markdown).toContain('documents deep');
  expect(deep.markdown).not.toContain('core.txt');

  // Each stays below every limit of its own; together they do not.
  const text = Buffer.from(
    Array.from({ length: 900_000 }, (_, index) => `line ${(index * 7919) % 5000} of it`).join('\n'),
  );
  const archive = makeZip(Array.from({ length: 20 }, (_, index) => ({ name: `${index}.txt`, content: text })));
  const many = await convert(makeZip([{ name: 'many.zip', content: archive }]));
  expect(many.markdown.length).toBeLessThanOrEqual(4 * 1024 * 1024);
  expect(many.notes.join()).toContain('cut');
});

test('a directory of a hundred thousand entries is refused', async () => {
  const many = makeZip(Array.from({ length: 12_000 }, (_, index) => ({ name: `${index}`, content: '', stored: true })));
  expect((await failure(convert(many))).fact).toContain('entries');
});

test('an archive that was cut is told as such', async () => {
  const whole = makeZip([{ name: 'a.txt', content: 'words '.repeat(1000) }]);
  expect((await failure(convert(whole.subarray(0, whole.length - 30), 'a.zip'))).fact).toContain(
    'truncated or damaged',
  );
});
