/** Finds a container's content type by the names in it: zip (office, e-books) and the compound files of older office programs and Outlook. */
import { ConvertFault, type Kind, type Sniffed } from './format.ts';
import { readZip } from './zip-reader.ts';

const binary = (kind: Kind, mimeType: string): Sniffed => ({ kind, mimeType, charset: null });
const office = 'application/vnd.openxmlformats-officedocument';
const openDocument = 'application/vnd.oasis.opendocument';

/** Throws `damaged` when the directory is missing, `unsupported` for office files that no format reads. */
export async function sniffZip(bytes: Uint8Array): Promise<Sniffed> {
  // Only its directory is read here, and the short entry that names the type.
  const zip = await readZip(bytes, { unpacked: () => {}, mustHaveTime: () => {} });
  if (zip.has('word/document.xml')) return binary('docx', `${office}.wordprocessingml.document`);
  if (zip.has('ppt/presentation.xml')) return binary('pptx', `${office}.presentationml.presentation`);
  if (zip.has('xl/workbook.xml')) return binary('xlsx', `${office}.spreadsheetml.sheet`);
  if (zip.has('xl/workbook.bin')) return binary('xlsx', 'application/vnd.ms-excel.sheet.binary.macroenabled.12');
  const small = zip.entries.find((entry) => entry.name === 'mimetype' && entry.size < 200);
  const said = small === undefined ? '' : ((await zip.readText('mimetype').catch(() => null)) ?? '').trim();
  if (said === 'application/epub+zip' || zip.has('META-INF/container.xml'))
    return binary('epub', 'application/epub+zip');
  if (said.startsWith(`${openDocument}.spreadsheet`)) return binary('ods', `${openDocument}.spreadsheet`);
  if (said.startsWith(`${openDocument}.text`)) return binary('odt', `${openDocument}.text`);
  if (said.startsWith(`${openDocument}.presentation`)) return binary('odp', `${openDocument}.presentation`);
  if (said.startsWith(openDocument))
    throw unsupported(`an OpenDocument file (${said})`, 'Save it as odt, odp, ods or pdf');
  return binary('zip', 'application/zip');
}

/** Throws `encrypted` for office files with a password, `unsupported` for doc and ppt, `damaged`. */
export function sniffCompound(bytes: Uint8Array): Sniffed {
  const names = compoundNames(bytes);
  if (names.has('EncryptedPackage') || names.has('EncryptionInfo')) {
    throw new ConvertFault(
      'encrypted',
      'The office document is encrypted.',
      'Save it without a password and give that.',
    );
  }
  if (names.has('Workbook') || names.has('Book')) return binary('xls', 'application/vnd.ms-excel');
  if ([...names].some((name) => name.startsWith('__properties_version1') || name.startsWith('__substg1.0_'))) {
    return binary('msg', 'application/vnd.ms-outlook');
  }
  if (names.has('WordDocument')) throw unsupported('a Word document from before 2007 (doc)', 'Save it as docx or pdf');
  if (names.has('PowerPoint Document'))
    throw unsupported('a PowerPoint file from before 2007 (ppt)', 'Save it as pptx or pdf');
  throw unsupported('a compound file that is neither xls nor msg', 'Save it as docx, xlsx, pptx or pdf');
}

const endOfChain = 0xfffffffa;

/** Names of the streams and storages, by [MS-CFB] 2.2 to 2.6. */
function compoundNames(bytes: Uint8Array): Set<string> {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const names = new Set<string>();
  try {
    const sectorSize = 1 << view.readUInt16LE(30);
    if (sectorSize !== 512 && sectorSize !== 4096) throw new RangeError('sector size');
    const entriesPerSector = sectorSize / 4;
    const next = (sector: number): number => {
      const table = Math.floor(sector / entriesPerSector);
      // The first 109 parts of the table cover 7 MB and more; a directory that lies later is followed as if it were contiguous.
      if (table >= 109) return sector + 1;
      const at = (view.readUInt32LE(76 + table * 4) + 1) * sectorSize + (sector % entriesPerSector) * 4;
      return view.readUInt32LE(at);
    };
    const seen = new Set<number>();
    for (let sector = view.readUInt32LE(48); sector < endOfChain && !seen.has(sector); sector = next(sector)) {
      seen.add(sector);
      const start = (sector + 1) * sectorSize;
      for (let at = start; at < start + sectorSize; at += 128) {
        const length = view.readUInt16LE(at + 64);
        if (length >= 2 && length <= 64) names.add(view.toString('utf16le', at, at + length - 2));
      }
    }
  } catch (cause) {
    // What was found before the cut may still say what it is.
    if (names.size === 0)
      throw new ConvertFault(
        'damaged',
        'The compound file is truncated or damaged.',
        'Get a complete copy of the file.',
        { cause },
      );
  }
  return names;
}

export function unsupported(what: string, instead: string): ConvertFault {
  return new ConvertFault('unsupported', `This is ${what}, which cannot be converted.`, `${instead}, and give that.`);
}
