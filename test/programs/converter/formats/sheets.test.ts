import { type BookType, utils, type WorkBook, write } from '@e965/xlsx';
import { describe, expect, it } from 'vitest';
import { compoundOf, converted, xmlHead, zipOf } from './documents.ts';

function book(): WorkBook {
  const sheet = utils.aoa_to_sheet([
    ['Name', 'When', 'Share', 'At'],
    ['a|b', 45356, 0.256, 0.5],
    ['two\nlines', 45356.5625, 1234.5, 45293],
    [],
    ['merged', '', true, ''],
  ]);
  Object.assign(sheet.B2 as object, { z: 'm/d/yy' });
  Object.assign(sheet.B3 as object, { z: 'dd/mm/yyyy hh:mm' });
  Object.assign(sheet.C2 as object, { z: '0.0%' });
  Object.assign(sheet.C3 as object, { z: '#,##0.00' });
  Object.assign(sheet.D2 as object, { z: 'h:mm' });
  Object.assign(sheet.D3 as object, { z: 'd-mmm-yy' });
  Object.assign(sheet.A2 as object, { l: { Target: 'https://example.org/x' } });
  sheet['!merges'] = [utils.decode_range('A5:B5')];
  utils.cell_add_comment(sheet.C2, 'why so little?', 'Ada');
  const made = utils.book_new();
  utils.book_append_sheet(made, sheet, 'First 6ff4');
  utils.book_append_sheet(made, utils.aoa_to_sheet([['secret']]), 'Second');
  made.Workbook = { Sheets: [{ Hidden: 0 }, { Hidden: 1 }] };
  made.Props = { Title: 'Figures', Author: 'Ada' };
  return made;
}

const bytes = (made: WorkBook, bookType: BookType) => new Uint8Array(write(made, { type: 'buffer', bookType }));

describe('a spreadsheet', () => {
  it.each(['xlsx', 'xlsb', 'biff8'] as const)(
    'keeps cells as shown, ISO dates, links and comments of %s',
    async (type) => {
      const result = await converted(bytes(book(), type));
      expect(result.markdown).toBe(
        '## First 6ff4\n\n| Name | When | Share | At |\n| --- | --- | --- | --- |\n| [a\\|b](https://example.org/x) | 2024-03-05 | 25.6% | 12:00 |\n' +
          '| two<br>lines | 2024-03-05 13:30 | 1,234.50 | 2024-01-02 |\n| merged |  | TRUE |  |\n\n### Comments:\n\n* C2: **Ada:** why so little?\n\n' +
          '## Second\n\n| secret |\n| --- |',
      );
      expect(result.metadata).toMatchObject({ title: 'Figures', author: 'Ada', sheets: ['First 6ff4', 'Second'] });
      expect(result.notes).toEqual(['The sheet "Second" is hidden in the file; it is given.']);
    },
  );

  it('reads OpenDocument sheets', async () => {
    const result = await converted(bytes(book(), 'ods'));
    expect(result.kind).toBe('ods');
    expect(result.markdown).toContain('## First 6ff4\n\n| Name | When | Share | At |');
    expect(result.markdown).toContain('| [a\\|b](https://example.org/x) | 2024-03-05 |');
    expect(result.markdown).toContain('C2: why so little?');
  });

  it('says how much of a long and of a wide sheet it gives', async () => {
    const long = utils.book_new();
    utils.book_append_sheet(long, utils.aoa_to_sheet(Array.from({ length: 10_500 }, (_, index) => [index])), 'Long');
    utils.book_append_sheet(long, utils.aoa_to_sheet([Array.from({ length: 300 }, (_, index) => index)]), 'Wide');
    const result = await converted(bytes(long, 'xlsx'));
    expect(result.notes).toEqual([
      'Sheet "Long": only the first 10000 of 10500 rows are given.',
      'Sheet "Wide": only the first 256 of 300 columns are given.',
    ]);
    expect(result.markdown).toContain('\n| 9999 |\n\n## Wide');
  });

  it('refuses broken, encrypted and exploding files with what to do', async () => {
    const whole = bytes(book(), 'xlsx');
    await expect(converted(whole.subarray(0, whole.length / 2))).rejects.toMatchObject({ code: 'damaged' });
    const old = bytes(book(), 'biff8');
    await expect(converted(old.subarray(0, 3000), { filename: 'a.xls' })).rejects.toMatchObject({
      fact: expect.any(String),
      action: expect.any(String),
    });
    const encrypted = compoundOf({ EncryptionInfo: new Uint8Array(10), EncryptedPackage: new Uint8Array(5000) });
    await expect(converted(encrypted, { filename: 'a.xlsx' })).rejects.toMatchObject({ code: 'encrypted' });
    const part =
      '<manifest:file-entry manifest:full-path="content.xml"><manifest:encryption-data/></manifest:file-entry>';
    const ods = zipOf({
      mimetype: 'application/vnd.oasis.opendocument.spreadsheet',
      'META-INF/manifest.xml': `${xmlHead}<manifest:manifest>${part}</manifest:manifest>`,
      'content.xml': new Uint8Array(100).fill(200),
    });
    await expect(converted(ods)).rejects.toMatchObject({ code: 'encrypted' });
    const bomb = zipOf({ 'xl/workbook.xml': `${xmlHead}<workbook/>`, 'xl/sharedStrings.xml': ' '.repeat(40_000_000) });
    await expect(converted(bomb)).rejects.toMatchObject({ code: 'too_large' });
  });

  it('gives numbers with all their digits, which a program shows in powers of ten only where a cell is narrow', async () => {
    const book = utils.book_new();
    const rows = [
      ['Code', 'n'],
      [4006381333931, 1],
      [123456789012345, 2],
      [123456789012.25, 3],
      [0.00000123, 4],
      [0.1 + 0.2, 5],
    ];
    utils.book_append_sheet(book, utils.aoa_to_sheet(rows), 'Sheet');
    for (const bookType of ['xlsx', 'biff8', 'ods'] as const) {
      const { markdown } = await converted(new Uint8Array(write(book, { type: 'buffer', bookType })), {
        filename: `a.${bookType}`,
      });
      for (const shown of ['4006381333931', '123456789012345', '123456789012.25', '0.00000123', '| 0.3 |'])
        expect([bookType, markdown]).toEqual([bookType, expect.stringContaining(shown)]);
    }
  });
});
