/** Writes PDFs for tests: text at places, links, an outline, form fields, files; nothing that is not needed to read one back. */

export interface PdfText {
  readonly text: string;
  readonly x: number;
  /** From the top of the page. */
  readonly y: number;
  readonly size?: number;
}

export interface PdfPage {
  readonly texts: readonly PdfText[];
  readonly links?: readonly { readonly url: string; readonly rect: readonly [number, number, number, number] }[];
  /** A picture and no text: what a scanner makes. */
  readonly scan?: boolean;
}

export interface PdfOptions {
  readonly info?: Readonly<Record<string, string>>;
  /** Titles of an outline, one level. */
  readonly outline?: readonly string[];
}

const height = 842;
const width = 595;

/** Helvetica, A4, WinAnsi text. */
export function makePdf(pages: readonly PdfPage[], options: PdfOptions = {}): Buffer {
  const objects: string[] = [];
  const add = (body: string): number => objects.push(body);
  const literal = (text: string): string => `(${text.replace(/[\\()]/g, '\\$&')})`;
  const catalog = add('');
  const tree = add('');
  const font = add('<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>');
  const image = add(
    streamOf('\u0080', '/Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8'),
  );
  const kids = pages.map((page) => {
    const shown = page.texts.map(
      ({ text, x, y, size = 11 }) => `BT /F1 ${size} Tf 1 0 0 1 ${x} ${height - y} Tm ${literal(text)} Tj ET`,
    );
    const content = add(
      streamOf([...shown, ...(page.scan ? [`q ${width} 0 0 ${height} 0 0 cm /Im1 Do Q`] : [])].join('\n')),
    );
    const annotations = (page.links ?? []).map(({ url, rect: [x1, y1, x2, y2] }) =>
      add(
        `<< /Type /Annot /Subtype /Link /Rect [${x1} ${height - y2} ${x2} ${height - y1}] /A << /S /URI /URI ${literal(url)} >> >>`,
      ),
    );
    return add(
      `<< /Type /Page /Parent ${tree} 0 R /MediaBox [0 0 ${width} ${height}] /Resources << /Font << /F1 ${font} 0 R >> /XObject << /Im1 ${image} 0 R >> >> /Contents ${content} 0 R /Annots [${annotations.map((id) => `${id} 0 R`).join(' ')}] >>`,
    );
  });
  let outlines = '';
  if (options.outline !== undefined) {
    const root = objects.length + 1;
    const [first, last] = [root + 1, root + options.outline.length];
    add(`<< /Type /Outlines /First ${first} 0 R /Last ${last} 0 R /Count ${options.outline.length} >>`);
    for (const [index, title] of options.outline.entries()) {
      const next = index + 1 < options.outline.length ? `/Next ${first + index + 1} 0 R` : '';
      add(`<< /Title ${literal(title)} /Parent ${root} 0 R ${next} /Dest [${kids[0]} 0 R /Fit] >>`);
    }
    outlines = `/Outlines ${root} 0 R`;
  }
  const info = add(
    `<< ${Object.entries(options.info ?? {})
      .map(([name, value]) => `/${name} ${literal(value)}`)
      .join(' ')} >>`,
  );
  objects[catalog - 1] = `<< /Type /Catalog /Pages ${tree} 0 R ${outlines} >>`;
  objects[tree - 1] = `<< /Type /Pages /Count ${kids.length} /Kids [${kids.map((id) => `${id} 0 R`).join(' ')}] >>`;
  return assembled(objects, `/Root ${catalog} 0 R /Info ${info} 0 R`);
}

function streamOf(content: string, more = ''): string {
  return `<< /Length ${Buffer.byteLength(content, 'latin1')} ${more} >>\nstream\n${content}\nendstream`;
}

/** `trailer`: what it says beside the size. */
export function assembled(objects: readonly string[], trailer: string): Buffer {
  const parts = ['%PDF-1.4\n%\u00e2\u00e3\u00cf\u00d3\n'];
  const offsets: number[] = [];
  let at = (parts[0] as string).length;
  for (const [index, body] of objects.entries()) {
    offsets.push(at);
    const part = `${index + 1} 0 obj\n${body}\nendobj\n`;
    parts.push(part);
    at += part.length;
  }
  const table = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('');
  parts.push(
    `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${table}trailer\n<< /Size ${objects.length + 1} ${trailer} >>\nstartxref\n${at}\n%%EOF\n`,
  );
  return Buffer.from(parts.join(''), 'latin1');
}

/** Three characters of a font that is not in the file and only names its encoding: what they are stands in tables beside the program. */
export function japanesePdf(): Buffer {
  const content = 'BT /F1 20 Tf 60 700 Td <65E5672C8A9E> Tj ET';
  return assembled(
    [
      '<< /Type /Catalog /Pages 2 0 R >>',
      '<< /Type /Pages /Count 1 /Kids [3 0 R] >>',
      '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 5 0 R >> >> /Contents 4 0 R >>',
      `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
      '<< /Type /Font /Subtype /Type0 /BaseFont /HeiseiMin-W3 /Encoding /UniJIS-UCS2-H /DescendantFonts [6 0 R] >>',
      '<< /Type /Font /Subtype /CIDFontType0 /BaseFont /HeiseiMin-W3 /CIDSystemInfo << /Registry (Adobe) /Ordering (Japan1) /Supplement 2 >> /FontDescriptor 7 0 R >>',
      '<< /Type /FontDescriptor /FontName /HeiseiMin-W3 /Flags 4 /FontBBox [0 0 1000 1000] /ItalicAngle 0 /Ascent 800 /Descent -200 /StemV 80 >>',
    ],
    '/Root 1 0 R',
  );
}

/** A report of so many pages, as dense as a printed one: header, footer, headings, paragraphs, a table. */
export function makeReport(pages: number): Buffer {
  const words =
    'the quick brown fox of the report measures what it says and says what it measures before anybody asks'.split(' ');
  const line = (seed: number): string =>
    Array.from({ length: 14 }, (_, index) => words[(seed * 7 + index * 3) % words.length]).join(' ');
  return makePdf(
    Array.from({ length: pages }, (_, page) => {
      const texts: PdfText[] = [
        { text: 'Report of the year', x: 60, y: 40, size: 9 },
        { text: `Page ${page + 1} of ${pages}`, x: 260, y: 815, size: 9 },
        { text: `Chapter ${page + 1}: what was measured`, x: 60, y: 90, size: 18 },
      ];
      for (let at = 0; at < 38; at += 1)
        texts.push({
          text: `${line(page * 38 + at)}${at % 6 === 5 ? '.' : ''}`,
          x: 60,
          y: 120 + at * 14 + Math.floor(at / 6) * 8,
          size: 10,
        });
      for (let row = 0; row < 6; row += 1) {
        for (let column = 0; column < 4; column += 1) {
          texts.push({
            text: row === 0 ? `Column ${column + 1}` : `${page}.${row * column}`,
            x: 60 + column * 120,
            y: 720 + row * 14,
            size: 10,
          });
        }
      }
      return { texts };
    }),
    { info: { Title: 'Report of the year', Author: 'The measurer' } },
  );
}
