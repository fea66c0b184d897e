/** Owns unpacking the RTF that Outlook keeps a body in ([MS-OXRTFCP] 3.1.3). Must not know what RTF is. */
import { ConvertFault } from '../../format.ts';

/** What every window begins with, by the specification. */
const prefilled =
  '{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript \\fdecor MS Sans SerifSymbolArialTimes New ' +
  'RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par \\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx';
const windowSize = 4096;
const compressed = 0x75465a4c;
const stored = 0x414c454d;

/** Of more than this nobody writes a mail. Bytes. */
const largest = 32 * 1024 * 1024;

/** Throws `damaged`. Output never grows beyond 16 bytes for each 2 of input, nor beyond a cap. */
export function unpackRtf(bytes: Uint8Array): Uint8Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 16) throw damaged();
  const size = Math.min(view.getUint32(4, true), largest);
  const kind = view.getUint32(8, true);
  if (kind === stored) return bytes.subarray(16, 16 + size);
  if (kind !== compressed) throw damaged();
  const window = new Uint8Array(windowSize);
  window.set(new TextEncoder().encode(prefilled));
  let write = prefilled.length;
  const made: number[] = [];
  const put = (byte: number) => {
    made.push(byte);
    window[write] = byte;
    write = (write + 1) % windowSize;
  };
  let at = 16;
  while (at < bytes.length && made.length < size) {
    const control = bytes[at] as number;
    at += 1;
    for (let bit = 0; bit < 8 && made.length < size; bit += 1) {
      if ((control & (1 << bit)) === 0) {
        if (at >= bytes.length) return Uint8Array.from(made);
        put(bytes[at] as number);
        at += 1;
        continue;
      }
      if (at + 1 >= bytes.length) return Uint8Array.from(made);
      const reference = view.getUint16(at, false);
      at += 2;
      const from = reference >> 4;
      // A reference to where the next byte goes ends the data.
      if (from === write) return Uint8Array.from(made);
      for (let index = 0; index < (reference & 0xf) + 2; index += 1) put(window[(from + index) % windowSize] as number);
    }
  }
  return Uint8Array.from(made);
}

function damaged(): ConvertFault {
  return new ConvertFault('damaged', 'The rich text of the mail is truncated or damaged.', 'Export the mail again.');
}
