/** Paths in the rows of a terminal, as links: found by how they look, shown once there is such a file. Must not know who asks and who opens. */
import type { IBufferLine, ILink, ILinkProvider, Terminal } from '@xterm/xterm';

interface PathInText {
  readonly path: string;
  readonly line: number | null;
  /** Of the text, with the number. */
  readonly from: number;
  readonly to: number;
}

/** Of one row. */
const maxPaths = 6;
/** Of all rows in sight: each is asked for. */
const maxInSight = 30;
const maxPathLength = 300;
/** How many rows above and below one are searched for the rest of its path: enough for the longest path in a narrow pane. */
const maxWrapped = 8;
/** What may follow a path: `:12`, `:12:3`, `(12,3)`. */
const candidates = /([^\s'"`<>|;:,()[\]{}]+)(?::(\d{1,7})(?::\d{1,5})?|\((\d{1,7})(?:,\d{1,5})?\))?/g;

/** What looks like a path, with a slash in it or an ending; addresses of the web are none. */
export function pathsIn(text: string, most = maxPaths): PathInText[] {
  const found: PathInText[] = [];
  for (const match of text.matchAll(candidates)) {
    const [whole, said = '', colon, bracket] = match;
    const line = colon ?? bracket;
    // Punctuation that ends a sentence is not part of the path.
    const path = line === undefined ? said.replace(/\.+$/, '') : said;
    const from = match.index;
    if (path.length < 3 || path.length > maxPathLength || !/[\w]/.test(path)) continue;
    if (!(path.includes('/') ? /[^/.]/.test(path) : /^[^.].*\.[A-Za-z][\w]{0,7}$/.test(path))) continue;
    if (path.startsWith('//') || text.slice(0, from).endsWith('://')) continue;
    found.push({
      path,
      line: line === undefined ? null : Number(line),
      from,
      to: from + (line === undefined ? path.length : whole.length),
    });
    if (found.length === most) break;
  }
  return found;
}

/** Names to ask for: a diff in a terminal writes `a/` and `b/` before them. */
export const namesOf = (path: string): string[] => (/^[ab]\/./.test(path) ? [path, path.slice(2)] : [path]);

/** The text of a row, and the cell that each of its characters stands in: a wide one takes two. */
export function cellsOf(row: Pick<IBufferLine, 'length' | 'getCell'>): { text: string; cells: number[] } {
  let text = '';
  const cells: number[] = [];
  for (let x = 0; x < row.length; x += 1) {
    const cell = row.getCell(x);
    if (cell === undefined || cell.getWidth() === 0) continue;
    const said = cell.getChars() || ' ';
    for (let n = 0; n < said.length; n += 1) cells.push(x);
    text += said;
  }
  return { text, cells };
}

type Find = (path: string) => Promise<string | null>;
type Rows = Pick<Terminal['buffer']['active'], 'getLine'>;

interface Cell {
  readonly x: number;
  readonly y: number;
}

/** A path where the terminal shows it. */
interface PlacedPath {
  readonly path: string;
  readonly line: number | null;
  readonly start: Cell;
  readonly end: Cell;
}

/** Of these rows as one text. */
function pathsOf(rows: Rows, first: number, last: number): PlacedPath[] {
  let text = '';
  const cells: Cell[] = [];
  for (let y = first; y <= last; y += 1) {
    const row = rows.getLine(y);
    const one = row === undefined ? { text: '', cells: [] } : cellsOf(row);
    text += one.text;
    for (const x of one.cells) cells.push({ x, y });
  }
  return pathsIn(text, maxPaths * (last - first + 1)).map(({ path, line, from, to }) => ({
    path,
    line,
    start: cells[from] ?? { x: 0, y: first },
    end: cells[to - 1] ?? { x: 0, y: last },
  }));
}

/** Whether the text of the row above may go on in this one: a pane draws its rows one by one, and does not say which it wrapped. */
function mayGoOn(rows: Rows, y: number): boolean {
  const above = rows.getLine(y - 1);
  const saysAt = (row: IBufferLine | undefined, x: number) => (row?.getCell(x)?.getChars() ?? '').trim() !== '';
  return above !== undefined && saysAt(above, above.length - 1) && saysAt(rows.getLine(y), 0);
}

/** What has a part in this row. Those that would go on over several rows come first: they may be two that stand below each other. */
function pathsAt(rows: Rows, y: number): PlacedPath[] {
  let first = y;
  while (y - first < maxWrapped && mayGoOn(rows, first)) first -= 1;
  let last = y;
  while (last - y < maxWrapped && mayGoOn(rows, last + 1)) last += 1;
  const whole = first === last ? [] : pathsOf(rows, first, last);
  const overSeveral = whole.filter(({ start, end }) => start.y < end.y && start.y <= y && y <= end.y);
  return [...overSeveral, ...pathsOf(rows, y, y)];
}

const isBefore = (a: Cell, b: Cell): boolean => a.y < b.y || (a.y === b.y && a.x < b.x);

/** Those of which there is a file, with its place; of two that share a cell the first one. */
function withFiles<T extends PlacedPath>(paths: readonly T[], placeOfPath: (path: string) => string | null) {
  const found: { readonly one: T; readonly place: string }[] = [];
  for (const one of paths) {
    const place = placeOfPath(one.path);
    const isFree = found.every(({ one: other }) => isBefore(one.end, other.start) || isBefore(other.end, one.start));
    if (place !== null && isFree) found.push({ one, place });
  }
  return found;
}

/** Of each path its place as the bot's files have it; null if there is no such file. */
async function placesOf(paths: readonly string[], find: Find): Promise<(path: string) => string | null> {
  const places = new Map<string, string | null>();
  await Promise.all(paths.map(async (path) => places.set(path, await placeOf(path, find))));
  return (path) => places.get(path) ?? null;
}

async function placeOf(said: string, find: Find): Promise<string | null> {
  for (const name of namesOf(said)) {
    const path = await find(name);
    if (path !== null) return path;
  }
  return null;
}

/** Of a file that is there. */
export interface FoundPath {
  readonly path: string;
  readonly line: number | null;
}

/** What a terminal shows now, for a person without a mouse: the lowest first, each once. */
export async function pathsInSight(
  { buffer, rows }: Pick<Terminal, 'buffer' | 'rows'>,
  find: Find,
): Promise<FoundPath[]> {
  const { active } = buffer;
  const said: PlacedPath[] = [];
  for (let y = active.viewportY + rows - 1; y >= active.viewportY; y -= 1) said.push(...pathsAt(active, y));
  // One over several rows came with each of them, and before its parts in those above.
  const overSeveral = said.filter(({ start, end }) => start.y < end.y);
  const asked = [...new Set(said.map(({ path }) => path))].slice(0, maxInSight);
  const places = await placesOf(asked, find);
  const there = new Set(withFiles([...overSeveral, ...said], places).map(({ one }) => one));
  const found = new Map<string, FoundPath>();
  for (const one of said) {
    const path = places(one.path);
    if (path !== null && there.has(one)) found.set(`${path}:${one.line}`, { path, line: one.line });
  }
  return [...found.values()];
}

export function createPathLinks(
  terminal: Pick<Terminal, 'buffer'>,
  deps: { find: Find; open(path: string, line: number | null): void },
): ILinkProvider {
  /** As links count cells: from one. */
  const placeIn = ({ x, y }: Cell) => ({ x: x + 1, y: y + 1 });
  return {
    provideLinks(y, answer) {
      const paths = pathsAt(terminal.buffer.active, y - 1);
      if (paths.length === 0) return answer(undefined);
      const asked = paths.map(({ path }) => path);
      void placesOf(asked, deps.find).then((places) => {
        const links = withFiles(paths, places).map(
          ({ one, place }): ILink => ({
            text: one.path,
            range: { start: placeIn(one.start), end: placeIn(one.end) },
            activate: () => deps.open(place, one.line),
          }),
        );
        answer(links.length === 0 ? undefined : links);
      });
    },
  };
}
