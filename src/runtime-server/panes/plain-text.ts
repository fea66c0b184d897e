/** Plain text out of a pane's journal: no escape sequences, no control characters but newline and tab. Pure. */

interface Plain {
  readonly text: string;
  /** Bytes that were used; the others begin something that is still incomplete. */
  readonly used: number;
  /** Whether the last line is empty: pass it with the bytes that follow. */
  readonly lineStart: boolean;
}

const esc = 0x1b;
const bel = 0x07;
/** The longest unfinished sequence that is waited for; a longer one is taken for noise and its start dropped. Bytes. */
const maxPendingLength = 4096;

/**
 * `final`: nothing follows, so an unfinished rest is dropped as well. A line ends at LF; CR before it goes; a CR without LF (a redrawn line) ends a
 * line too, unless that line is empty.
 */
export function plainText(bytes: Uint8Array, final: boolean, lineStart = true): Plain {
  const out: number[] = [];
  let at = 0;
  let empty = lineStart;
  while (at < bytes.length) {
    const end = unitEnd(bytes, at);
    if (end === null) {
      if (!final && bytes.length - at <= maxPendingLength) break;
      at = final ? bytes.length : at + 1;
      continue;
    }
    keep(bytes, at, end, out, empty);
    empty = out.length === 0 ? lineStart : out.at(-1) === 0x0a;
    at = end;
  }
  return { text: stripC1(Buffer.from(out).toString('utf8')), used: at, lineStart: empty };
}

/** C1 controls come as two bytes in UTF-8, so they are taken out of the text. */
function stripC1(text: string): string {
  return text.replace(/[\u0080-\u009f]/g, '');
}

function keep(bytes: Uint8Array, from: number, to: number, out: number[], lineStart: boolean): void {
  const first = bytes[from] ?? 0;
  if (first === esc) return;
  if (first === 0x0d) {
    // Shells return to the begin of a line before they draw it: that ends no line.
    if (bytes[to - 1] === 0x0a || !lineStart) out.push(0x0a);
    return;
  }
  if ((first < 0x20 && first !== 0x0a && first !== 0x09) || first === 0x7f) return;
  for (let index = from; index < to; index += 1) out.push(bytes[index] ?? 0);
}

/** End of the character or sequence that begins at `at`; null when it is not all there. */
function unitEnd(bytes: Uint8Array, at: number): number | null {
  const first = bytes[at] ?? 0;
  if (first === esc) return sequenceEnd(bytes, at);
  if (first === 0x0d) return returnEnd(bytes, at);
  const length = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  for (let index = at + 1; index < at + length; index += 1) {
    const next = bytes[index];
    if (next === undefined) return null;
    // Not UTF-8: the first byte counts separately.
    if ((next & 0xc0) !== 0x80) return index;
  }
  return at + length;
}

/** CRs in a row and the LF after them are one line end. */
function returnEnd(bytes: Uint8Array, at: number): number | null {
  let end = at + 1;
  while (bytes[end] === 0x0d) end += 1;
  if (bytes[end] === undefined) return null;
  return bytes[end] === 0x0a ? end + 1 : end;
}

function sequenceEnd(bytes: Uint8Array, at: number): number | null {
  const kind = bytes[at + 1];
  if (kind === undefined) return null;
  if (kind === 0x5b) return csiEnd(bytes, at + 2);
  // OSC ], DCS P, SOS X, PM ^, APC _ run until ST or BEL.
  if ([0x5d, 0x50, 0x58, 0x5e, 0x5f].includes(kind)) return stringEnd(bytes, at + 2);
  let end = at + 1;
  while ((bytes[end] ?? 0) >= 0x20 && (bytes[end] ?? 0) <= 0x2f) end += 1;
  return bytes[end] === undefined ? null : end + 1;
}

function csiEnd(bytes: Uint8Array, from: number): number | null {
  for (let index = from; index < bytes.length; index += 1) {
    const byte = bytes[index] ?? 0;
    if (byte >= 0x40 && byte <= 0x7e) return index + 1;
    if (byte < 0x20 || byte > 0x7e) return index;
  }
  return null;
}

function stringEnd(bytes: Uint8Array, from: number): number | null {
  for (let index = from; index < bytes.length; index += 1) {
    if (bytes[index] === bel) return index + 1;
    if (bytes[index] === esc) {
      if (bytes[index + 1] === undefined) return null;
      return bytes[index + 1] === 0x5c ? index + 2 : index;
    }
  }
  return null;
}
