/** PDF: what a reader sees as headings, columns, lists, tables and links is read as such; what is no text is told. */
import { afterAll, expect, test } from 'vitest';
import { failure, startConverter } from '../../support/documents/converter.ts';
import { assembled, japanesePdf, makePdf, makeReport, type PdfText } from '../../support/documents/pdf.ts';

const { convert, close } = startConverter();
afterAll(close);

const lines = (texts: readonly string[], x: number, y: number, size = 11, gap = 14): PdfText[] =>
  texts.map((text, index) => ({ text, x, y: y + index * gap, size }));

test('headings by size, paragraphs over lines, divided words, links', async () => {
  const { markdown, metadata } = await convert(
    makePdf(
      [
        {
          texts: [
            { text: 'The Title', x: 60, y: 80, size: 24 },
            { text: 'A chapter', x: 60, y: 120, size: 16 },
            ...lines(
              [
                'This paragraph goes on over the end of its first line and has a divi-',
                'ded word in it; its *stars* and <tags> are text, and that is all it says.',
              ],
              60,
              150,
            ),
            ...lines(['Another paragraph stands below it, with an address at its end that is a', 'link.'], 60, 200),
          ],
          links: [{ url: 'https://example.com/a?b=1', rect: [60, 204, 85, 216] }],
        },
      ],
      { info: { Title: 'Named', Author: 'Ann', CreationDate: "D:20260131120000+01'00'" } },
    ),
  );
  expect(markdown).toBe(
    '# The Title\n\n## A chapter\n\nThis paragraph goes on over the end of its first line and has a divided word in it; its \\*stars\\* and &lt;tags> are text, and that is all it says.\n\nAnother paragraph stands below it, with an address at its end that is a [link.](https://example.com/a?b=1)\n',
  );
  expect(metadata).toMatchObject({ pages: 1, title: 'Named', author: 'Ann', created: '2026-01-31T12:00:00+01:00' });
});

test('two columns are read one after the other, below a title over both', async () => {
  const column = (name: string) =>
    Array.from({ length: 10 }, (_, index) => `${name} line ${index} of a column of running text`);
  const { markdown } = await convert(
    makePdf([
      {
        texts: [
          { text: 'A title that stands over both of the columns of this page', x: 60, y: 60, size: 20 },
          ...lines(column('Left'), 60, 100),
          ...lines(column('Right'), 320, 104),
        ],
      },
    ]),
  );
  expect(markdown.indexOf('Left line 9')).toBeLessThan(markdown.indexOf('Right line 0'));
  expect(markdown).not.toContain('|');
});

test('a table is a table, with cells of several lines and empty ones', async () => {
  const { markdown } = await convert(
    makePdf([
      {
        texts: [
          { text: 'Before the table there is a sentence.', x: 60, y: 80 },
          ...lines(['Name', 'Alpha', 'Beta', 'Gamma'], 60, 110, 11, 24),
          ...lines(['Value', '1.5', '22'], 200, 110, 11, 24),
          ...lines(['Remark', 'first', '', 'of two'], 300, 110, 11, 24).filter(({ text }) => text !== ''),
          { text: 'lines', x: 300, y: 195 },
          { text: 'After the table there is a sentence that is longer than its columns are wide.', x: 60, y: 240 },
        ],
      },
    ]),
  );
  expect(markdown).toContain(
    '| Name | Value | Remark |\n| --- | --- | --- |\n| Alpha | 1.5 | first |\n| Beta | 22 |  |\n| Gamma |  | of two lines |\n\nAfter',
  );
});

test('lists keep their marks, their depth and the lines that go on', async () => {
  const { markdown } = await convert(
    makePdf([
      {
        texts: [
          { text: '\u0095', x: 60, y: 100 },
          { text: 'first thing that goes on', x: 80, y: 100 },
          { text: 'over its line', x: 80, y: 114 },
          { text: '\u0095', x: 90, y: 128 },
          { text: 'below it', x: 105, y: 128 },
          { text: '\u0095', x: 60, y: 142 },
          { text: 'second thing', x: 80, y: 142 },
          { text: '1. One', x: 60, y: 190 },
          { text: '2. Two', x: 60, y: 204 },
        ],
      },
    ]),
  );
  expect(markdown).toMatch(
    /- first thing that goes on\s+over its line\n {3}- below it\n- second thing\n\n1\. One\n2\. Two/,
  );
});

/** A row of cells that begin at these places. */
const cells = (y: number, ...all: readonly (readonly [string, number])[]): PdfText[] =>
  all.map(([text, x]) => ({ text, x, y, size: 10 }));

test('a number at the beginning of a line stays the number that it is, and counts items only in a list', async () => {
  const said = [
    '(415) 555-0199',
    '(2) is the second',
    '2024. That was a year.',
    '007. Bond',
    '12) is no item by itself',
    '3.14 is a number',
  ];
  const { markdown } = await convert(
    makePdf([{ texts: said.flatMap((text, index) => lines([text], 60, 80 + index * 40)) }]),
  );
  expect(markdown.replaceAll('\\', '').trim().split('\n\n')).toEqual(said);
  const list = await convert(
    makePdf([
      { texts: [...lines(['9. nine', '10. ten', '11. eleven'], 60, 80), ...lines(['Call (212) 555-0100'], 60, 200)] },
    ]),
  );
  expect(list.markdown).toBe('9. nine\n10. ten\n11. eleven\n\nCall (212) 555-0100\n');
});

test('a receipt keeps its columns and its rows: sums under two of them, long names, tight lines', async () => {
  const { markdown } = await convert(
    makePdf([
      {
        texts: [
          ...cells(90, ['Item', 60], ['Qty', 200], ['Price', 240], ['Total', 290]),
          ...cells(99, ['Espresso', 60], ['2', 208], ['3.50', 246], ['7.00', 294]),
          ...cells(108, ['Blueberry muffin with cream', 60], ['1', 208], ['4.25', 246], ['4.25', 294]),
          ...cells(117, ['Subtotal', 240], ['11.25', 290]),
          ...cells(126, ['Tax', 240], ['0.96', 294]),
          ...cells(135, ['Total', 240], ['12.21', 290]),
          ...cells(170, ['Phone', 60], ['(415) 555-0199', 200]),
          ...cells(182, ['Fax', 60], ['(415) 555-0198', 200]),
        ],
      },
    ]),
  );
  expect(markdown).toContain(
    '| Item | Qty | Price | Total |\n| --- | --- | --- | --- |\n| Espresso | 2 | 3.50 | 7.00 |\n' +
      '| Blueberry muffin with cream | 1 | 4.25 | 4.25 |\n|  |  | Subtotal | 11.25 |\n|  |  | Tax | 0.96 |\n|  |  | Total | 12.21 |',
  );
  for (const number of ['(415) 555-0199 |', '(415) 555-0198 |']) expect(markdown).toContain(number);
});

test('a cell that almost fills its column stays apart from the next one', async () => {
  // At 10 points the long name ends at 183.9: half a font size before the next column, or a little more.
  const { markdown } = await convert(
    makePdf([
      {
        texts: [
          ...cells(90, ['Item', 60], ['Qty', 189], ['Price', 240]),
          ...cells(104, ['Espresso', 60], ['2', 189], ['3.50', 240]),
          ...cells(118, ['Blueberry muffin with cream', 60], ['1', 189], ['4.25', 240]),
          ...cells(200, ['Name', 60], ['Room', 189]),
          ...cells(218, ['Ann', 60], ['12', 189]),
          ...cells(236, ['Blueberry muffin with cream', 60], ['14', 189]),
          ...cells(254, ['Bob', 60], ['15', 189]),
          ...cells(340, ['Name', 60], ['City', 190.4]),
          ...cells(358, ['Ann', 60], ['Oslo', 190.4]),
          ...cells(376, ['Blueberry muffin with cream', 60], ['Rome', 190.4]),
        ],
      },
    ]),
  );
  expect(markdown).toContain('| Espresso | 2 | 3.50 |\n| Blueberry muffin with cream | 1 | 4.25 |');
  expect(markdown).toContain('| Ann | 12 |\n| Blueberry muffin with cream | 14 |\n| Bob | 15 |');
  expect(markdown).toContain('| Ann | Oslo |\n| Blueberry muffin with cream | Rome |');
});

test('what repeats at the edges of pages is left out and told; the rest of every page is there', async () => {
  const { markdown, notes, metadata } = await convert(makeReport(12));
  expect(markdown).not.toMatch(/Report of the year|Page \d+ of/);
  for (let page = 1; page <= 12; page += 1) expect(markdown).toContain(`# Chapter ${page}: what was measured`);
  expect(markdown.match(/\| 11\.0 \| 11\.\d+ \|/g)?.length).toBeGreaterThan(0);
  expect(notes.join()).toContain('Headers, footers');
  expect(metadata).toMatchObject({ pages: 12 });
});

test('a heading that is no larger than the text is found by the outline', async () => {
  const { markdown } = await convert(
    makePdf(
      [
        {
          texts: [
            { text: 'Introduction', x: 60, y: 80 },
            ...lines(['Words of a paragraph, one line,', 'and of a second line of it.'], 60, 110),
          ],
        },
      ],
      { outline: ['Introduction'] },
    ),
  );
  expect(markdown).toContain('# Introduction\n\nWords');
});

test('a scan says that it is one, and a page without text among others says which', async () => {
  const all = await convert(
    makePdf([
      { texts: [], scan: true },
      { texts: [], scan: true },
    ]),
  );
  expect(all.markdown).toBe('');
  expect(all.notes.join()).toMatch(/the whole document.*OCR/);
  const some = await convert(makePdf([{ texts: [{ text: 'Words', x: 60, y: 100 }] }, { texts: [], scan: true }]));
  expect(some.markdown).toBe('Words\n');
  expect(some.notes.join()).toContain('Page 2');
});

test('a password is told as such', async () => {
  // Encrypted by the first method there was (ISO 32000-1, 7.6), with a password that nobody gives.
  const bytes = (fill: string): string => `<${fill.repeat(32)}>`;
  const encrypted = assembled(
    [
      '<< /Type /Catalog /Pages 2 0 R >>',
      '<< /Type /Pages /Count 0 /Kids [] >>',
      `<< /Filter /Standard /V 1 /R 2 /O ${bytes('41')} /U ${bytes('42')} /P -4 >>`,
    ],
    '/Root 1 0 R /Encrypt 3 0 R /ID [<00112233445566778899aabbccddeeff> <00112233445566778899aabbccddeeff>]',
  );
  expect(await failure(convert(encrypted))).toMatchObject({ code: 'usage', fact: expect.stringContaining('password') });
});

test('Japanese of a font that only names its encoding is read: the tables for it are there', async () => {
  expect((await convert(japanesePdf())).markdown).toContain('日本語');
});

test('a PDF that was cut gives what can be found, or says that it is cut', async () => {
  const whole = makeReport(3);
  const cut = await convert(whole.subarray(0, whole.length - 15));
  expect(cut.markdown).toContain('Chapter 1');
  expect((await failure(convert(whole.subarray(0, whole.length / 2)))).fact).toMatch(/truncated or damaged|pages/);
});
