/**
 * Zip containers without trust: entries counted, names that lead out left out, and every byte that comes out is counted against
 * what one call may unpack, whatever the directory says. Nothing is written to disk. First users: archives and the office formats.
 */
import { promisify } from 'node:util';
import { crc32, inflateRaw } from 'node:zlib';
import { type Entry, fromBufferPromise, getFileNameLowLevel, validateFileName, type ZipFile } from 'yauzl';
import { type ConvertContext, ConvertFault, saidBy } from './format.ts';

export interface ZipEntry {
  /** With forward slashes; lies inside. */
  readonly name: string;
  readonly folder: boolean;
  /** As the directory says, bytes. */
  readonly size: number;
  readonly compressedSize: number;
  readonly encrypted: boolean;
}

export interface ZipReader {
  /** In the directory's order, without those in `refused`. */
  readonly entries: readonly ZipEntry[];
  /** Names that are absolute or lead out with `..`: never read. */
  readonly refused: readonly string[];
  has(name: string): boolean;
  /** Unpacked and checked. Throws `damaged` (also when there is no such entry), `encrypted`, `too_large`. */
  read(name: string): Promise<Uint8Array>;
  /** The same as text in UTF-8 or UTF-16 by its mark; null when there is no such entry. */
  readText(name: string): Promise<string | null>;
}

/** More are taken for an attack: the largest office files have a few thousand. */
const maxEntries = 10_000;
/** One entry beyond this is not what a person reads. Bytes. */
const largestEntry = 128 * 1024 * 1024;
/** Deflate reaches 1032 at most. Forms and sheets that repeat themselves come close, so only what is large in all is judged by it. */
const highestRatio = 200;
/** Bytes that come out: whatever their ratio, this many are read. */
const judgedFrom = 32 * 1024 * 1024;

const inflate = promisify(inflateRaw) as (data: Uint8Array, options: { maxOutputLength: number }) => Promise<Buffer>;

export async function readZip(
  bytes: Uint8Array,
  context: Pick<ConvertContext, 'unpacked' | 'mustHaveTime'>,
): Promise<ZipReader> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const { found, refused } = await directory(buffer);
  let out = 0;
  let packedIn = 0;

  async function read(name: string): Promise<Uint8Array> {
    context.mustHaveTime();
    const entry = found.get(name);
    if (entry === undefined) throw damaged(`it has no ${JSON.stringify(name)}`);
    const shown = JSON.stringify(name);
    if (entry.isEncrypted()) {
      throw new ConvertFault('encrypted', `${shown} is encrypted.`, 'Unpack it with its password first.');
    }
    if (entry.uncompressedSize > largestEntry) throw bomb(`${shown} unpacks to ${entry.uncompressedSize} bytes`);
    mustBeLikely(shown, entry.uncompressedSize, entry.compressedSize);
    mustBeLikely(
      `${shown} with what was read before it`,
      out + entry.uncompressedSize,
      packedIn + entry.compressedSize,
    );
    // Before it is unpacked: what the directory says is at most believed when it is too much.
    context.unpacked(entry.uncompressedSize);
    out += entry.uncompressedSize;
    packedIn += entry.compressedSize;
    const packed = await packedBytes(buffer, entry);
    const content =
      entry.compressionMethod === 0
        ? packed
        : await unpack(packed, entry.compressionMethod, entry.uncompressedSize, shown);
    if (content.length !== entry.uncompressedSize) throw damaged(`${shown} is shorter than its directory says`);
    if (crc32(content) !== entry.crc32) throw damaged(`${shown} does not match its checksum`);
    return content;
  }

  return {
    entries: [...found].map(([name, entry]) => ({
      name,
      folder: name.endsWith('/'),
      size: entry.uncompressedSize,
      compressedSize: entry.compressedSize,
      encrypted: entry.isEncrypted(),
    })),
    refused,
    has: (name) => found.has(name),
    read,
    async readText(name) {
      if (!found.has(name)) return null;
      const content = await read(name);
      const wide =
        content[0] === 0xff && content[1] === 0xfe
          ? 'utf-16le'
          : content[0] === 0xfe && content[1] === 0xff
            ? 'utf-16be'
            : 'utf-8';
      return new TextDecoder(wide).decode(content);
    },
  };
}

function mustBeLikely(shown: string, size: number, packed: number): void {
  if (size > judgedFrom && size > highestRatio * packed)
    throw bomb(`${shown} unpacks to ${Math.round(size / packed)} times its size`);
}

async function directory(buffer: Buffer): Promise<{ found: Map<string, Entry>; refused: string[] }> {
  const found = new Map<string, Entry>();
  const refused: string[] = [];
  let zip: ZipFile;
  try {
    // Names are read here: with the library's own check one bad name would hide all others.
    zip = await fromBufferPromise(buffer, { lazyEntries: true, decodeStrings: false, validateEntrySizes: true });
    if (zip.entryCount > maxEntries) throw bomb(`it has ${zip.entryCount} entries, and ${maxEntries} are read at most`);
    for await (const entry of zip.eachEntry()) {
      const raw = getFileNameLowLevel(entry.generalPurposeBitFlag, entry.fileNameRaw, entry.extraFields, false);
      const name = raw.replaceAll('\\', '/');
      if (validateFileName(name) !== null || name.includes('\0')) refused.push(name);
      // The first of two with one name: what a second one would hide is not shown by it.
      else if (!found.has(name)) found.set(name, entry);
      if (found.size + refused.length > maxEntries) throw bomb(`it has more than ${maxEntries} entries`);
    }
  } catch (cause) {
    if (cause instanceof ConvertFault) throw cause;
    throw damaged(saidBy(cause).slice(2).toLowerCase() || 'its directory cannot be read', cause);
  }
  return { found, refused };
}

/** The local header may be longer than the directory's entry: only it says where the data begins. */
async function packedBytes(buffer: Buffer, entry: Entry): Promise<Uint8Array> {
  const at = entry.relativeOffsetOfLocalHeader;
  if (at + 30 > buffer.length || buffer.readUInt32LE(at) !== 0x04034b50)
    throw damaged('an entry is not where its directory says');
  const start = at + 30 + buffer.readUInt16LE(at + 26) + buffer.readUInt16LE(at + 28);
  if (start + entry.compressedSize > buffer.length) throw damaged('an entry is cut');
  return buffer.subarray(start, start + entry.compressedSize);
}

async function unpack(packed: Uint8Array, method: number, size: number, shown: string): Promise<Uint8Array> {
  if (method !== 8) {
    throw new ConvertFault(
      'unsupported',
      `${shown} is packed by method ${method}.`,
      'Pack it again as a plain zip (deflate).',
    );
  }
  try {
    // One byte more than promised, so that more than promised is seen.
    return await inflate(packed, { maxOutputLength: size + 1 });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE')
      throw bomb(`${shown} unpacks to more than its directory says`);
    throw damaged(`${shown} cannot be unpacked`, cause);
  }
}

function damaged(why: string, cause?: unknown): ConvertFault {
  return new ConvertFault(
    'damaged',
    `The zip container is truncated or damaged: ${why}.`,
    'Get a complete copy of the file.',
    {
      cause,
    },
  );
}

function bomb(what: string): ConvertFault {
  return new ConvertFault(
    'too_large',
    `The zip container was not unpacked: ${what}.`,
    'Unpack it yourself and give the documents in it one by one.',
  );
}
