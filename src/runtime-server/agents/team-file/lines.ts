/** Finds paths in a YAML text: line numbers (from 1), also of keys that should not be there. */
import { type Document, isMap, isPair, isScalar, type LineCounter, type Node, type ParsedNode } from 'yaml';

export type YamlPath = readonly PropertyKey[];

export interface Lines {
  /** Line of the value at the path, or of its nearest parent that exists; null for an empty file. */
  of(path: YamlPath): number | null;
  /** Line of a key in the mapping at the path. */
  ofKey(path: YamlPath, key: string): number | null;
}

export function createLines(document: Document<ParsedNode> | Document, counter: LineCounter): Lines {
  const lineOf = (node: Node | null | undefined) => (node?.range ? counter.linePos(node.range[0]).line : null);
  const nodeAt = (path: YamlPath): Node | null => {
    const found = path.length === 0 ? document.contents : document.getIn(path.map(String).map(numeric), true);
    return (found as Node | null | undefined) ?? null;
  };
  const keyNode = (path: YamlPath, key: string): Node | null => {
    const map = nodeAt(path);
    if (!isMap(map)) return null;
    const pair = map.items.find((item) => isPair(item) && isScalar(item.key) && String(item.key.value) === key);
    return (pair?.key as Node | undefined) ?? null;
  };
  const ofKey = (path: YamlPath, key: string) => lineOf(keyNode(path, key)) ?? of(path);
  const of = (path: YamlPath): number | null => {
    for (let length = path.length; length >= 0; length -= 1) {
      const part = path.slice(0, length);
      // The line of a mapping's value is that of its first entry, but a person looks for its key.
      const last = part.at(-1);
      const line = (typeof last === 'string' ? lineOf(keyNode(part.slice(0, -1), last)) : null) ?? lineOf(nodeAt(part));
      if (line !== null) return line;
    }
    return null;
  };
  return { of, ofKey };
}

/** Sequence indices reach `getIn` as numbers, keys as text. */
function numeric(part: string): string | number {
  return /^\d+$/.test(part) ? Number(part) : part;
}

/** `bots[1].harness`: how a path is shown. */
export function showPath(path: YamlPath): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`;
    return text === '' ? String(part) : `${text}.${String(part)}`;
  }, '');
}
