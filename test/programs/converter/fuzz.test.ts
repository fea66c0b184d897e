/**
 * Documents that somebody broke: cut at many places, bytes changed, given under wrong names. Through the real program: each is
 * converted or refused with a reason, in bounded time, and the program goes on.
 */
import { afterAll, expect, test } from 'vitest';
import { AppError } from '../../../src/contracts/common/errors.ts';
import { startConverter } from '../../support/documents/converter.ts';
import { makePdf, makeReport } from '../../support/documents/pdf.ts';
import { makeZip } from '../../support/documents/zip.ts';
import { samples as workbooks } from './formats/samples.ts';

const { convert, processes, close } = startConverter();
afterAll(close);

const deadlineMs = 60_000;
const html =
  '<!doctype html><html><head><title>t</title></head><body><h1>x</h1><table><tr><td>1</td></tr></table><a href="x">y</a></body></html>';
const mail =
  'From: a@b.c\r\nTo: d@e.f\r\nSubject: =?utf-8?B?w6Q=?=\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\nbody\r\n--b\r\nContent-Type: application/pdf; name=a.pdf\r\nContent-Transfer-Encoding: base64\r\n\r\nJVBERi0=\r\n--b--\r\n';
const word = makeZip([
  {
    name: '[Content_Types].xml',
    content:
      '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>',
  },
  {
    name: '_rels/.rels',
    content:
      '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>',
  },
  {
    name: 'word/document.xml',
    content:
      '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>Words</w:t></w:r></w:p></w:body></w:document>',
  },
]);
const compound = Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.alloc(2040, 0xfe)]);

const samples: [string, Buffer][] = [
  ['pdf', makeReport(2)],
  [
    'zip',
    makeZip([
      { name: 'a.txt', content: 'words '.repeat(200) },
      { name: 'b.pdf', content: makePdf([{ texts: [{ text: 'x', x: 60, y: 60 }] }]) },
    ]),
  ],
  ['docx', word],
  ['html', Buffer.from(html)],
  ['eml', Buffer.from(mail)],
  ['rtf', Buffer.from('{\\rtf1\\ansi{\\fonttbl\\f0 Arial;}{\\b bold}\\par\\u228? \\bin100 }')],
  ['csv', Buffer.from('a,"b\n"c""",d\n1,2\n')],
  ['json', Buffer.from('{"a":[1,{"b":"c"}]}')],
  ['ipynb', Buffer.from('{"nbformat":4,"cells":[{"cell_type":"code","source":["x"],"outputs":[{}]}]}')],
  ['xml', Buffer.from('<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "cccccccccc">]><a>&b;&b;</a>')],
  [
    'feed',
    Buffer.from(
      '<?xml version="1.0"?><rss version="2.0"><channel><title>t</title><item><title>i</title></item></channel></rss>',
    ),
  ],
  ['compound', compound],
  [
    'png',
    Buffer.from(
      '89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360000002000001e221bc330000000049454e44ae426082',
      'hex',
    ),
  ],
  [
    'mp3',
    Buffer.concat([
      Buffer.from('ID3\u0003\0\0\0\0\0\u0021TIT2\0\0\0\u0017\0\0\0words', 'latin1'),
      Buffer.alloc(400, 0xff),
    ]),
  ],
];

/** Every outcome is a document or a reason; a program that ended is neither. */
async function sound(bytes: Buffer, name: string): Promise<void> {
  try {
    const { markdown, notes } = await convert(bytes, name, { deadlineMs });
    expect(typeof markdown).toBe('string');
    expect(notes.every((note) => note.length > 0)).toBe(true);
  } catch (error) {
    expect(error).toBeInstanceOf(AppError);
    const { code, fact, action } = error as AppError;
    expect({ code, fact, action }).toEqual({
      code: 'usage',
      fact: expect.stringMatching(/\S/),
      action: expect.stringMatching(/\S/),
    });
    expect(fact).not.toContain('crashed the converter');
    expect(fact).not.toContain('memory');
  }
}

/** The same numbers every time: a failure can be seen again. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

test.each(samples)('%s, cut at forty places', async (kind, bytes) => {
  for (let part = 0; part < 40; part += 1)
    await sound(bytes.subarray(0, Math.floor((bytes.length * part) / 40)), `a.${kind}`);
});

test.each(samples)('%s, with bytes changed', async (kind, bytes) => {
  const next = numbers(bytes.length);
  for (let round = 0; round < 30; round += 1) {
    const broken = Buffer.from(bytes);
    for (let change = 0; change < 1 + round / 3; change += 1)
      broken[Math.floor(next() * broken.length)] = Math.floor(next() * 256);
    await sound(broken, `a.${kind}`);
  }
});

test('every sample under every other name is read as what it is', async () => {
  for (const [kind, bytes] of samples) {
    const own = await convert(bytes, '').catch(() => null);
    for (const [other] of samples) {
      const named = await convert(bytes, `a.${other}`).catch(() => null);
      if (own !== null && own.charset === null) expect([kind, other, named?.kind]).toEqual([kind, other, own.kind]);
      else await sound(bytes, `a.${other}`);
    }
  }
});

test('an older spreadsheet that counts more properties than it can hold is read without them', async () => {
  const whole = Buffer.from(workbooks['a.xls'] as Uint8Array);
  // The set of what it says of itself begins with its own size and how many properties follow.
  const at = whole.indexOf(Buffer.from('e0859ff2f94f6810ab9108002b27b3d930000000', 'hex')) + 24;
  expect(whole.readUInt32LE(at)).toBeLessThan(10);
  for (const count of [0x7fff_ffff, 0x0700_0002]) {
    const broken = Buffer.from(whole);
    broken.writeUInt32LE(count, at);
    expect((await convert(broken, 'a.xls')).markdown).toContain('words');
  }
});

test('an older spreadsheet with bytes changed is read or refused, if need be by the cap on memory', async () => {
  const whole = workbooks['a.xls'] as Uint8Array;
  const next = numbers(whole.length);
  for (let round = 0; round < 40; round += 1) {
    const broken = Buffer.from(whole);
    for (let change = 0; change < 1 + round / 8; change += 1)
      broken[Math.floor(next() * broken.length)] = Math.floor(next() * 256);
    const error = await convert(broken, 'a.xls', { deadlineMs }).then(
      () => null,
      (reason: unknown) => reason,
    );
    if (error !== null)
      expect(error).toMatchObject({
        code: 'usage',
        fact: expect.stringMatching(/\S/),
        action: expect.stringMatching(/\S/),
      });
  }
});

test('twenty thousand tags, brackets and columns within each other do not end the program', async () => {
  await sound(Buffer.from('<div>'.repeat(20_000)), 'a.html');
  await sound(Buffer.from(`<?xml version="1.0"?>${'<a>'.repeat(20_000)}`), 'a.xml');
  await sound(Buffer.from('['.repeat(20_000)), 'a.json');
  await sound(Buffer.from(`{\\rtf1${'{\\b '.repeat(20_000)}`), 'a.rtf');
  await sound(Buffer.from(`${'a,'.repeat(20_000)}\n`), 'a.csv');
});

test('the program that read all of this still reads, and is no more than one', async () => {
  expect((await convert('words')).markdown).toBe('words');
  expect(processes().length).toBeLessThanOrEqual(1);
});
