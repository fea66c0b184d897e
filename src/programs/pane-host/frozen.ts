/**
 * A headless terminal as bytes and back: buffers, modes, cursors and all else that its next byte may depend on. Exact where escape
 * sequences are not: scroll regions, saved cursors, tab stops, wrapped rows, the state of wide and combined characters.
 * It reads parts of the terminal that its public interface leaves out: the version is pinned, and tests cover each.
 */
import { deserialize, serialize } from 'node:v8';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { Terminal } from '@xterm/headless';
import type { RowMemory } from './row-memory.ts';

/** Whose memory this is. Another version's is not read: the pane is then drawn from what every terminal understands. */
export const frozenBy = '@xterm/headless 6.0.0';

interface Attributes {
  fg: number;
  bg: number;
  extended: Extended;
}
interface Extended {
  _ext: number;
  _urlId: number;
  clone(): Extended;
}
interface Line {
  _data: Uint32Array;
  _combined: Record<number, string>;
  _extendedAttrs: Record<number, Extended | undefined>;
  isWrapped: boolean;
  length: number;
}
interface Lines {
  length: number;
  get(index: number): Line;
  push(line: Line): void;
}
type Charset = Record<string, string> | undefined;
interface Buffer {
  lines: Lines;
  ydisp: number;
  ybase: number;
  x: number;
  y: number;
  scrollTop: number;
  scrollBottom: number;
  tabs: Record<number, boolean | undefined>;
  savedX: number;
  savedY: number;
  savedCurAttrData: Attributes;
  savedCharset: Charset;
  getBlankLine(attributes: Attributes): Line;
}
interface Core {
  readonly _bufferService: {
    readonly buffers: { normal: Buffer; alt: Buffer; active: Buffer; activateAltBuffer(): void };
  };
  readonly coreService: {
    isCursorInitialized: boolean;
    isCursorHidden: boolean;
    modes: object;
    decPrivateModes: object;
  };
  readonly coreMouseService: { activeProtocol: string; activeEncoding: string };
  readonly _charsetService: { charset: Charset; glevel: number; _charsets: Charset[] };
  readonly _oscLinkService: { _nextId: number };
  readonly optionsService: { options: { convertEol: boolean; cursorBlink: boolean } };
  readonly _inputHandler: {
    _curAttrData: Attributes;
    _windowTitle: string;
    _iconName: string;
    _windowTitleStack: string[];
    _iconNameStack: string[];
    readonly _parser: { precedingJoinState: number; currentState: number };
  };
}

const coreOf = (terminal: Terminal): Core => (terminal as unknown as { _core: Core })._core;
const wordsOfCell = 3;

/** Null where what was parsed of an unfinished sequence cannot be told from its bytes: the terminal then stays as it is. */
export function freezeTerminal(
  terminal: Terminal,
  recent: Uint8Array,
  held: Uint8Array,
  more: object,
): Uint8Array | null {
  const core = coreOf(terminal);
  const tail = core._inputHandler._parser.currentState === 0 ? held : openSequence(recent);
  if (tail === null) return null;
  const { buffers } = core._bufferService;
  const { _inputHandler: input, coreService, coreMouseService, _charsetService: charsets } = core;
  const state = {
    by: frozenBy,
    more,
    tail,
    alternate: buffers.active === buffers.alt,
    normal: packBuffer(buffers.normal),
    alt: packBuffer(buffers.alt),
    attributes: packAttributes(input._curAttrData),
    titles: {
      title: input._windowTitle,
      icon: input._iconName,
      titleStack: input._windowTitleStack,
      iconStack: input._iconNameStack,
    },
    join: input._parser.precedingJoinState,
    cursor: { initialized: coreService.isCursorInitialized, hidden: coreService.isCursorHidden },
    modes: coreService.modes,
    privateModes: coreService.decPrivateModes,
    mouse: { protocol: coreMouseService.activeProtocol, encoding: coreMouseService.activeEncoding },
    charsets: { glevel: charsets.glevel, list: charsets._charsets, now: charsets.charset },
    options: {
      convertEol: core.optionsService.options.convertEol,
      cursorBlink: core.optionsService.options.cursorBlink,
    },
    nextLink: core._oscLinkService._nextId,
  };
  return gzipSync(serialize(state), { level: 1 });
}

type Frozen = {
  by: string;
  more: object;
  tail: Uint8Array;
  alternate: boolean;
  normal: PackedBuffer;
  alt: PackedBuffer;
  attributes: PackedAttributes;
  titles: { title: string; icon: string; titleStack: string[]; iconStack: string[] };
  join: number;
  cursor: { initialized: boolean; hidden: boolean };
  modes: object;
  privateModes: object;
  mouse: { protocol: string; encoding: string };
  charsets: { glevel: number; list: Charset[]; now: Charset };
  options: { convertEol: boolean; cursorBlink: boolean };
  nextLink: number;
};

/** Into a new terminal of the same size. Answers `more` and the bytes to parse first. Throws where the bytes are not whole. */
export function thawTerminal(
  terminal: Terminal,
  frozen: Uint8Array,
  memory: RowMemory,
): { more: object; tail: Uint8Array } {
  const state = deserialize(gunzipSync(frozen)) as Frozen;
  if (state.by !== frozenBy) throw new Error(`it was kept by ${state.by}, and this is ${frozenBy}`);
  const core = coreOf(terminal);
  const { buffers } = core._bufferService;
  const { _inputHandler: input, coreService, _charsetService: charsets } = core;
  // The switch itself, so that all parts of the terminal follow it; it moves cursors, which are put right after it.
  if (state.alternate) buffers.activateAltBuffer();
  unpackBuffer(buffers.normal, state.normal, memory);
  unpackBuffer(buffers.alt, state.alt, memory);
  unpackAttributes(input._curAttrData, state.attributes);
  input._windowTitle = state.titles.title;
  input._iconName = state.titles.icon;
  input._windowTitleStack = state.titles.titleStack;
  input._iconNameStack = state.titles.iconStack;
  input._parser.precedingJoinState = state.join;
  coreService.isCursorInitialized = state.cursor.initialized;
  coreService.isCursorHidden = state.cursor.hidden;
  coreService.modes = state.modes;
  coreService.decPrivateModes = state.privateModes;
  core.coreMouseService.activeProtocol = state.mouse.protocol;
  core.coreMouseService.activeEncoding = state.mouse.encoding;
  charsets.glevel = state.charsets.glevel;
  charsets._charsets = state.charsets.list;
  charsets.charset = state.charsets.now;
  core.optionsService.options.convertEol = state.options.convertEol;
  core.optionsService.options.cursorBlink = state.options.cursorBlink;
  core._oscLinkService._nextId = state.nextLink;
  return { more: state.more, tail: state.tail };
}

/** The last bytes of `recent`, which the parser has begun as a sequence and not ended; null when they cannot be told for certain. */
function openSequence(recent: Uint8Array): Uint8Array | null {
  const begin = recent.lastIndexOf(0x1b);
  if (begin < 0) return null;
  for (let at = begin + 1; at < recent.length; at++) {
    const byte = recent[at]!;
    // A control is acted on inside a sequence, and one of eight bits begins another.
    if (byte < 0x20 || (byte === 0xc2 && (recent[at + 1] ?? 0) < 0xa0)) return null;
  }
  return recent.slice(begin);
}

interface PackedAttributes {
  fg: number;
  bg: number;
  ext: number;
  link: number;
}
function packAttributes({ fg, bg, extended }: Attributes): PackedAttributes {
  return { fg, bg, ext: extended._ext, link: extended._urlId };
}
function unpackAttributes(into: Attributes, { fg, bg, ext, link }: PackedAttributes): void {
  into.fg = fg;
  into.bg = bg;
  into.extended = into.extended.clone();
  into.extended._ext = ext;
  into.extended._urlId = link;
}

interface PackedBuffer {
  /** Of each line. */
  lengths: Uint16Array;
  wrapped: Uint8Array;
  /** All first words of the cells, all second ones, all third ones: neighbours are then alike, and pack well. */
  cells: Uint32Array;
  combined: [line: number, texts: Record<number, string>][];
  extended: [line: number, cells: [column: number, ext: number, link: number][]][];
  place: Pick<Buffer, 'ydisp' | 'ybase' | 'x' | 'y' | 'scrollTop' | 'scrollBottom' | 'savedX' | 'savedY'>;
  tabs: Record<number, boolean | undefined>;
  savedAttributes: PackedAttributes;
  savedCharset: Charset;
}

function packBuffer(buffer: Buffer): PackedBuffer {
  const { lines } = buffer;
  const lengths = new Uint16Array(lines.length);
  const wrapped = new Uint8Array(lines.length);
  const combined: PackedBuffer['combined'] = [];
  const extended: PackedBuffer['extended'] = [];
  let total = 0;
  for (let y = 0; y < lines.length; y++) {
    const line = lines.get(y);
    lengths[y] = line.length;
    wrapped[y] = line.isWrapped ? 1 : 0;
    total += line.length;
    if (Object.keys(line._combined).length > 0) combined.push([y, line._combined]);
    const own = Object.entries(line._extendedAttrs).flatMap(([column, of]) =>
      of ? [[Number(column), of._ext, of._urlId] as [number, number, number]] : [],
    );
    if (own.length > 0) extended.push([y, own]);
  }
  const cells = new Uint32Array(total * wordsOfCell);
  let at = 0;
  for (let y = 0; y < lines.length; y++) {
    const { _data: data, length } = lines.get(y);
    for (let x = 0; x < length; x++, at++) {
      cells[at] = data[x * wordsOfCell]!;
      cells[total + at] = data[x * wordsOfCell + 1]!;
      cells[total * 2 + at] = data[x * wordsOfCell + 2]!;
    }
  }
  const { ydisp, ybase, x, y, scrollTop, scrollBottom, savedX, savedY } = buffer;
  return {
    lengths,
    wrapped,
    cells,
    combined,
    extended,
    place: { ydisp, ybase, x, y, scrollTop, scrollBottom, savedX, savedY },
    tabs: buffer.tabs,
    savedAttributes: packAttributes(buffer.savedCurAttrData),
    savedCharset: buffer.savedCharset,
  };
}

function unpackBuffer(buffer: Buffer, packed: PackedBuffer, memory: RowMemory): void {
  const { lengths, wrapped, cells } = packed;
  unpackAttributes(buffer.savedCurAttrData, packed.savedAttributes);
  const sample = buffer.getBlankLine(buffer.savedCurAttrData);
  const newLine = sample.constructor as new (columns: number) => Line;
  const total = cells.length / wordsOfCell;
  const { lines } = buffer;
  lines.length = 0;
  let at = 0;
  for (let y = 0; y < lengths.length; y++) {
    const line = new newLine(0);
    const length = lengths[y]!;
    const data = memory.take(length * wordsOfCell);
    for (let x = 0; x < length; x++, at++) {
      data[x * wordsOfCell] = cells[at]!;
      data[x * wordsOfCell + 1] = cells[total + at]!;
      data[x * wordsOfCell + 2] = cells[total * 2 + at]!;
    }
    line._data = data;
    line.length = length;
    line.isWrapped = wrapped[y] === 1;
    lines.push(line);
  }
  for (const [y, texts] of packed.combined) lines.get(y)._combined = texts;
  for (const [y, own] of packed.extended) {
    const line = lines.get(y);
    for (const [column, ext, link] of own) {
      const of = buffer.savedCurAttrData.extended.clone();
      of._ext = ext;
      of._urlId = link;
      line._extendedAttrs[column] = of;
    }
  }
  Object.assign(buffer, packed.place);
  buffer.tabs = packed.tabs;
  buffer.savedCharset = packed.savedCharset;
}
