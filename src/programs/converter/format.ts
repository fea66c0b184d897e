/**
 * The interface of a document format: bytes in, Markdown out, with metadata and notes about losses. Every format of every family implements it and is
 * listed in `formats/index.ts`. Must not know tools, processes or where the bytes came from.
 */

export const families = ['pdf', 'office', 'html', 'data', 'archive', 'mail', 'media'] as const;
export type Family = (typeof families)[number];

/** What bytes can turn out to be. The name and the MIME type that somebody gave are only hints where the bytes are plain text. */
export type Kind =
  | 'pdf'
  | 'docx'
  | 'pptx'
  | 'xlsx'
  | 'xls'
  | 'ods'
  | 'odt'
  | 'odp'
  | 'rtf'
  | 'html'
  | 'epub'
  | 'feed'
  | 'csv'
  | 'tsv'
  | 'json'
  | 'jsonl'
  | 'xml'
  | 'ipynb'
  | 'markdown'
  | 'text'
  | 'zip'
  | 'eml'
  | 'msg'
  | 'image'
  | 'audio';

export interface Sniffed {
  readonly kind: Kind;
  readonly mimeType: string;
  /** WHATWG label of the encoding (`utf-8`, `utf-16le`, `shift_jis`), found by mark, declaration or statistics; null for bytes that are no text. */
  readonly charset: string | null;
}

export type MetadataValue = string | number | boolean | readonly string[] | Readonly<Record<string, unknown>>;

export interface Converted {
  readonly markdown: string;
  /** Title, author, pages, sheets … by the names the format's own table in docs/tool-server.md gives. No nulls: what is unknown is left out. */
  readonly metadata: Readonly<Record<string, MetadataValue | undefined>>;
  /** Sentences about what was lost, left out or guessed. Empty when nothing was. */
  readonly notes: readonly string[];
}

interface InnerDocument {
  readonly filename: string;
  readonly mimeType?: string;
  readonly bytes: Uint8Array;
}

export interface ConvertContext {
  /** As given; '' when none was. Never trusted: a hint and a title at most. */
  readonly filename: string;
  readonly mimeType: string;
  readonly sniffed: Sniffed;
  /** The bytes as text in the charset found, without a byte order mark, line ends as they are. */
  text(): string;
  /**
   * Markdown of what a picture says (PNG, JPEG, PNM, BMP), '' where nothing is found in it. Null: text recognition is off, or the time that
   * one conversion may give to it is over.
   */
  recognize(picture: Uint8Array): Promise<string | null>;
  /** Text recognition is on. */
  readonly ocr: boolean;
  /** Throws the fault `timeout` once the deadline is over. Call it in long loops; a format that never does is killed instead. */
  mustHaveTime(): void;
  /** Says how far it is: `done` of `total`, in `unit` ("pages"). Of a document inside another nobody hears. */
  step(done: number, total: number, unit: string): void;
  /**
   * Counts bytes that came out of a compressed container against what one call may unpack in all; throws `too_large` beyond. `readZip` of
   * `zip-reader.ts` calls it.
   */
  unpacked(bytes: number): void;
  /**
   * Converts a document inside this one: an entry of an archive, an attachment. One level deeper; throws a {@link ConvertFault} when it cannot be
   * read, is nested too deep or when too much was unpacked: the caller writes that in its place and continues.
   */
  convertInner(document: InnerDocument): Promise<Converted & { readonly kind: Kind }>;
}

export interface Format {
  readonly name: string;
  readonly family: Family;
  readonly kinds: readonly Kind[];
  convert(bytes: Uint8Array, context: ConvertContext): Promise<Converted>;
}

/** `unsupported`: no format reads it. `damaged`: cut or broken. `encrypted`: a password is needed. `timeout`, `too_large`: a cap. */
export type FaultCode = 'unsupported' | 'damaged' | 'encrypted' | 'timeout' | 'too_large' | 'wrong_family';

/** A library's message about a document that it could not read, after a colon; empty where a bug of the library ended it. */
export function saidBy(cause: unknown): string {
  const { name = '', code, message = '' } = cause as NodeJS.ErrnoException;
  const ownFault =
    /^(?:TypeError|RangeError|ReferenceError|AssertionError|InternalError)/.test(name) || code !== undefined;
  const words = message.replace(/\s+/g, ' ').trim().slice(0, 200).replace(/\.$/, '');
  return ownFault || words === '' ? '' : `: ${words}`;
}

/** Why a document was not converted. `fact` says what is wrong with it, `action` what to do next. */
export class ConvertFault extends Error {
  readonly code: FaultCode;
  readonly fact: string;
  readonly action: string;
  constructor(code: FaultCode, fact: string, action: string, options?: ErrorOptions) {
    super(`${fact} ${action}`, options);
    this.code = code;
    this.fact = fact;
    this.action = action;
  }
}
