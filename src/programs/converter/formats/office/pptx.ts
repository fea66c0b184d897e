/**
 * Presentations: slides in their order, each with its title, text with list levels, tables, charts as tables, pictures by their
 * alternative text, speaker notes and comments. Own reader: no library reads charts and alternative texts. Must not know how the
 * parts are packed.
 */
import type { ConvertContext, Format } from '../../format.ts';
import { escapeLine } from '../../markdown/escape.ts';
import {
  attribute,
  child,
  childrenOf,
  descendants,
  elements,
  localName,
  path,
  relationshipId,
  textOf,
  type XmlElement,
} from '../xml-tree.ts';
import { chartToMarkdown } from './chart.ts';
import { bodyToMarkdown, lineOf, tableToMarkdown } from './drawing-text.ts';
import { type OfficePackage, openPackage, type Relationship } from './package.ts';

/** Groups in groups: more is an attack. */
const deepestGroup = 20;

type Relationships = ReadonlyMap<string, Relationship>;

interface Slide {
  readonly part: string;
  readonly root: XmlElement;
  readonly relationships: Relationships;
}

export const pptxFormat: Format = {
  name: 'pptx',
  family: 'office',
  kinds: ['pptx'],
  async convert(bytes, context) {
    const office = await openPackage(bytes, context, 'presentation');
    const main = await office.mainPart();
    const order = descendants(path(await office.xml(main), 'sldIdLst'), 'sldId').map(
      (each) => relationshipId(each) ?? '',
    );
    const parts = await office.relationships(main);
    const authors = await commentAuthors(office);
    const pieces: string[] = [];
    const notes: string[] = [];
    let hidden = 0;
    let missing = 0;
    for (const [index, id] of order.entries()) {
      context.mustHaveTime();
      context.step(index, order.length, 'slides');
      const part = parts.get(id)?.target ?? '';
      const root = await office.xml(part);
      if (root === undefined) {
        missing += 1;
        continue;
      }
      const isHidden = attribute(root, 'show') === '0';
      if (isHidden) hidden += 1;
      const slide = { part, root, relationships: await office.relationships(part) };
      pieces.push(`<!-- Slide number: ${index + 1}${isHidden ? ' (hidden)' : ''} -->`);
      pieces.push(...(await slideToMarkdown(slide, office, authors, context)));
    }
    if (hidden > 0) notes.push(`Slides hidden in the presentation: ${hidden}. They are given and marked.`);
    if (missing > 0) notes.push(`Slides named in the presentation but not in the file: ${missing}.`);
    return {
      markdown: pieces.filter((piece) => piece !== '').join('\n\n'),
      metadata: { ...(await office.properties()), slides: order.length },
      notes,
    };
  },
};

async function slideToMarkdown(
  slide: Slide,
  office: OfficePackage,
  authors: ReadonlyMap<string, string>,
  context: ConvertContext,
): Promise<string[]> {
  const tree = path(slide.root, 'cSld', 'spTree');
  const pieces = await shapesToMarkdown(tree, slide, office, context, 0);
  for (const relation of slide.relationships.values()) {
    if (relation.external) continue;
    if (relation.type === 'notesSlide') {
      const spoken = notesText(await office.xml(relation.target), await office.relationships(relation.target));
      if (spoken !== '') pieces.push(`### Notes:\n\n${spoken}`);
    }
    if (relation.type === 'comments') {
      const comments = commentLines(await office.xml(relation.target), authors);
      if (comments.length > 0) pieces.push(`### Comments:\n\n${comments.join('\n')}`);
    }
  }
  return pieces;
}

async function shapesToMarkdown(
  tree: XmlElement | undefined,
  slide: Slide,
  office: OfficePackage,
  context: ConvertContext,
  depth: number,
): Promise<string[]> {
  const pieces: string[] = [];
  for (const shape of titleFirst(elements(tree))) {
    context.mustHaveTime();
    switch (localName(shape)) {
      case 'sp':
      case 'cxnSp':
        pieces.push(shapeText(shape, slide.relationships));
        break;
      case 'pic':
        pieces.push(picture(shape));
        break;
      case 'graphicFrame':
        pieces.push(await frameToMarkdown(shape, slide, office));
        break;
      case 'grpSp':
        if (depth < deepestGroup) pieces.push(...(await shapesToMarkdown(shape, slide, office, context, depth + 1)));
        break;
      case 'AlternateContent': {
        const choice = child(shape, 'Choice') ?? child(shape, 'Fallback');
        if (depth < deepestGroup) pieces.push(...(await shapesToMarkdown(choice, slide, office, context, depth + 1)));
        break;
      }
      default:
    }
  }
  return pieces.filter((piece) => piece !== '');
}

const kindOf = (shape: XmlElement) => attribute(path(shape, 'nvSpPr', 'nvPr', 'ph'), 'type');
const isTitle = (shape: XmlElement) => ['title', 'ctrTitle'].includes(kindOf(shape) ?? '');
/** Of every slide alike: the date, the number and what stands at its foot. */
const isFurniture = (shape: XmlElement) => ['dt', 'sldNum', 'ftr', 'hdr'].includes(kindOf(shape) ?? '');

function titleFirst(shapes: readonly XmlElement[]): XmlElement[] {
  return [...shapes.filter(isTitle), ...shapes.filter((shape) => !isTitle(shape))];
}

function shapeText(shape: XmlElement, relationships: Relationships): string {
  if (isFurniture(shape)) return '';
  const body = child(shape, 'txBody');
  if (isTitle(shape)) {
    const title = childrenOf(body, 'p')
      .map((each) => lineOf(each, relationships))
      .filter((line) => line !== '')
      .join(' ');
    return title === '' ? '' : `# ${title.replace(/<br>/g, ' ')}`;
  }
  const kind = kindOf(shape);
  // Bodies are lists by the layout unless a paragraph says otherwise; other shapes are not.
  const isBody =
    path(shape, 'nvSpPr', 'nvPr', 'ph') !== undefined && (kind === undefined || kind === 'body' || kind === 'obj');
  return bodyToMarkdown(body, relationships, { bullets: isBody });
}

function picture(shape: XmlElement): string {
  const named = path(shape, 'nvPicPr', 'cNvPr');
  const name = (attribute(named, 'name') ?? '').replace(/\W/g, '');
  const alt = attribute(named, 'descr') || attribute(named, 'title') || attribute(named, 'name') || '';
  return `![${escapeLine(alt)}](${name === '' ? 'picture' : name}.jpg)`;
}

async function frameToMarkdown(frame: XmlElement, slide: Slide, office: OfficePackage): Promise<string> {
  const data = path(frame, 'graphic', 'graphicData');
  const alt = escapeLine(attribute(path(frame, 'nvGraphicFramePr', 'cNvPr'), 'descr') ?? '');
  const described = (content: string) =>
    [alt === '' ? '' : `*${alt}*`, content].filter((part) => part !== '').join('\n\n');
  const found = child(data, 'tbl');
  if (found !== undefined) return described(tableToMarkdown(found, slide.relationships));
  const chart = child(data, 'chart');
  if (chart !== undefined) {
    const part = slide.relationships.get(relationshipId(chart) ?? '');
    const root = part === undefined || part.external ? undefined : await office.xml(part.target);
    return described(root === undefined ? '' : chartToMarkdown(root));
  }
  const diagram = child(data, 'relIds');
  if (diagram !== undefined) {
    const part = slide.relationships.get(relationshipId(diagram, 'dm') ?? '');
    const root = part === undefined || part.external ? undefined : await office.xml(part.target);
    return described(diagramToMarkdown(root, slide.relationships));
  }
  return alt === '' ? '' : `*${alt}*`;
}

/** SmartArt: its texts as a list, in the order of the data. */
function diagramToMarkdown(root: XmlElement | undefined, relationships: Relationships): string {
  return childrenOf(path(root, 'ptLst'), 'pt')
    .map((point) =>
      childrenOf(child(point, 't'), 'p')
        .map((each) => lineOf(each, relationships))
        .filter((line) => line !== '')
        .join(' '),
    )
    .filter((line) => line !== '')
    .map((line) => `* ${line}`)
    .join('\n');
}

function notesText(root: XmlElement | undefined, relationships: Relationships): string {
  return childrenOf(path(root, 'cSld', 'spTree'), 'sp')
    .filter((shape) => kindOf(shape) === 'body')
    .map((shape) => bodyToMarkdown(child(shape, 'txBody'), relationships, { bullets: false }))
    .filter((text) => text !== '')
    .join('\n\n');
}

/** Names by id: of older comments (`commentAuthors.xml`) and newer ones (`authors.xml`). */
async function commentAuthors(office: OfficePackage): Promise<Map<string, string>> {
  const authors = new Map<string, string>();
  for (const part of ['ppt/commentAuthors.xml', 'ppt/authors.xml']) {
    for (const author of elements(await office.xml(part))) {
      authors.set(attribute(author, 'id') ?? '', attribute(author, 'name') ?? '');
    }
  }
  return authors;
}

/** Older comments hold `p:text`, newer ones a text body and replies. */
function commentLines(root: XmlElement | undefined, authors: ReadonlyMap<string, string>): string[] {
  const line = (comment: XmlElement, indent: string): string[] => {
    const text = child(comment, 'text');
    const said =
      text !== undefined
        ? textOf(text)
        : childrenOf(child(comment, 'txBody'), 'p')
            .map((each) => descendants(each, 't').map(textOf).join(''))
            .join(' ');
    const author = escapeLine(authors.get(attribute(comment, 'authorId') ?? '') ?? '');
    const own = said.trim() === '' ? [] : [`${indent}* ${author === '' ? '' : `**${author}:** `}${escapeLine(said)}`];
    return [...own, ...childrenOf(child(comment, 'replyLst'), 'reply').flatMap((reply) => line(reply, `${indent}  `))];
  };
  return childrenOf(root, 'cm').flatMap((comment) => line(comment, ''));
}
