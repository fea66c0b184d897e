/**
 * Owns charts of Office (DrawingML charts) as tables of their data: categories down, series across. Must not know where a chart
 * stands. Charts of Office 2016 and later (`cx:`) keep numbers by dimension and are read too.
 */
import { escapeLine } from '../../markdown/escape.ts';
import { table } from '../../markdown/table.ts';
import {
  attribute,
  child,
  childrenOf,
  descendants,
  elements,
  localName,
  path,
  textOf,
  type XmlElement,
} from '../xml-tree.ts';
import { richText } from './drawing-text.ts';

/** More points than this are cut, with a line that says so. */
const maxPoints = 5000;

interface Series {
  readonly name: string;
  readonly categories: readonly string[];
  readonly values: readonly string[];
}

export function chartToMarkdown(root: XmlElement): string {
  const chart = child(root, 'chart');
  const title = richText(child(chart, 'title'));
  const series =
    localName(root) === 'chartSpace' && path(root, 'chartData') !== undefined ? newerSeries(root) : olderSeries(chart);
  const heading = `### Chart${title === '' ? '' : `: ${title}`}`;
  if (series.length === 0) return heading;
  const length = Math.max(...series.map((each) => Math.max(each.values.length, each.categories.length)));
  const shown = Math.min(length, maxPoints);
  // A chart may give each series separate categories: then each gets a column for them.
  const [first] = series;
  const shared = series.every((each) => each.categories.join('\0') === first?.categories.join('\0'));
  const header = shared
    ? ['Category', ...series.map((each) => each.name)]
    : series.flatMap((each) => [`Category (${each.name})`, each.name]);
  const rows = Array.from({ length: shown }, (_, index) =>
    shared
      ? [first?.categories[index] ?? '', ...series.map((each) => each.values[index] ?? '')]
      : series.flatMap((each) => [each.categories[index] ?? '', each.values[index] ?? '']),
  );
  const cut = shown < length ? [`*${length - shown} more points are left out.*`] : [];
  return [heading, table([header, ...rows]), ...cut].join('\n\n');
}

function olderSeries(chart: XmlElement | undefined): Series[] {
  return elements(child(chart, 'plotArea'))
    .filter((plot) => localName(plot).endsWith('Chart'))
    .flatMap((plot) => childrenOf(plot, 'ser'))
    .map((each, index) => {
      const values = pointsOf(child(each, 'val') ?? child(each, 'yVal'));
      const sizes = pointsOf(child(each, 'bubbleSize'));
      return {
        name: richText(child(each, 'tx')) || `Series ${index + 1}`,
        categories: pointsOf(child(each, 'cat') ?? child(each, 'xVal')),
        values: sizes.length === 0 ? values : values.map((value, at) => `${value} (size ${sizes[at] ?? ''})`),
      };
    });
}

/** Cached points by their index: gaps stay empty. Categories of several levels are joined, the outermost first. */
function pointsOf(holder: XmlElement | undefined): string[] {
  const levels = descendants(holder, 'lvl');
  if (levels.length > 0) {
    // Outer levels name the first of their group only; the innermost, written first, names each.
    const read = levels.map((level, index) => (index === 0 ? pointList(level) : carried(pointList(level)))).reverse();
    const length = Math.max(...read.map((level) => level.length));
    return Array.from({ length: Math.min(length, maxPoints) }, (_, index) =>
      read
        .map((level) => level[index] ?? level.at(-1) ?? '')
        .filter((text) => text !== '')
        .join(' / '),
    );
  }
  const cache = elements(elements(holder)[0]).find((each) => localName(each).endsWith('Cache')) ?? elements(holder)[0];
  return cache === undefined ? [] : pointList(cache);
}

function pointList(cache: XmlElement): string[] {
  const points: string[] = [];
  for (const point of childrenOf(cache, 'pt')) {
    const index = Number.parseInt(attribute(point, 'idx') ?? '', 10);
    // An index beyond the cap would make an array of that length.
    if (index >= 0 && index < maxPoints * 2) points[index] = escapeLine(textOf(child(point, 'v') ?? point));
  }
  return Array.from(points, (point) => point ?? '');
}

function carried(points: readonly string[]): string[] {
  let last = '';
  return points.map((point) => {
    if (point !== '') last = point;
    return last;
  });
}

function newerSeries(root: XmlElement): Series[] {
  const data = new Map(
    descendants(child(root, 'chartData'), 'data').map((each) => [attribute(each, 'id') ?? '', each]),
  );
  return descendants(child(root, 'chart'), 'series').map((each, index) => {
    const held = data.get(attribute(child(each, 'dataId'), 'val') ?? '');
    return {
      name: richText(child(each, 'tx')) || `Series ${index + 1}`,
      categories: pointList(child(child(held, 'strDim'), 'lvl') ?? { name: '', attributes: {}, children: [] }),
      values: pointList(child(child(held, 'numDim'), 'lvl') ?? { name: '', attributes: {}, children: [] }),
    };
  });
}
