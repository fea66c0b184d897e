/**
 * Header blocks of HTTP/2 (HPACK, RFC 7541), as far as a `CONNECT` request has any: writes them plainly, reads whatever another implementation may have
 * made of them. Names and values that cannot belong to such a request are read as empty. Must not know streams.
 */
import { BrokenProtocol } from './frames.ts';

type Header = readonly [name: string, value: string];

/** RFC 7541, appendix A: a CONNECT request can use only the first two of its 61 entries. */
const fixed: readonly Header[] = [
  [':authority', ''],
  [':method', 'GET'],
  ...Array.from({ length: 59 }, (): Header => ['', '']),
];
/** RFC 7541, 4.1: what an entry counts beyond its text. */
const entryBytes = 32;
/** The size that HTTP/2 begins with; no larger one is announced. */
const maxTable = 4096;

/** RFC 7541, appendix B: the symbols of each code length, in the order of their codes. Of those above 15 bits, none is in a name of ours. */
const symbols: readonly (readonly [bits: number, symbols: string])[] = [
  [5, '012aceiost'],
  [6, ' %-./3456789=A_bdfghlmnpru'],
  [7, ':BCDEFGHIJKLMNOPQRSTUVWYjkqvwxyz'],
  [8, '&*,;XZ'],
  [10, '!"()?'],
  [11, "'+|"],
  [12, '#>'],
  [13, '\0$@[]~'],
  [14, '^}'],
  [15, '<`{'],
];
const longestCode = 15;
const codes = createCodes();

function createCodes(): ReadonlyMap<number, string> {
  const made = new Map<number, string>();
  let code = 0;
  let before = 0;
  for (const [bits, alphabet] of symbols) {
    code <<= bits - before;
    before = bits;
    // A leading one tells codes of different lengths apart.
    for (const symbol of alphabet) made.set((1 << bits) | code++, symbol);
  }
  return made;
}

/** A request for a pipe to that side. */
export function connectBlock(authority: string): Buffer {
  // Literals without an index: the other side has nothing to remember.
  return Buffer.concat([literal(2, 'CONNECT'), literal(1, authority)]);
}

/** `:status` 200. */
export const acceptedBlock = Buffer.from([0x88]);

function literal(nameIndex: number, value: string): Buffer {
  const text = Buffer.from(value, 'latin1');
  return Buffer.concat([Buffer.from([nameIndex, text.length]), text]);
}

/** Reads the blocks of one connection in their order; each may refer to those before it. Throws on a block that is not one. */
export function createBlockReader(): (block: Buffer) => Map<string, string> {
  /** The newest first. */
  const table: Header[] = [];
  let size = 0;
  let limit = maxTable;

  function shrink(): void {
    while (size > limit) {
      const [name, value] = table.pop() as Header;
      size -= name.length + value.length + entryBytes;
    }
  }

  function entry(index: number): Header {
    const found = index <= fixed.length ? fixed[index - 1] : table[index - fixed.length - 1];
    if (found === undefined) throw new BrokenProtocol(`A header block refers to entry ${index}, which does not exist.`);
    return found;
  }

  return (block) => {
    const found = new Map<string, string>();
    const input = createInput(block);
    while (!input.done()) {
      const first = input.peek();
      if (first >= 0x80) {
        found.set(...entry(input.number(7)));
      } else if (first >= 0x20 && first < 0x40) {
        limit = input.number(5);
        if (limit > maxTable) throw new BrokenProtocol(`A header table of ${limit} bytes is larger than ${maxTable}.`);
        shrink();
      } else {
        const remembered = first >= 0x40;
        const index = input.number(remembered ? 6 : 4);
        const header: Header = [index === 0 ? input.text() : entry(index)[0], input.text()];
        found.set(...header);
        if (!remembered) continue;
        table.unshift(header);
        size += header[0].length + header[1].length + entryBytes;
        shrink();
      }
    }
    return found;
  };
}

function createInput(block: Buffer) {
  let at = 0;

  function byte(): number {
    const value = block[at];
    if (value === undefined) throw new BrokenProtocol('A header block ends too early.');
    at += 1;
    return value;
  }

  /** RFC 7541, 5.1. */
  function number(prefixBits: number): number {
    const most = (1 << prefixBits) - 1;
    let value = byte() & most;
    if (value < most) return value;
    for (let shift = 0; ; shift += 7) {
      const next = byte();
      if (shift > 21) throw new BrokenProtocol('A number in a header block is too large.');
      value += (next & 0x7f) << shift;
      if (next < 0x80) return value;
    }
  }

  return {
    done: () => at >= block.length,
    peek: () => block[at] as number,
    number,
    /** RFC 7541, 5.2. */
    text(): string {
      const packed = (block[at] ?? 0) >= 0x80;
      const length = number(7);
      const bytes = block.subarray(at, at + length);
      if (bytes.length < length) throw new BrokenProtocol('A header block ends too early.');
      at += length;
      return packed ? unpacked(bytes) : bytes.toString('latin1');
    },
  };
}

function unpacked(bytes: Buffer): string {
  let text = '';
  let code = 1;
  let bits = 0;
  for (const byte of bytes) {
    for (let bit = 7; bit >= 0; bit -= 1) {
      code = (code << 1) | ((byte >> bit) & 1);
      bits += 1;
      const symbol = codes.get(code);
      if (symbol !== undefined) {
        text += symbol;
        code = 1;
        bits = 0;
      } else if (bits > longestCode) return '';
    }
  }
  return text;
}
