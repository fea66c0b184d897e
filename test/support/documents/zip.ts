/** Writes zip archives for tests, honest ones and others. */
import { crc32, deflateRawSync } from 'node:zlib';

export interface ZipPart {
  readonly name: string;
  readonly content: Uint8Array | string;
  /** What the directory says of it instead of the truth. */
  readonly claims?: { readonly size?: number; readonly crc?: number };
  readonly encrypted?: boolean;
  readonly stored?: boolean;
}

export function makeZip(parts: readonly ZipPart[]): Buffer {
  const locals: Buffer[] = [];
  const directory: Buffer[] = [];
  // The same content many times is packed once: that is what takes time.
  const known = new Map<Uint8Array | string, Buffer>();
  let at = 0;
  for (const { name, content, claims = {}, encrypted = false, stored = false } of parts) {
    const bytes = Buffer.from(content as string);
    const packed = stored ? bytes : (known.get(content) ?? deflateRawSync(bytes));
    known.set(content, packed);
    const file = Buffer.from(name);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE((encrypted ? 1 : 0) | 0x800, 2);
    common.writeUInt16LE(stored ? 0 : 8, 4);
    common.writeUInt32LE(0x58210000, 6);
    common.writeUInt32LE(claims.crc ?? crc32(bytes), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(claims.size ?? bytes.length, 18);
    common.writeUInt16LE(file.length, 22);
    locals.push(Buffer.from('PK\u0003\u0004', 'latin1'), common, file, packed);
    const more = Buffer.alloc(14);
    more.writeUInt32LE(at, 10);
    directory.push(Buffer.from('PK\u0001\u0002\u0014\0', 'latin1'), common, more, file);
    at += 30 + file.length + packed.length;
  }
  const size = directory.reduce((sum, part) => sum + part.length, 0);
  const end = Buffer.alloc(22);
  end.write('PK\u0005\u0006', 'latin1');
  end.writeUInt16LE(parts.length, 8);
  end.writeUInt16LE(parts.length, 10);
  end.writeUInt32LE(size, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...locals, ...directory, end]);
}
