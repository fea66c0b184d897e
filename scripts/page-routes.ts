/**
 * What of a route the page needs: how it is called. The client trusts what a server answers and the server checks what it is sent, so the schemas of
 * both stay out of the page, with all that only they use.
 */
import { parseAst } from 'vite';

const unused: ReadonlySet<string> = new Set([
  'summary',
  'auth',
  'scope',
  'owner',
  'params',
  'query',
  'body',
  'bodyCodes',
  'bodyLimit',
  'answers',
  'media',
  'errors',
]);

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
}
interface Property extends Node {
  readonly computed: boolean;
  readonly key: Node & { readonly name?: string };
}
interface Call extends Node {
  readonly callee: Node & { readonly name?: string };
  readonly arguments: readonly (Node & { readonly properties?: readonly Node[] })[];
}

/** The JavaScript of a module of the contracts, whose routes keep what a call needs; null where it has none. */
export function callsOnly(code: string): string | null {
  if (!code.includes('defineRoute(')) return null;
  const cuts: Node[] = [];
  visit(parseAst(code) as unknown, (node) => {
    const call = node as Call;
    if (call.type !== 'CallExpression' || call.callee.name !== 'defineRoute') return;
    for (const one of call.arguments[0]?.properties ?? []) {
      const { type, computed, key } = one as Property;
      if (type === 'Property' && !computed && unused.has(key.name ?? '')) cuts.push(one);
    }
  });
  let kept = code;
  for (const { start, end } of cuts.toReversed()) {
    const comma = /^\s*,/.exec(kept.slice(end))?.[0].length ?? 0;
    kept = kept.slice(0, start) + kept.slice(end + comma);
  }
  return cuts.length === 0 ? null : kept;
}

function visit(value: unknown, each: (node: Node) => void): void {
  if (Array.isArray(value)) for (const one of value) visit(one, each);
  else if (typeof value === 'object' && value !== null) {
    if ('type' in value) each(value as Node);
    for (const one of Object.values(value)) visit(one, each);
  }
}
