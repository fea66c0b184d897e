/**
 * Owns passing a zip container to a library that unpacks on its own: entries are read here, where sizes and checksums are held to the caps, and
 * passed on uncompressed, so that nothing is left to unpack. Must not know what is in it.
 */
import { zipSync } from 'fflate';
import type { ZipReader } from '../../zip-reader.ts';

/** `wanted` says which entries the library needs; `replaced` stands in place of an entry's own content. */
export async function repack(
  zip: ZipReader,
  wanted: (name: string) => boolean,
  replaced: ReadonlyMap<string, Uint8Array> = new Map(),
): Promise<Uint8Array> {
  const files: Record<string, Uint8Array> = {};
  for (const entry of zip.entries) {
    if (entry.folder || !wanted(entry.name)) continue;
    files[entry.name] = replaced.get(entry.name) ?? (await zip.read(entry.name));
  }
  return zipSync(files, { level: 0 });
}
