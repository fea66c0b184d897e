/**
 * One conversion: looks at the bytes, finds the format, calls it, and counts what nested documents use together. Must not know processes or tools.
 */
import { decode } from './charset.ts';
import {
  type ConvertContext,
  type Converted,
  ConvertFault,
  type Family,
  type Kind,
  type MetadataValue,
  saidBy,
} from './format.ts';
import { formats } from './formats/index.ts';
import { deepest, maxInner, maxMarkdownLength, maxMetadataLength, maxNotes, maxUnpacked } from './limits.ts';
import { openRecognizer, type Recognize } from './ocr.ts';
import type { Step } from './protocol.ts';
import { claimedKind, sniff } from './sniff.ts';

export interface ConvertRequest {
  readonly filename: string;
  readonly mimeType: string;
  /** Only documents of this family; null for all. */
  readonly family: Family | null;
  readonly deadlineMs: number;
  /** Text in pictures is recognised; off without it. */
  readonly ocr?: boolean;
  /** Told how far the document is, where its format knows. */
  readonly onStep?: ((step: Step) => void) | undefined;
}

export interface Conversion extends Converted {
  readonly kind: Kind;
  readonly family: Family;
  readonly mimeType: string;
  readonly charset: string | null;
}

/** Milliseconds that only grow. */
type Clock = () => number;

/** Of the whole time: what is left is for all else. */
const shareOfOcr = 0.7;

interface Budget {
  readonly until: number;
  /** Until when pictures are read; null: not at all. */
  readonly ocrUntil: number | null;
  recognize: Promise<Recognize> | null;
  unpacked: number;
  inner: number;
  /** Characters that documents inside have given. */
  written: number;
}

/** Throws {@link ConvertFault}; whatever else a format throws becomes `damaged`. */
export async function convert(bytes: Uint8Array, request: ConvertRequest, now: Clock): Promise<Conversion> {
  const begun = now();
  const budget: Budget = {
    until: begun + request.deadlineMs,
    ocrUntil: request.ocr === true ? begun + request.deadlineMs * shareOfOcr : null,
    recognize: null,
    unpacked: 0,
    inner: 0,
    written: 0,
  };
  return bounded(await convertAt(bytes, request, budget, 0, now));
}

async function convertAt(
  bytes: Uint8Array,
  request: Pick<ConvertRequest, 'filename' | 'mimeType' | 'family' | 'onStep'>,
  budget: Budget,
  depth: number,
  now: Clock,
): Promise<Conversion> {
  const sniffed = await sniff(bytes, request);
  const { kind, mimeType, charset } = sniffed;
  const entry = formats[kind];
  if (entry === undefined)
    throw new ConvertFault(
      'unsupported',
      `Documents of kind ${kind} are not converted.`,
      'Save it as pdf, docx, html or text.',
    );
  if (request.family !== null && request.family !== entry.family) throw otherFamily(kind, entry.family, request.family);

  const mustHaveTime = (): void => {
    if (now() > budget.until) throw tooLong();
  };
  const context: ConvertContext = {
    filename: request.filename,
    mimeType: request.mimeType,
    sniffed,
    text: () => decode(bytes, charset ?? 'utf-8'),
    mustHaveTime,
    step: (done, total, unit) => request.onStep?.({ done, total, unit }),
    ocr: budget.ocrUntil !== null,
    async recognize(picture) {
      mustHaveTime();
      if (budget.ocrUntil === null || now() > budget.ocrUntil) return null;
      budget.recognize ??= openRecognizer();
      return (await budget.recognize)(picture);
    },
    unpacked: (more) => {
      budget.unpacked += more;
      if (budget.unpacked > maxUnpacked) throw tooMuch(`it unpacks to more than ${maxUnpacked} bytes`);
    },
    async convertInner(document) {
      mustHaveTime();
      if (depth >= deepest) throw tooMuch(`it is nested more than ${deepest} documents deep`);
      budget.inner += 1;
      if (budget.inner > maxInner) throw tooMuch(`this one contains more than ${maxInner} documents`);
      const room = maxMarkdownLength - budget.written;
      if (room <= 0) throw tooMuch(`the text before it already has ${maxMarkdownLength} characters`);
      const inner = { filename: document.filename, mimeType: document.mimeType ?? '', family: null };
      const found = await convertAt(document.bytes, inner, budget, depth + 1, now);
      // What lies in it was counted when it was written.
      if (found.family !== 'archive') budget.written += found.markdown.length;
      if (found.markdown.length <= room) return found;
      const notes = [...found.notes, `It was cut: ${room} of ${found.markdown.length} characters are here.`];
      return { ...found, markdown: found.markdown.slice(0, room), notes };
    },
  };
  const converted = await readBy(entry.load, bytes, context, kind);
  const notes = [...converted.notes];
  const claimed = claimedKind(request.filename);
  const claimedFamily = claimed === null ? undefined : formats[claimed]?.family;
  if (claimedFamily !== undefined && claimedFamily !== entry.family) {
    notes.unshift(
      `The name ${JSON.stringify(request.filename.slice(-100))} says ${claimed}, the content is ${kind}: it was read as ${kind}.`,
    );
  }
  if (sniffed.guessed)
    notes.push(`No encoding is given; ${charset} was guessed. Give mimeType with a charset to choose another.`);
  if (entry.family === 'data' && charset !== null && converted.markdown.includes('\uFFFD')) {
    notes.push(`Some bytes are not characters in ${charset}; they appear as \uFFFD.`);
  }
  return { ...converted, notes, kind, family: entry.family, mimeType, charset };
}

async function readBy(
  load: () => Promise<{ convert: (bytes: Uint8Array, context: ConvertContext) => Promise<Converted> }>,
  bytes: Uint8Array,
  context: ConvertContext,
  kind: Kind,
): Promise<Converted> {
  const format = await load();
  try {
    return await format.convert(bytes, context);
  } catch (cause) {
    if (cause instanceof ConvertFault) throw cause;
    throw new ConvertFault(
      'damaged',
      `This ${kind} could not be read${saidBy(cause)}.`,
      'It is truncated, damaged or unusual: get it again, or save it again in its program.',
      { cause },
    );
  }
}

/** What goes out is bounded, and says so where it was cut. */
function bounded(conversion: Conversion): Conversion {
  const notes = [...conversion.notes];
  let { markdown } = conversion;
  if (markdown.length > maxMarkdownLength) {
    notes.unshift(`The Markdown was cut: ${maxMarkdownLength} of ${markdown.length} characters are here.`);
    markdown = markdown.slice(0, maxMarkdownLength);
  }
  const metadata: Record<string, MetadataValue> = {};
  let size = 0;
  for (const [name, value] of Object.entries(conversion.metadata)) {
    if (value === undefined) continue;
    size += name.length + JSON.stringify(value).length;
    if (size <= maxMetadataLength) metadata[name] = value;
  }
  if (size > maxMetadataLength) notes.push('Some metadata was too long and was left out.');
  if (notes.length > maxNotes)
    notes.splice(maxNotes - 1, notes.length, `${notes.length - maxNotes + 1} more notes were left out.`);
  return { ...conversion, markdown, metadata, notes: notes.map((note) => note.slice(0, 1000)) };
}

function otherFamily(kind: Kind, right: Family, asked: Family): ConvertFault {
  return new ConvertFault(
    'wrong_family',
    `The document is ${kind}, which is not of the family ${asked}.`,
    `Call document.${right}, or document.convert for any.`,
  );
}

function tooLong(): ConvertFault {
  return new ConvertFault(
    'timeout',
    'The conversion took too long and was ended.',
    'Send a smaller part of the document.',
  );
}

function tooMuch(what: string): ConvertFault {
  return new ConvertFault(
    'too_large',
    `The document was not converted: ${what}.`,
    'Unpack it yourself and give the documents in it one by one.',
  );
}
