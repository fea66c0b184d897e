/**
 * Owns which number an item of a list has in Word: its list counts on over paragraphs, tables and other lists between its items, while HTML
 * begins again. Each number stands as a word that occurs nowhere else until the HTML is there. Must not know how items become Markdown.
 */
import { attribute, childrenOf, localName, type XmlElement } from '../xml-tree.ts';
import type { OfficePackage } from './package.ts';

interface Numbering {
  /** The part with a word before each item of a numbered list. */
  take(part: string): string;
  /** HTML whose items have the attribute `value`. */
  mark(html: string): string;
}

interface Place {
  readonly list: string;
  readonly level: number;
  /** It stands in the paragraph itself, not in its style. */
  readonly own: boolean;
}

const numbered = ({ list, level }: Place) => `<w:numPr><w:ilvl w:val="${level}"/><w:numId w:val="${list}"/></w:numPr>`;

interface Level {
  readonly ordered: boolean;
  readonly start: number;
}

const levels = 9;

/** `parts`: all texts that items may be in, so that the words do not occur in them. */
export async function readNumbering(office: OfficePackage, parts: readonly string[]): Promise<Numbering> {
  const root = await office.xml('word/numbering.xml');
  const styles = stylePlaces(await office.xml('word/styles.xml'));
  const lists = readLists(root);
  let word = 'listnumber';
  while (parts.some((part) => part.includes(word))) word += 'x';
  /** By what the lists share: two numberings of one kind count together, unless one of them says where it begins. */
  const counters = new Map<string, (number | undefined)[]>();

  function next({ list, level }: Place): number | null {
    const known = lists.get(list);
    const rule = known?.levels[level];
    if (known === undefined || rule === undefined) return null;
    const counted = counters.get(known.counter) ?? Array<number | undefined>(levels).fill(undefined);
    counters.set(known.counter, counted);
    const before = counted[level];
    const number = before === undefined ? rule.start : before + 1;
    counted[level] = number;
    counted.fill(undefined, level + 1);
    return rule.ordered ? number : null;
  }

  return {
    take(part) {
      if (lists.size === 0) return part;
      let made = '';
      let from = 0;
      let depth = 0;
      let start = 0;
      // What a paragraph was before a change stands in it as properties within properties.
      for (const tag of part.matchAll(/<(\/?)w:pPr(?:\s[^>]*)?>/g)) {
        if (tag[0].endsWith('/>')) continue;
        const end = tag.index + tag[0].length;
        if (tag[1] === '') {
          if (depth === 0) start = end;
          depth += 1;
          continue;
        }
        depth = Math.max(0, depth - 1);
        if (depth > 0) continue;
        const place = placeIn(part.slice(start, tag.index), styles);
        const number = place === null ? null : next(place);
        if (number === null) continue;
        // mammoth does not see list items that only their style makes one.
        made += `${part.slice(from, tag.index)}${place?.own === false ? numbered(place) : ''}${tag[0]}`;
        made += `<w:r><w:t>${word}${number}z</w:t></w:r>`;
        from = end;
      }
      return made + part.slice(from);
    },
    mark: (html) =>
      html
        .replace(new RegExp(`<li>((?:<[^/][^>]*>)*)${word}(\\d+)z`, 'g'), '<li value="$2">$1')
        // A numbered heading is a heading.
        .replace(new RegExp(`${word}\\d+z`, 'g'), ''),
  };
}

function placeIn(properties: string, styles: ReadonlyMap<string, Place>): Place | null {
  const [own = ''] = properties.split('<w:pPrChange');
  const style = styles.get(/<w:pStyle\s+w:val="([^"]*)"/.exec(own)?.[1] ?? '');
  const given = /<w:numPr>([\s\S]*?)<\/w:numPr>/.exec(own)?.[1];
  if (given === undefined) return style ?? null;
  const list = /<w:numId\s+w:val="([^"]*)"/.exec(given)?.[1] ?? style?.list;
  const level = /<w:ilvl\s+w:val="(\d)"/.exec(given)?.[1];
  // The list 0 takes a paragraph out of the one of its style.
  if (list === undefined || list === '0') return null;
  return { list, level: level === undefined ? (style?.level ?? 0) : Number(level), own: true };
}

interface List {
  readonly counter: string;
  readonly levels: readonly (Level | undefined)[];
}

function readLists(root: XmlElement | undefined): ReadonlyMap<string, List> {
  const kinds = new Map<string, (Level | undefined)[]>();
  for (const kind of childrenOf(root, 'abstractNum')) {
    kinds.set(attribute(kind, 'abstractNumId') ?? '', levelsOf(kind));
  }
  const lists = new Map<string, List>();
  for (const one of childrenOf(root, 'num')) {
    const kind = valOf(one, 'abstractNumId') ?? '';
    const found = [...(kinds.get(kind) ?? [])];
    const overrides = childrenOf(one, 'lvlOverride');
    for (const override of overrides) {
      const level = Number(attribute(override, 'ilvl') ?? 0);
      const start = valOf(override, 'startOverride');
      const whole = levelsOf(override)[level] ?? found[level];
      if (whole !== undefined) found[level] = start === undefined ? whole : { ...whole, start: Number(start) };
    }
    const id = attribute(one, 'numId') ?? '';
    lists.set(id, { counter: overrides.length > 0 ? `own ${id}` : kind, levels: found });
  }
  return lists;
}

function levelsOf(parent: XmlElement): (Level | undefined)[] {
  const found: (Level | undefined)[] = [];
  for (const level of childrenOf(parent, 'lvl')) {
    const format = valOf(level, 'numFmt') ?? 'decimal';
    const start = Number(valOf(level, 'start') ?? 1);
    found[Number(attribute(level, 'ilvl') ?? 0)] = {
      ordered: format !== 'bullet' && format !== 'none',
      start: Number.isNaN(start) ? 1 : start,
    };
  }
  return found;
}

/** Paragraphs may be items only by their style, or by the style that theirs is based on. */
function stylePlaces(root: XmlElement | undefined): ReadonlyMap<string, Place> {
  const all = childrenOf(root, 'style').filter((style) => localName(style) === 'style');
  const byId = new Map(all.map((style) => [attribute(style, 'styleId') ?? '', style]));
  const places = new Map<string, Place>();
  for (const id of byId.keys()) {
    let list: string | undefined;
    let level: string | undefined;
    let at: string | undefined = id;
    for (let depth = 0; at !== undefined && depth < 20 && list === undefined; depth += 1) {
      const style: XmlElement | undefined = byId.get(at);
      const [properties] = childrenOf(style, 'pPr');
      const [given] = childrenOf(properties, 'numPr');
      if (given !== undefined) {
        list = valOf(given, 'numId');
        level ??= valOf(given, 'ilvl');
      }
      at = style === undefined ? undefined : valOf(style, 'basedOn');
    }
    if (list !== undefined && list !== '0') places.set(id, { list, level: Number(level ?? 0), own: false });
  }
  return places;
}

function valOf(parent: XmlElement, name: string): string | undefined {
  const [found] = childrenOf(parent, name);
  return found === undefined ? undefined : (attribute(found, 'val') ?? undefined);
}
