/** Text in pictures, by the real program with its few rights: off until it is turned on, and nothing fetched. */
import { readFileSync } from 'node:fs';
import { afterAll, expect, test } from 'vitest';
import { startConverter } from '../../support/documents/converter.ts';
import { assembled } from '../../support/documents/pdf.ts';

const off = startConverter();
const on = startConverter(undefined, { ocr: true });
afterAll(() => Promise.all([off.close(), on.close()]));

const picture = readFileSync(new URL('../../support/documents/scan.png', import.meta.url));
const said = ['Invoice number 4711', 'Two espresso and one muffin, paid in cash on Monday.', 'Total 12.21'];

/** A page that is this picture, as scanners make it: the packed lines of a PNG are those of a PDF. */
function scanOf(png: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at);
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT') parts.push(png.subarray(at + 8, at + 8 + length));
    at += length + 12;
  }
  const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)];
  const data = Buffer.concat(parts).toString('latin1');
  const content = `q ${width} 0 0 ${height} 0 0 cm /Im1 Do Q`;
  return assembled(
    [
      '<< /Type /Catalog /Pages 2 0 R >>',
      '<< /Type /Pages /Count 1 /Kids [3 0 R] >>',
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${width} ${height}] /Resources << /XObject << /Im1 5 0 R >> >> /Contents 4 0 R >>`,
      `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
      `<< /Type /XObject /Subtype /Image /Width ${width} /Height ${height} /ColorSpace /DeviceRGB /BitsPerComponent 8 /Filter /FlateDecode /DecodeParms << /Predictor 15 /Colors 3 /BitsPerComponent 8 /Columns ${width} >> /Length ${data.length} >>\nstream\n${data}\nendstream`,
    ],
    '/Root 1 0 R',
  );
}

test.each([
  ['a picture', picture, 'scan.png'],
  ['a scan in a PDF', scanOf(picture), 'scan.pdf'],
])('%s is read where text recognition is on, and says what is missing where it is off', async (_, bytes, name) => {
  const found = await on.convert(bytes, name);
  for (const line of said) expect(found.markdown).toContain(line);
  expect(found.notes.join()).toMatch(/recognised.*may have errors/);
  const without = await off.convert(bytes, name);
  expect(without.markdown).not.toContain('Invoice');
  expect(without.notes.join()).toMatch(/not read|not recognised/);
});

test('a picture that is none ends nothing', async () => {
  const cut = picture.subarray(0, 3000);
  expect((await on.convert(cut, 'cut.png')).markdown).toContain('720x220');
  expect((await on.convert(picture, 'scan.png')).markdown).toContain('4711');
});
