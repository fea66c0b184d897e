/**
 * Rich Text Format: text with emphasis, headings by their styles, lists, tables, links, footnotes and comments. Own reader, since
 * no library keeps tables and groups. Pictures and what only says how it looks are left out. Never recurses. Must not know the
 * syntax (`rtf-tokens.ts`).
 */
import { type ConvertContext, type Converted, ConvertFault, type Format, type MetadataValue } from '../../format.ts';
import { commentLead, footnote } from '../../markdown/notes.ts';
import { type BlockWriter, createBlockWriter, type Paragraph } from './rtf-blocks.ts';
import { encodingOfPage, pageOfFont } from './rtf-charset.ts';
import { type RtfToken, rtfTokens } from './rtf-tokens.ts';
import { charactersByWord, infoFields, preservedDestinations, skippedDestinations } from './rtf-words.ts';

/** Groups in groups: more is an attack. */
const deepestGroup = 1000;

export const rtfFormat: Format = {
  name: 'rtf',
  family: 'office',
  kinds: ['rtf'],
  async convert(bytes, context) {
    return readRtf(bytes, context);
  },
};

/** Also for mail whose body is RTF. */
export function readRtf(bytes: Uint8Array, context: Pick<ConvertContext, 'mustHaveTime'>): Converted {
  const reader = createReader();
  let count = 0;
  for (const token of rtfTokens(bytes)) {
    count += 1;
    if (count % 10_000 === 0) context.mustHaveTime();
    reader.read(token);
  }
  return reader.end();
}

/** Where the text of a group goes. */
type Destination = 'body' | 'skip' | 'fonts' | 'styles' | 'info' | 'instruction' | 'marker' | 'author';

/** What a group inherits from the one around it. */
interface State {
  destination: Destination;
  /** Field of `info` that is being read. */
  field: string;
  bold: boolean;
  italic: boolean;
  strike: boolean;
  hidden: boolean;
  raised: 'sup' | 'sub' | undefined;
  address: string | undefined;
  /** Characters that stand in for one `\u`. */
  fallback: number;
  font: number;
  /** Which note this group is: its text goes there until it closes. */
  note: 'footnote' | 'comment' | null;
}

/** Outside all groups. */
function fresh(): State {
  return {
    destination: 'body',
    field: '',
    bold: false,
    italic: false,
    strike: false,
    hidden: false,
    raised: undefined,
    address: undefined,
    fallback: 1,
    font: -1,
    note: null,
  };
}

/** Text in bytes, in the code page that the document or the font of the text names. */
function createByteText(put: (text: string) => void) {
  const pages = new Map<number, number>();
  let page = 1252;
  let pending: number[] = [];
  let encoding = 'windows-1252';

  function flush(): void {
    if (pending.length === 0) return;
    const text = new TextDecoder(encoding).decode(Uint8Array.from(pending));
    pending = [];
    put(text);
  }

  return {
    flush,
    setPage(value: number): void {
      page = value;
    },
    setFont(font: number, own: number): void {
      pages.set(font, own);
    },
    add(value: number, font: number): void {
      const next = encodingOfPage(pages.get(font) ?? page);
      if (next !== encoding) flush();
      encoding = next;
      pending.push(value);
    },
  };
}

/** The body with its footnotes and comments: each is written apart, and numbered among its kind. */
function createTexts() {
  const writers: BlockWriter[] = [createBlockWriter()];
  const definitions: string[] = [];
  const numbers = { footnote: 0, comment: 0 };
  const writer = () => writers.at(-1) as BlockWriter;

  /** What is around it refers to it. `author`: of a comment. */
  function endNote(kind: 'footnote' | 'comment', author: string): void {
    const text = (writers.pop() as BlockWriter).end().trim();
    numbers[kind] += 1;
    const label = kind === 'footnote' ? String(numbers.footnote) : `comment-${numbers.comment}`;
    definitions.push(footnote(label, (kind === 'footnote' ? '' : commentLead(author)) + text));
    writer().addMarkdown(`[^${label}]`);
  }

  return {
    /** Of the innermost text that is open. */
    writer,
    startNote(): void {
      writers.push(createBlockWriter());
    },
    endNote,
    /** All Markdown. A note that was cut off is a footnote. */
    end(): string {
      while (writers.length > 1) endNote('footnote', '');
      return [writer().end(), ...definitions].filter((part) => part !== '').join('\n\n');
    },
  };
}

/** The groups that are open, the innermost with its state. */
function createGroups() {
  const outer: State[] = [];
  let state = fresh();
  let ended = false;
  return {
    get state(): State {
      return state;
    },
    /** The document's own group is closed: what follows is no part of it. */
    get ended(): boolean {
      return ended;
    },
    open(): void {
      if (outer.length >= deepestGroup) {
        throw new ConvertFault(
          'damaged',
          `The document has groups more than ${deepestGroup} deep.`,
          'Save it again in its program.',
        );
      }
      outer.push(state);
      state = { ...state, note: null };
    },
    /** Returns the state of the closed group; null: none was open. */
    close(): State | null {
      const closed = state;
      const around = outer.pop();
      ended = outer.length === 0;
      if (around === undefined) return null;
      state = around;
      return closed;
    },
  };
}

/** Text that is not of the document's body: names of styles, facts about the document, instructions of fields, authors of comments. */
function createAside() {
  const styles = new Map<number, string>();
  const info = new Map<string, string>();
  const texts = { styles: '', instruction: '', author: '' };
  const maxLength = { styles: 200, instruction: 10_000, author: 200 };
  let styleNumber = 0;
  return {
    info,
    add(to: keyof typeof texts | 'info', field: string, text: string): void {
      if (to !== 'info') texts[to] = (texts[to] + text).slice(0, maxLength[to]);
      else if (field !== '') info.set(field, `${info.get(field) ?? ''}${text}`.slice(0, 2000));
    },
    clear(of: keyof typeof texts): void {
      texts[of] = '';
    },
    author: () => texts.author,
    /** Where the link of a field leads, by its instruction. */
    address: () =>
      /HYPERLINK\s+(?!\\l)(?:"([^"]*)"|(\S+))/i
        .exec(texts.instruction)
        ?.slice(1)
        .find((each) => each !== undefined),
    startStyle(number: number): void {
      styleNumber = number;
    },
    endStyle(): void {
      styles.set(styleNumber, texts.styles.replace(/;\s*$/, '').trim());
      texts.styles = '';
      styleNumber = 0;
    },
    style: (number: number) => styles.get(number) ?? '',
  };
}

function createReader() {
  const aside = createAside();
  const texts = createTexts();
  const groups = createGroups();
  const bytes = createByteText(put);
  let toSkip = 0;
  let starred = false;
  let justOpened = false;
  let pictures = 0;

  const paragraph = (): Paragraph => texts.writer().paragraph;

  function put(text: string): void {
    const { state } = groups;
    if (text === '' || state.hidden) return;
    switch (state.destination) {
      case 'body':
        texts.writer().add({
          text,
          bold: state.bold,
          italic: state.italic,
          strike: state.strike,
          raised: state.raised,
          address: state.address,
        });
        return;
      case 'marker':
        paragraph().marker = `${paragraph().marker ?? ''}${text}`.slice(0, 40);
        return;
      case 'instruction':
      case 'author':
      case 'styles':
      case 'info':
        aside.add(state.destination, state.field, text);
        return;
      default:
    }
  }

  function byte(value: number): void {
    if (toSkip > 0) {
      toSkip -= 1;
      return;
    }
    const { state } = groups;
    if (state.destination === 'skip' || state.destination === 'fonts') return;
    bytes.add(value, state.font);
  }

  function openGroup(): void {
    bytes.flush();
    groups.open();
    justOpened = true;
    toSkip = 0;
  }

  function closeGroup(): void {
    bytes.flush();
    toSkip = 0;
    const closed = groups.close();
    if (closed?.destination === 'styles' && groups.state.destination === 'styles') aside.endStyle();
    if (closed === null || closed.note === null) return;
    texts.endNote(closed.note, aside.author());
    if (closed.note === 'comment') aside.clear('author');
  }

  function startNote(kind: 'footnote' | 'comment'): void {
    const { state } = groups;
    if (state.destination === 'skip') return;
    state.note = kind;
    state.destination = 'body';
    state.bold = state.italic = state.strike = state.hidden = false;
    state.raised = undefined;
    texts.startNote();
  }

  function startAside(to: 'styles' | 'instruction' | 'author'): void {
    groups.state.destination = to;
    aside.clear(to);
  }

  /** Words that say where the text of a group goes. True when it was one. */
  function destination(word: string): boolean {
    const { state } = groups;
    if (skippedDestinations.has(word)) {
      if (word === 'pict') pictures += 1;
      state.destination = 'skip';
      return true;
    }
    if (state.destination === 'info' && infoFields.has(word)) state.field = word;
    else if (word === 'fonttbl') state.destination = 'fonts';
    else if (word === 'stylesheet') startAside('styles');
    else if (word === 'info') state.destination = 'info';
    else if (word === 'fldinst') startAside('instruction');
    else if (word === 'fldrslt') {
      state.address = aside.address();
      aside.clear('instruction');
    } else if (word === 'listtext' || word === 'pntext') state.destination = 'marker';
    else if (word === 'atnauthor') startAside('author');
    else if (word === 'footnote') startNote('footnote');
    else if (word === 'annotation') startNote('comment');
    else return false;
    return true;
  }

  function control(word: string, parameter: number | null): void {
    const { state } = groups;
    switch (word) {
      case 'ansicpg':
        bytes.setPage(parameter ?? 1252);
        return;
      case 'mac':
        bytes.setPage(10000);
        return;
      case 'f':
      case 'deff':
        state.font = parameter ?? 0;
        return;
      case 'fcharset':
        if (state.destination === 'fonts') {
          const own = pageOfFont(parameter ?? 0);
          if (own !== null) bytes.setFont(state.font, own);
        }
        return;
      case 'u': {
        // Signed 16 bits; what follows for readers without Unicode is skipped.
        const code = (parameter ?? 63) & 0xffff;
        put(String.fromCharCode(code));
        toSkip = state.fallback;
        return;
      }
      case 's':
        if (state.destination === 'styles') aside.startStyle(parameter ?? 0);
        else paragraph().heading = headingOf(aside.style(parameter ?? 0));
        return;
      default:
        if (changeState(state, word, parameter) || state.destination !== 'body') return;
        if (!structure(texts.writer(), word, parameter)) put(charactersByWord.get(word) ?? '');
    }
  }

  /** A control word or symbol; the first of a group may say where its text goes. */
  function command(token: Extract<RtfToken, { kind: 'word' | 'symbol' }>): void {
    bytes.flush();
    if (token.kind === 'symbol') {
      if (token.symbol === '*' && justOpened) starred = true;
      else if (toSkip > 0) toSkip -= 1;
      else if (token.symbol === '~') put('\u00a0');
      else if (token.symbol === '_') put('\u2011');
      return;
    }
    const first = justOpened || starred;
    const unknown = starred && !preservedDestinations.has(token.word) && !skippedDestinations.has(token.word);
    justOpened = false;
    starred = false;
    const { state } = groups;
    if (unknown) {
      state.destination = 'skip';
      return;
    }
    if (state.destination === 'skip') return;
    if (first && destination(token.word)) return;
    control(token.word, token.parameter);
  }

  return {
    read(token: RtfToken): void {
      if (groups.ended) return;
      if (token.kind === 'open') openGroup();
      else if (token.kind === 'close') closeGroup();
      else if (token.kind === 'byte') {
        justOpened = false;
        starred = false;
        byte(token.byte);
      } else command(token);
    },
    end(): Converted {
      bytes.flush();
      const remarks: string[] = [];
      if (!groups.ended) remarks.push('The document ends before it is closed: it may be cut.');
      if (pictures > 0) remarks.push(`Pictures left out: ${pictures}.`);
      return {
        markdown: texts.end(),
        metadata: metadataOf(aside.info),
        notes: remarks,
      };
    },
  };
}

/** Words about how characters look, and how many stand in for one of Unicode. False: it is another word. */
function changeState(state: State, word: string, parameter: number | null): boolean {
  const on = parameter !== 0;
  switch (word) {
    case 'uc':
      state.fallback = Math.min(Math.max(parameter ?? 1, 0), 100);
      return true;
    case 'b':
      state.bold = on;
      return true;
    case 'i':
      state.italic = on;
      return true;
    case 'strike':
    case 'striked':
      state.strike = on;
      return true;
    case 'v':
    case 'deleted':
      state.hidden = on;
      return true;
    case 'super':
      state.raised = on ? 'sup' : undefined;
      return true;
    case 'sub':
      state.raised = on ? 'sub' : undefined;
      return true;
    case 'nosupersub':
      state.raised = undefined;
      return true;
    case 'plain':
      state.bold = state.italic = state.strike = state.hidden = false;
      state.raised = undefined;
      return true;
    default:
      return false;
  }
}

/** Words about paragraphs, lists and tables. False: it is another word. */
function structure(writer: BlockWriter, word: string, parameter: number | null): boolean {
  const { paragraph } = writer;
  switch (word) {
    case 'outlinelevel':
      if (parameter !== null && parameter < 6) paragraph.heading = parameter + 1;
      return true;
    case 'ilvl':
      paragraph.level = Math.min(Math.max(parameter ?? 0, 0), 8);
      return true;
    case 'pard':
      writer.resetParagraph();
      return true;
    case 'intbl':
      paragraph.inTable = true;
      return true;
    case 'par':
    case 'sect':
    case 'page':
      writer.endParagraph();
      return true;
    case 'line':
    case 'lbr':
      writer.addMarkdown('<br>');
      return true;
    case 'cell':
    case 'nestcell':
      writer.endCell();
      return true;
    case 'row':
    case 'nestrow':
      writer.endRow();
      return true;
    default:
      return false;
  }
}

function headingOf(style: string): number {
  if (/^title$/i.test(style)) return 1;
  const level = Number.parseInt(/^heading\s*(\d)/i.exec(style)?.[1] ?? '0', 10);
  return Math.min(level, 6);
}

const infoNames: Readonly<Record<string, string>> = { doccomm: 'description', operator: 'lastModifiedBy' };

function metadataOf(info: ReadonlyMap<string, string>): Record<string, MetadataValue> {
  const metadata: Record<string, MetadataValue> = {};
  for (const [name, value] of info) {
    const text = value.trim();
    if (text !== '') metadata[infoNames[name] ?? name] = text;
  }
  return metadata;
}
