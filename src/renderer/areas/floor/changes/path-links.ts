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
/** What may follow a path: `:12`, `:12:3`, `(12,3)`. */
const candidates = /([^\s'"`<>|;:,()[\]{}]+)(?::(\d{1,7})(?::\d{1,5})?|\((\d{1,7})(?:,\d{1,5})?\))?/g;

/** What looks like a path, with a slash in it or an ending; addresses of the web are none. */
export function pathsIn(text: string): PathInText[] {
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
    if (found.length === maxPaths) break;
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

/** As the bot's files have it; null if there is no such file. */
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
  const said = new Map<string, PathInText>();
  for (let y = active.viewportY + rows - 1; y >= active.viewportY; y -= 1) {
    const row = active.getLine(y);
    for (const one of row === undefined ? [] : pathsIn(cellsOf(row).text)) said.set(`${one.path}:${one.line}`, one);
  }
  const places = await Promise.all(
    [...said.values()].slice(0, maxInSight).map(async ({ path, line }) => ({ path: await placeOf(path, find), line })),
  );
  const found = new Map<string, FoundPath>();
  for (const { path, line } of places) if (path !== null) found.set(`${path}:${line}`, { path, line });
  return [...found.values()];
}

export function createPathLinks(
  terminal: Pick<Terminal, 'buffer'>,
  deps: { find: Find; open(path: string, line: number | null): void },
): ILinkProvider {
  async function linkOf(one: PathInText, cells: readonly number[], y: number): Promise<ILink | null> {
    const path = await placeOf(one.path, deps.find);
    if (path === null) return null;
    return {
      text: one.path,
      range: {
        start: { x: (cells[one.from] ?? 0) + 1, y },
        end: { x: (cells[one.to - 1] ?? 0) + 1, y },
      },
      activate: () => deps.open(path, one.line),
    };
  }
  return {
    provideLinks(y, answer) {
      const row = terminal.buffer.active.getLine(y - 1);
      if (row === undefined) return answer(undefined);
      const { text, cells } = cellsOf(row);
      const paths = pathsIn(text);
      if (paths.length === 0) return answer(undefined);
      void Promise.all(paths.map((one) => linkOf(one, cells, y))).then((links) => {
        const there = links.filter((link) => link !== null);
        answer(there.length === 0 ? undefined : there);
      });
    },
  };
}
