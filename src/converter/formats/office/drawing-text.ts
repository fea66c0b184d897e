/** Owns text and tables of DrawingML (slides, notes, diagrams) as Markdown. Must not know what shape they stand in. */
import { escapeLine, escapeText } from '../../markdown/escape.ts';
import { link } from '../../markdown/link.ts';
import { table } from '../../markdown/table.ts';
import {
  attribute,
  child,
  childrenOf,
  elements,
  localName,
  relationshipId,
  textOf,
  type XmlElement,
} from '../xml-tree.ts';
import { ommlToLatex } from './omml.ts';
import type { Relationship } from './package.ts';

type Relationships = ReadonlyMap<string, Relationship>;

const isOn = (value: string | undefined) => value !== undefined && value !== '0' && value !== 'false';

/** One paragraph on one line, with emphasis, links, breaks and equations. */
export function lineOf(paragraph: XmlElement, relationships: Relationships): string {
  const runs: { text: string; mark: string }[] = [];
  for (const part of elements(paragraph)) {
    const properties = child(part, 'rPr');
    switch (localName(part)) {
      case 'r':
      case 'fld': {
        const text = escapeText(textOf(child(part, 't')).replace(/\s+/g, ' '));
        const clicked = child(properties, 'hlinkClick');
        const target = relationships.get(relationshipId(clicked) ?? '');
        const mark = `${isOn(attribute(properties, 'b')) ? '**' : ''}${isOn(attribute(properties, 'i')) ? '*' : ''}`;
        // Addresses inside the presentation lead nowhere in Markdown.
        if (target?.external === true && text.trim() !== '') runs.push({ text: link(text, target.target), mark: '' });
        else runs.push({ text, mark });
        break;
      }
      case 'br':
        runs.push({ text: '<br>', mark: '' });
        break;
      case 'm':
      case 'AlternateContent': {
        const latex = equationIn(part);
        if (latex !== '') runs.push({ text: `$${latex}$`, mark: '' });
        break;
      }
      default:
    }
  }
  return joined(runs).replace(/^(?:\s|<br>)+|(?:\s|<br>)+$/g, '');
}

/** Runs of one emphasis are one: a word is often cut into several. The marks stand at the words, not at white space. */
function joined(runs: readonly { text: string; mark: string }[]): string {
  let made = '';
  for (let at = 0; at < runs.length; ) {
    const mark = runs[at]?.mark ?? '';
    let text = '';
    for (; at < runs.length && runs[at]?.mark === mark; at += 1) text += runs[at]?.text ?? '';
    const [, before = '', words = '', after = ''] = /^(\s*)([\s\S]*?)(\s*)$/.exec(text) ?? [];
    made += mark === '' || words === '' ? text : `${before}${mark}${words}${[...mark].reverse().join('')}${after}`;
  }
  return made;
}

function equationIn(part: XmlElement): string {
  for (const each of elements(part)) {
    const name = localName(each);
    if (name === 'oMath' || name === 'oMathPara') return ommlToLatex(each);
    if (name === 'Fallback') continue;
    const inside = equationIn(each);
    if (inside !== '') return inside;
  }
  return '';
}

interface OpenItem {
  readonly level: number;
  readonly marker: string;
  readonly number: number | undefined;
}

/** Paragraphs of a text body; those with bullets or numbers become lists by their levels. `bullets`: the layout makes them lists. */
export function bodyToMarkdown(
  body: XmlElement | undefined,
  relationships: Relationships,
  options: { readonly bullets: boolean },
): string {
  let made = '';
  let open: OpenItem[] = [];
  const paragraphs = childrenOf(body, 'p')
    .map((each) => ({ properties: child(each, 'pPr'), text: lineOf(each, relationships) }))
    .filter(({ text }) => text !== '');
  // One line alone is no list, whatever the layout says.
  const bullets = options.bullets && paragraphs.length > 1;
  for (const { properties, text } of paragraphs) {
    const level = Math.min(Math.max(Number.parseInt(attribute(properties, 'lvl') ?? '0', 10) || 0, 0), 8);
    const numbered = child(properties, 'buAutoNum');
    if (numbered === undefined && !isBulleted(properties, level, bullets)) {
      made += `${made === '' ? '' : '\n\n'}${text}`;
      open = [];
      continue;
    }
    const sibling = open.find((item) => item.level === level);
    const gap = made === '' ? '' : open.length === 0 ? '\n\n' : '\n';
    open = open.filter((item) => item.level < level);
    const start = Number.parseInt(attribute(numbered, 'startAt') ?? '1', 10) || 1;
    const number = numbered === undefined ? undefined : sibling?.number === undefined ? start : sibling.number + 1;
    const marker = number === undefined ? '* ' : `${number}. `;
    made += `${gap}${' '.repeat(open.reduce((width, item) => width + item.marker.length, 0))}${marker}${text}`;
    open.push({ level, marker, number });
  }
  return made;
}

function isBulleted(properties: XmlElement | undefined, level: number, bullets: boolean): boolean {
  if (child(properties, 'buNone') !== undefined) return false;
  return bullets || level > 0 || child(properties, 'buChar') !== undefined || child(properties, 'buBlip') !== undefined;
}

/** Cells that others are merged into are empty, as in the source. */
export function tableToMarkdown(element: XmlElement, relationships: Relationships): string {
  const rows = childrenOf(element, 'tr').map((row) =>
    childrenOf(row, 'tc').map((cell) =>
      isOn(attribute(cell, 'hMerge')) || isOn(attribute(cell, 'vMerge'))
        ? ''
        : childrenOf(child(cell, 'txBody'), 'p')
            .map((each) => lineOf(each, relationships))
            .filter((line) => line !== '')
            .join('\n'),
    ),
  );
  return table(rows);
}

/** Rich text of a chart's title or axis on one line. */
export function richText(element: XmlElement | undefined): string {
  const texts: string[] = [];
  const walk = (each: XmlElement) => {
    if (localName(each) === 't' || localName(each) === 'v') texts.push(textOf(each));
    else for (const inside of elements(each)) walk(inside);
  };
  if (element !== undefined) walk(element);
  return escapeLine(texts.join(''));
}
