/**
 * The part of Helm's template language that the chart uses, which is that of Go's text/template: `if`, `else`, `with`, `end`, fields, pipelines, and the
 * functions below. Throws at everything else. Must not know the chart. `npm run test:cluster -- helm` holds it against the real text/template.
 */
import { createHash } from 'node:crypto';
import { stringify } from 'yaml';

type Value = unknown;
/** A method of what `.` leads to, such as `.Capabilities.APIVersions.Has`. */
type Method = (...words: readonly Value[]) => Value;

type Node =
  | { readonly is: 'text'; readonly text: string }
  | { readonly is: 'value'; readonly pipeline: string }
  | {
      readonly is: 'if' | 'with';
      readonly pipeline: string;
      readonly nodes: readonly Node[];
      readonly otherwise: readonly Node[];
    };

export function renderTemplate(source: string, data: Value): string {
  const tokens = tokensOf(source);
  const { nodes, end } = nodesOf(tokens, 0);
  if (end !== tokens.length) throw new Error(`{{ ${tokens[end]?.text} }} ends nothing.`);
  return written(nodes, data);
}

interface Token {
  readonly isAction: boolean;
  readonly text: string;
}

/** `{{-` takes the white space before it away, `-}}` what follows. */
function tokensOf(source: string): Token[] {
  const tokens: Token[] = [];
  let rest = source;
  for (;;) {
    const action = /\{\{(-(?=\s))?\s*((?:"[^"\\]*"|[^"{}])*?)\s*((?<=\s)-)?\}\}/.exec(rest);
    const before = action === null ? rest : rest.slice(0, action.index);
    if (/\{\{|\}\}/.test(before)) throw new Error(`This is no action that the renderer knows: ${before.slice(-80)}`);
    tokens.push({ isAction: false, text: action?.[1] === undefined ? before : before.trimEnd() });
    if (action === null) return tokens;
    tokens.push({ isAction: true, text: action[2]! });
    rest = rest.slice(action.index + action[0].length);
    if (action[3] !== undefined) rest = rest.trimStart();
  }
}

/** Up to the `else` or `end` that belongs to the block around them, or to the end. */
function nodesOf(tokens: readonly Token[], from: number): { readonly nodes: Node[]; readonly end: number } {
  const nodes: Node[] = [];
  let at = from;
  for (; at < tokens.length; at += 1) {
    const { isAction, text } = tokens[at]!;
    const [word = '', pipeline = ''] = text.split(/ (.*)/s);
    if (!isAction) nodes.push({ is: 'text', text });
    else if (text === 'else' || text === 'end') break;
    else if (word === 'if' || word === 'with') {
      const inside = nodesOf(tokens, at + 1);
      const hasElse = tokens[inside.end]?.text === 'else';
      const otherwise = hasElse ? nodesOf(tokens, inside.end + 1) : { nodes: [], end: inside.end };
      if (tokens[otherwise.end]?.text !== 'end') throw new Error(`{{ ${text} }} has no end.`);
      nodes.push({ is: word, pipeline, nodes: inside.nodes, otherwise: otherwise.nodes });
      at = otherwise.end;
    } else nodes.push({ is: 'value', pipeline: text });
  }
  return { nodes, end: at };
}

function written(nodes: readonly Node[], data: Value): string {
  return nodes
    .map((node) => {
      if (node.is === 'text') return node.text;
      const value = evaluated(node.pipeline, data);
      if (node.is === 'value') return printed(value, node.pipeline);
      if (!isTrue(value)) return written(node.otherwise, data);
      return written(node.nodes, node.is === 'with' ? value : data);
    })
    .join('');
}

function printed(value: Value, pipeline: string): string {
  if (typeof value === 'string' || typeof value === 'boolean' || Number.isSafeInteger(value)) return String(value);
  throw new Error(`{{ ${pipeline} }} would print ${JSON.stringify(value)}.`);
}

/** As Go has it: nothing, zero, and what is empty are false. */
function isTrue(value: Value): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0;
  return Boolean(value);
}

function evaluated(pipeline: string, data: Value): Value {
  let result: readonly Value[] = [];
  const commands = pipeline.match(/(?:"[^"\\]*"|[^"|])+/g) ?? [];
  for (const command of commands) {
    const [first = '', ...rest] = command.match(/"[^"\\]*"|\S+/g) ?? [];
    const words = [...rest.map((word) => operand(word, data)), ...result];
    const named = Object.hasOwn(functions, first) ? functions[first] : undefined;
    if (named !== undefined) result = [named(...words)];
    else {
      const value = operand(first, data);
      if (typeof value === 'function') result = [(value as Method)(...words)];
      else if (words.length === 0) result = [value];
      else throw new Error(`{{ ${pipeline} }}: the renderer knows no function ${first}.`);
    }
  }
  if (result.length !== 1) throw new Error(`{{ ${pipeline} }} is empty.`);
  return result[0];
}

function operand(word: string, data: Value): Value {
  if (/^".*"$/.test(word)) return word.slice(1, -1);
  if (/^\d+$/.test(word)) return Number(word);
  if (!/^\.(?:[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)?$/.test(word)) throw new Error(`The renderer knows no ${word}.`);
  let value = data;
  for (const name of word.split('.').filter((part) => part !== '')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name))
      throw new Error(`${word}: there is no ${name}.`);
    value = (value as Readonly<Record<string, Value>>)[name];
  }
  return value;
}

const text = (value: Value): string => {
  if (typeof value === 'string') return value;
  throw new Error(`${JSON.stringify(value)} is no text.`);
};

const functions: Readonly<Record<string, Method>> = {
  not: (value) => !isTrue(value),
  quote: (value) => JSON.stringify(text(value)),
  trimPrefix: (prefix, value) =>
    text(value).startsWith(text(prefix)) ? text(value).slice(text(prefix).length) : value,
  sha256sum: (value) => createHash('sha256').update(text(value)).digest('hex'),
  toYaml: (value) =>
    stringify(value, { sortMapEntries: true, indentSeq: false, lineWidth: 0, version: '1.1' }).trimEnd(),
  nindent: (spaces, value) => `\n${text(value).replaceAll(/^/gm, ' '.repeat(spaces as number))}`,
};
