/**
 * Word documents: mammoth makes HTML of them, and the rules for HTML make Markdown of that. This file adds what mammoth leaves out: equations, the
 * numbers of continued lists, the names of commenters, and notes in Markdown's own form. Pictures are named, never embedded; nothing outside the file
 * is read.
 */
import mammoth from 'mammoth';
import type { Format } from '../../format.ts';
import { type DomDocument, type DomElement, isElement, parseDocument } from '../../markdown/dom.ts';
import { elementToMarkdown } from '../../markdown/html.ts';
import { commentLead, footnote } from '../../markdown/notes.ts';
import { attribute, childrenOf } from '../xml-tree.ts';
import { createEquations } from './equations.ts';
import { readNumbering } from './numbering.ts';
import { type OfficePackage, openPackage } from './package.ts';
import { repack } from './repack.ts';

const styleMap = [
  "p[style-name='Title'] => h1:fresh",
  "p[style-name='Subtitle'] => p:fresh > em",
  "p[style-name='Quote'] => blockquote > p:fresh",
  "p[style-name='Intense Quote'] => blockquote > p:fresh",
  "p[style-name='HTML Preformatted'] => pre:separator('\\n')",
  "p[style-name='Source Code'] => pre:separator('\\n')",
  "p[style-name='Code'] => pre:separator('\\n')",
  "p[style-name='macro'] => pre:separator('\\n')",
  "r[style-name='HTML Code'] => code",
  "r[style-name='Verbatim Char'] => code",
];

/** Parts that equations may stand in; comments have none. */
const withEquations = /^word\/(?:document\d*|footnotes|endnotes)\.xml$/;
const isXml = (name: string) => /\.(?:xml|rels)$/i.test(name);

export const docxFormat: Format = {
  name: 'docx',
  family: 'office',
  kinds: ['docx'],
  async convert(bytes, context) {
    const office = await openPackage(bytes, context, 'document');
    const main = await office.mainPart();
    const parts = new Map<string, string>();
    for (const { name } of office.zip.entries) {
      if (name === main || withEquations.test(name)) parts.set(name, (await office.zip.readText(name)) ?? '');
    }
    const equations = createEquations([...parts.values()]);
    const numbering = await readNumbering(office, [...parts.values()]);
    const replaced = new Map<string, Uint8Array>();
    for (const [name, text] of parts) replaced.set(name, Buffer.from(equations.take(numbering.take(text)), 'utf8'));
    for (const entry of office.zip.entries) {
      // What a picture holds is never looked at, but without its part mammoth gives up.
      if (!entry.folder && !isXml(entry.name)) replaced.set(entry.name, new Uint8Array(0));
    }
    const authors = await commentAuthors(office);
    const source = parts.get(main) ?? '';
    const commented = commentReferences(source).every((id) => authors.has(id));
    const packed = await repack(office.zip, () => true, replaced);
    context.mustHaveTime();
    const document = parseDocument(equations.mark(numbering.mark(await toHtml(packed, commented))));
    const notes = takeNotes(document, authors);
    const render = (element: DomElement) =>
      elementToMarkdown(element, {
        keepLink: (address) => !address.startsWith('#'),
        mustHaveTime: context.mustHaveTime,
        inline: (each) => {
          const note = each.getAttribute('data-note');
          if (note !== null) return `[^${note}]`;
          const equation = each.getAttribute('data-equation');
          return equation === null ? undefined : equations.markdown(Number(equation));
        },
      });
    const body = render(document.body);
    const below = notes.map((note) => footnote(note.label, note.lead + render(note.content)));
    return {
      markdown: [body, ...below].filter((part) => part !== '').join('\n\n'),
      metadata: await office.properties(),
      notes: losses(source, office, equations.unreadable()),
    };
  },
};

async function toHtml(packed: Uint8Array, withComments: boolean): Promise<string> {
  const result = await mammoth.convertToHtml(
    { buffer: Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength) },
    {
      styleMap: withComments ? [...styleMap, 'comment-reference => sup'] : styleMap,
      // Rules that a document brings along could make elements that mean something here.
      includeEmbeddedStyleMap: false,
      externalFileAccess: false,
      convertImage: mammoth.images.imgElement(async (image) => ({ src: `data:${image.contentType};base64,` })),
    },
  );
  return result.value;
}

interface Note {
  readonly label: string;
  /** Who says it, Markdown. */
  readonly lead: string;
  readonly content: DomElement;
}

/** Footnotes, endnotes and comments leave the lists mammoth makes; marks with their labels stand where they are referred to. */
function takeNotes(document: DomDocument, authors: ReadonlyMap<string, string>): Note[] {
  const notes: Note[] = [];
  const labels = new Map<string, string>();
  const lists = new Set<DomElement>();
  let comments = 0;
  let numbers = 0;
  for (const element of [...document.querySelectorAll('li[id], dt[id]')]) {
    const [, kind, id] = /^(footnote|endnote|comment)-(?!ref-)(.+)$/.exec(element.id) ?? [];
    if (kind === undefined || id === undefined) continue;
    const content = kind === 'comment' ? nextElement(element) : element;
    if (content === null) continue;
    for (const back of [...content.querySelectorAll(`a[href^="#${kind}-ref-"]`)]) back.remove();
    if (element.parentNode !== null) lists.add(element.parentNode);
    const label = kind === 'comment' ? `comment-${++comments}` : String(++numbers);
    labels.set(element.id, label);
    const lead = kind === 'comment' ? commentLead(authors.get(id) ?? '') : '';
    notes.push({ label, lead, content });
  }
  for (const list of lists) list.remove();
  for (const reference of [...document.querySelectorAll('a[href^="#"]')]) mark(reference, labels, document);
  for (const note of notes) {
    for (const reference of [...note.content.querySelectorAll('a[href^="#"]')]) mark(reference, labels, document);
  }
  return notes;
}

function mark(reference: DomElement, labels: ReadonlyMap<string, string>, document: DomDocument): void {
  const label = labels.get((reference.getAttribute('href') ?? '').slice(1));
  if (label === undefined) return;
  const stand = document.createElement('span');
  stand.setAttribute('data-note', label);
  stand.appendChild(document.createTextNode('x'));
  (reference.closest('sup') ?? reference).replaceWith(stand);
}

function nextElement(element: DomElement): DomElement | null {
  let next = element.nextSibling;
  while (next !== null && !isElement(next)) next = next.nextSibling;
  return next;
}

async function commentAuthors(office: OfficePackage): Promise<Map<string, string>> {
  const authors = new Map<string, string>();
  for (const comment of childrenOf(await office.xml('word/comments.xml'), 'comment')) {
    authors.set(attribute(comment, 'id') ?? '', attribute(comment, 'author') ?? '');
  }
  return authors;
}

/** Ids of comments that the text refers to. One that is not there would end the whole conversion in mammoth. */
function commentReferences(source: string): string[] {
  return [...source.matchAll(/:commentReference\s[^>]*?:id\s*=\s*["']([^"']*)["']/g)].map((match) => match[1] ?? '');
}

function losses(source: string, office: OfficePackage, unreadable: number): string[] {
  const notes: string[] = [];
  if (office.zip.entries.some((entry) => /^word\/(?:header|footer)\d*\.xml$/.test(entry.name))) {
    notes.push('Page headers and footers are left out.');
  }
  if (/<\w+:del[\s>]/.test(source))
    notes.push('Text that tracked changes delete is left out; what they insert is given.');
  if (unreadable > 0) notes.push(`Equations that could not be read and are left out: ${unreadable}.`);
  return notes;
}
