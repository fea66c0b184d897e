/** Owns text and tables of DrawingML (slides, notes, diagrams) as Markdown. Must not know which shape they belong to. */

import { joinBlocks, type ListPlace } from '../../markdown/blocks.ts';
import { escapeLine, escapeText, formula } from '../../markdown/escape.ts';
import { type Run, runsToMarkdown } from '../../markdown/runs.ts';
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
  const runs: Run[] = [];
  for (const part of elements(paragraph)) {
    const properties = child(part, 'rPr');
    switch (localName(part)) {
      case 'r':
      case 'fld': {
        const target = relationships.get(relationshipId(child(properties, 'hlinkClick')) ?? '');
        runs.push({
          markdown: escapeText(textOf(child(part, 't')).replace(/\s+/g, ' ')),
          bold: isOn(attribute(properties, 'b')),
          italic: isOn(attribute(properties, 'i')),
          strike: (attribute(properties, 'strike') ?? 'noStrike') !== 'noStrike',
          // Addresses inside the presentation lead nowhere in Markdown.
          address: target?.external === true ? target.target : undefined,
        });
        break;
      }
      case 'br':
        runs.push({ markdown: '<br>' });
        break;
      case 'm':
      case 'AlternateContent': {
        const markdown = formula(equationIn(part), false);
        if (markdown !== '') runs.push({ markdown });
        break;
      }
      default:
    }
  }
  return runsToMarkdown(runs).replace(/^(?:\s|<br>)+|(?<!\s|<br>)(?:\s|<br>)+$/g, '');
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

/** Paragraphs of a text body; those with bullets or numbers become lists by their levels. `bullets`: the layout makes them lists. */
export function bodyToMarkdown(
  body: XmlElement | undefined,
  relationships: Relationships,
  options: { readonly bullets: boolean },
): string {
  const paragraphs = childrenOf(body, 'p')
    .map((each) => ({ properties: child(each, 'pPr'), markdown: lineOf(each, relationships) }))
    .filter(({ markdown }) => markdown !== '');
  // A single line is not a list, whatever the layout says.
  const bullets = options.bullets && paragraphs.length > 1;
  return joinBlocks(paragraphs.map(({ properties, markdown }) => ({ markdown, item: placeOf(properties, bullets) })));
}

function placeOf(properties: XmlElement | undefined, bullets: boolean): ListPlace | null {
  const level = Math.min(Math.max(Number.parseInt(attribute(properties, 'lvl') ?? '0', 10) || 0, 0), 8);
  const numbered = child(properties, 'buAutoNum');
  if (numbered !== undefined) return { level, start: Number.parseInt(attribute(numbered, 'startAt') ?? '1', 10) || 1 };
  return isBulleted(properties, level, bullets) ? { level, start: null } : null;
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
