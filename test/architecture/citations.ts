/**
 * What comments, names of tests and pages may cite: files of this repository, and public sources by name. A reader has
 * the repository and nothing else, so every other text is missing for them. Pure: files in, sentences out.
 */
import { dirname, normalize } from 'node:path/posix';
import type { SourceFile } from './rules.ts';

/** The tracked files: whether a file or folder is among them, and the anchors of a page. */
export interface Tracked {
  has(path: string): boolean;
  anchors(path: string): ReadonlySet<string>;
  /** Whether a file has this path, or one that ends so. */
  named(end: string): boolean;
}

export function trackedFiles(files: readonly SourceFile[]): Tracked {
  const texts = new Map(files.map(({ path, text }) => [path, text]));
  const folders = new Set(files.flatMap(({ path }) => foldersAbove(path)));
  const ends = new Set(files.flatMap(({ path }) => endsOf(path)));
  const known = new Map<string, ReadonlySet<string>>();
  return {
    named: (end) => ends.has(end.replace(/^(?:\.{1,2}\/)+/, '')),
    has: (path) => texts.has(path) || folders.has(path),
    anchors(path) {
      const anchors = known.get(path) ?? anchorsOf(texts.get(path) ?? '');
      known.set(path, anchors);
      return anchors;
    },
  };
}

const endsOf = (path: string): string[] => {
  const parts = path.split('/');
  return parts.map((_, index) => parts.slice(index).join('/'));
};

function foldersAbove(path: string): string[] {
  const parts = path.split('/').slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}

/** Names of pages that a workspace or an agent program has. They are the product's subject, not a citation. */
const workspaceFiles = new Set(
  ['AGENTS', 'CLAUDE', 'CLAUDE.local', 'CULTURE', 'GEMINI', 'NOTES', 'QWEN', 'REPORT', 'SKILL'].map(
    (name) => `${name}.md`,
  ),
);

/** A path of a page, with its anchor. Patterns and placeholders (`*.md`, `<id>.md`) name no page. */
const pagePath = /(?<![\w./<>{}$*~-])([\w./-]*[\w-]\.md)\b(?!\.\w|\/)(#[\w-]+)?(?=( \d)?)/g;

/** A source by its name or by the end of its path; declarations (`.d.ts`) are those of packages. */
const sourceName = /(?<![\w./<>{}$*~@-])([\w./-]*[\w-](?<!\.d)\.tsx?)\b(?![\w*])/g;

/** A place by its number alone: nobody can tell in which text. */
const numberedPlace = /\b(?:parts?|issues?|sections?|chapters?|phases?|milestones?) #?\d+/gi;
/** Before a numbered place: a standard, or an issue's repository, says which text is meant. */
const publicSource = /\b(?:ECMA|IEC|IETF|ISO|ITU|NIST|RFC)\b[^.;:]*$|\b[\w-]+\/[\w.-]+,? $/;

/** What is wrong with what a file of code cites in its comments and, for a test, in its names. */
export function problemsOfCode(file: SourceFile, tracked: Tracked): string[] {
  const said = [...commentsOf(file), ...(file.path.startsWith('test/') ? testNamesOf(file.text) : [])];
  return said.flatMap(({ line, text }) =>
    [...problemsOfText(text, file.path, tracked), ...missingSources(text, tracked)].map(
      (problem) => `${file.path}:${line}: ${problem}`,
    ),
  );
}

/** What is wrong with what a page cites and links to. */
export function problemsOfPage(file: SourceFile, tracked: Tracked): string[] {
  const problems: string[] = [];
  for (const { line, text } of proseOf(file.text)) {
    const at = `${file.path}:${line}: `;
    // Of code, only what is nothing but a path: in a command it is an example.
    const words = text.replace(/`([^`]*)`/g, (_, code: string) => (/^[\w./#-]+\.md[\w#-]*$/.test(code) ? code : '…'));
    problems.push(...problemsOfText(withoutLinks(words), file.path, tracked).map((problem) => at + problem));
    for (const target of linksIn(words)) {
      const problem = problemOfLink(target, file.path, tracked);
      if (problem !== null) problems.push(at + problem);
    }
  }
  return problems;
}

function problemsOfText(text: string, from: string, tracked: Tracked): string[] {
  const problems: string[] = [];
  for (const match of text.matchAll(pagePath)) {
    const [cited, path = '', anchor, number] = match;
    if (workspaceFiles.has(path.split('/').at(-1) ?? '')) continue;
    const found = placesOf(path, from).find((place) => tracked.has(place));
    if (found === undefined) problems.push(`cites ${path}, which is not in the repository`);
    else if (number !== undefined) problems.push(`cites ${cited} by a number: give the reason, or an anchor`);
    else if (anchor !== undefined && !tracked.anchors(found).has(anchor.slice(1)))
      problems.push(`cites ${cited}, and ${found} has no such anchor`);
  }
  if (text.includes('§')) problems.push('cites a numbered section (§): give the reason');
  for (const match of text.matchAll(numberedPlace)) {
    if (!publicSource.test(text.slice(0, match.index)))
      problems.push(`cites "${match[0]}" of a text that it does not name`);
  }
  return problems;
}

function missingSources(text: string, tracked: Tracked): string[] {
  return [...text.matchAll(sourceName)]
    .map(([, path = '']) => path)
    .filter((path) => !tracked.named(path))
    .map((path) => `cites ${path}, and no file of the repository is called so`);
}

/** Beside the file, or from the root. */
function placesOf(path: string, from: string): string[] {
  return [normalize(`${dirname(from)}/${path}`), normalize(path)];
}

function problemOfLink(target: string, from: string, tracked: Tracked): string | null {
  if (/^[a-z][a-z0-9+.-]*:/i.test(target) || target.startsWith('//')) return null;
  const [path = '', anchor] = decodeURI(target).split('#', 2);
  const place = path === '' ? from : normalize(`${dirname(from)}/${path}`).replace(/\/$/, '');
  if (!tracked.has(place)) return `links to ${target}, and there is no ${place}`;
  if (anchor === undefined || !place.endsWith('.md') || tracked.anchors(place).has(anchor)) return null;
  return `links to ${target}, and ${place} has no such anchor`;
}

interface Said {
  readonly line: number;
  readonly text: string;
}

/** Strings, which may hold what looks like a comment, or the begin of a comment. */
const commentOrString =
  /'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`(?:\\.|[^`\\])*`|(?<line>(?<![:\\/])\/\/.*$)|(?<block>(?<=^|[\s(,{[])\/\*[*\s].*?(?:\*\/|$))/g;

/** Each comment with its first line; line comments below each other are one. Good enough for our own formatted sources. */
export function commentsOf({ path, text }: SourceFile): Said[] {
  const found: { line: number; last: number; text: string }[] = [];
  const add = (line: number, words: string, joins: boolean) => {
    const before = found.at(-1);
    if (joins && before !== undefined && before.last >= line - 1) {
      before.text += ` ${words}`;
      before.last = line;
    } else found.push({ line, last: line, text: words });
  };
  if (path.endsWith('.html')) {
    return [...text.matchAll(/<!--([\s\S]*?)-->/g)].map((match) => ({
      line: lineAt(text, match.index),
      text: match[1] as string,
    }));
  }
  const hashes = /\.(?:ya?ml|sh)$|^\.ci\/|^\.gitignore$/.test(path);
  let inBlock = false;
  text.split('\n').forEach((content, index) => {
    const line = index + 1;
    if (hashes) {
      const [, words] = /(?:^|\s)#+ ?(.*)$/.exec(content) ?? [];
      if (words !== undefined) add(line, words, true);
    } else if (inBlock) {
      const end = content.indexOf('*/');
      add(line, (end < 0 ? content : content.slice(0, end)).replace(/^\s*\* ?/, ''), true);
      inBlock = end < 0;
    } else {
      for (const { groups, 0: raw, index: column } of content.matchAll(commentOrString)) {
        if (groups?.line !== undefined) add(line, raw.slice(2).trim(), content.slice(0, column).trim() === '');
        if (groups?.block !== undefined) {
          inBlock = !raw.endsWith('*/');
          add(line, raw.replace(/^\/\*+ ?|\s*\*+\/$/g, ''), false);
        }
      }
    }
  });
  return found;
}

const lineAt = (text: string, index: number) => text.slice(0, index).split('\n').length;

/** The names in `test('…'`, `describe('…'`, `test.each(…)('…'` and the like. */
function testNamesOf(text: string): Said[] {
  const names =
    /^[ \t]*(?:(?:test|it|describe|suite)\b[^\n]*?|[\])}][^\n'"`]*\))\(\s*(?:'((?:\\.|[^'\\\n])*)'|"((?:\\.|[^"\\\n])*)"|`((?:\\.|[^`\\])*)`),/gm;
  return [...text.matchAll(names)].map((match) => ({
    line: lineAt(text, match.index),
    text: match.slice(1).find((name) => name !== undefined) ?? '',
  }));
}

/** Its lines without those of blocks of code, fenced or indented, and without comments. */
function proseOf(page: string): Said[] {
  let fence: string | null = null;
  let indented = false;
  let blank = true;
  return page.split('\n').flatMap((text, index) => {
    indented = /^ {4}/.test(text) && (indented || blank);
    blank = text.trim() === '';
    if (indented) return [];
    const [, mark] = /^\s*(`{3,}|~{3,})/.exec(text) ?? [];
    if (mark !== undefined && (fence === null || text.trim() === fence)) {
      fence = fence === null ? mark : null;
      return [];
    }
    return fence === null ? [{ line: index + 1, text: text.replace(/<!--.*?-->/g, '') }] : [];
  });
}

const link = /\]\(\s*<?([^)\s>]+)>?[^)]*\)|^\[[^\]]+\]:\s*(\S+)|\b(?:href|src)="([^"]+)"/g;

function linksIn(text: string): string[] {
  return [...text.matchAll(link)].map((match) => match.slice(1).find((target) => target !== undefined) ?? '');
}

/** The words of a link name what its target shows. */
const withoutLinks = (text: string) => text.replace(/!?\[[^\]]*\]\([^)]*\)/g, '…').replace(link, '…');

/** The anchors of a page as GitHub gives them: of its headings, and those that it sets itself. */
export function anchorsOf(page: string): ReadonlySet<string> {
  const anchors = new Set<string>();
  for (const { text } of proseOf(page)) {
    for (const match of text.matchAll(/<[a-z]+ (?:id|name)="([^"]+)"/g)) anchors.add(match[1] as string);
    const [, heading] = /^#{1,6}\s+(.*?)\s*#*$/.exec(text) ?? [];
    if (heading === undefined) continue;
    const words = heading.replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/<[^>]+>/g, '');
    const name = words
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\p{M}\p{Pc} -]/gu, '')
      .replaceAll(' ', '-');
    let anchor = name;
    for (let count = 1; anchors.has(anchor); count += 1) anchor = `${name}-${count}`;
    anchors.add(anchor);
  }
  return anchors;
}
