/**
 * Reads the text of `.gantry/policy.yaml`: rules in their order, or every problem at once with path and line. Pure. Must not know
 * where the file is.
 */
import { type Document, isMap, isNode, isPair, isScalar, LineCounter } from 'yaml';
import { z } from 'zod';
import { SandboxMode } from '../../contracts/factory/team-file.ts';
import { deepestNesting, isNestedDeeper } from '../../kit/files/nesting.ts';
import { readYaml } from '../../kit/files/yaml.ts';
import { isCompound, saysCompound } from './command-line.ts';
import { compileGlob } from './glob.ts';
import type { PolicyAction, PolicyProblem, Verdict } from './policy.ts';
import { nameOf } from './risk.ts';
import { namesInPath } from './what-runs.ts';

/** Written by hand; anything larger is a mistake. Bytes. */
export const largestPolicyFile = 256 * 1024;
export const policyFile = '.gantry/policy.yaml';
/** Of a rule that was made from a question; shown beside it wherever it decides. */
export const fromQuestion = 'always allowed, from a question';
/** Finding the line of each takes time, and nobody reads more of them at once. */
const maxProblems = 100;

const Glob = z.string().min(1).max(500);
const Rule = z.strictObject({
  when: z.strictObject({
    tool: Glob.optional(),
    member: Glob.optional(),
    bot: Glob.optional(),
    path: Glob.optional(),
    host: Glob.optional(),
    command: Glob.optional(),
  }),
  // biome-ignore lint/suspicious/noThenProperty: `then` is a key of policy.yaml.
  then: z.enum(['allow', 'ask', 'deny']),
  reason: z.string().max(500).optional(),
});
export const PolicyFile = z.strictObject({
  rules: z.array(Rule).max(1000).default([]),
  /** Of every bot in a terminal. */
  sandbox: SandboxMode.optional(),
});

export interface PolicyRule {
  matches(action: PolicyAction): boolean;
  readonly then: Verdict;
  /** `.gantry/policy.yaml line 4: no pushes` */
  readonly name: string;
  /** Names in its path that decide what may run, in lower case: a rule about everything does not cover those. */
  readonly names: ReadonlySet<string>;
  /**
   * It is about certain hosts: a rule about everything does not open private addresses. Neither does one that was made from a question, which was about
   * a public host: whoever owns that name could lead it anywhere.
   */
  readonly namesHost: boolean;
}

type ReadPolicy =
  | { readonly ok: true; readonly rules: readonly PolicyRule[]; readonly sandbox: SandboxMode }
  | { readonly ok: false; readonly problems: readonly PolicyProblem[] };

export function readPolicy(text: string): ReadPolicy {
  if (Buffer.byteLength(text) > largestPolicyFile) {
    return bad([{ path: '', line: 1, message: `policy.yaml has more than ${largestPolicyFile} bytes.` }]);
  }
  if (isNestedDeeper(text)) {
    return bad([{ path: '', line: 1, message: `policy.yaml is nested more than ${deepestNesting} levels deep.` }]);
  }
  const counter = new LineCounter();
  const document = readYaml(text, counter);
  if (document.errors.length > 0) {
    return bad(
      document.errors.slice(0, maxProblems).map((error) => ({
        path: '',
        line: counter.linePos(error.pos[0]).line,
        message: `Not valid YAML: ${error.message}`,
      })),
    );
  }
  let raw: unknown;
  try {
    raw = document.toJS({ maxAliasCount: 100 }) ?? { rules: [] };
  } catch (error) {
    return bad([{ path: '', line: 1, message: `Not valid YAML: ${(error as Error).message}` }]);
  }
  const lineOf = (path: readonly PropertyKey[]) => findLine(document, counter, path);
  const parsed = PolicyFile.safeParse(raw);
  if (!parsed.success) {
    const found = parsed.error.issues.flatMap((issue) =>
      (issue.code === 'unrecognized_keys' ? issue.keys : [null]).map((key) => ({
        path: key === null ? issue.path : [...issue.path, key],
        message: key === null ? `${issue.message}.` : `There is no field "${key}".`,
      })),
    );
    return bad(
      found.slice(0, maxProblems).map(({ path, message }) => ({ path: showPath(path), line: lineOf(path), message })),
    );
  }
  const problems: PolicyProblem[] = [];
  const rules = parsed.data.rules.flatMap((rule, index) => {
    const path = ['rules', index];
    const line = lineOf(path);
    if (Object.keys(rule.when).length === 0) {
      problems.push({
        path: showPath([...path, 'when']),
        line,
        message: 'It matches nothing: name at least one of its fields.',
      });
      return [];
    }
    try {
      return [toRule(rule, line)];
    } catch (error) {
      problems.push({ path: showPath([...path, 'when']), line, message: (error as Error).message });
      return [];
    }
  });
  if (problems.length > 0) return bad(problems);
  return { ok: true, rules, sandbox: parsed.data.sandbox ?? 'none' };
}

function toRule({ when, then: verdict, reason }: z.infer<typeof Rule>, line: number): PolicyRule {
  const words = (glob: string | undefined) => (glob === undefined ? null : compileGlob(glob, 'words'));
  const [tool, member, bot, host, command] = [
    when.tool,
    when.member,
    when.bot,
    when.host?.toLowerCase(),
    when.command,
  ].map(words);
  const path = when.path === undefined ? null : compileGlob(when.path.replace(/^\.\//, ''), 'path');
  // `git *` is about git, not about a command after a semicolon. The author of `*`, or of a line of several, means it.
  const plainOnly =
    verdict === 'allow' && when.command !== undefined && !/^\*+$/.test(when.command) && !saysCompound(when.command);
  const named = reason === undefined ? '' : `: ${reason}`;
  return {
    // biome-ignore lint/suspicious/noThenProperty: the file's own word.
    then: verdict,
    name: `${policyFile} line ${line}${named}`,
    names: new Set(namesInPath((when.path ?? '').replace(/[{},]/g, '/')).map((name) => name.toLowerCase())),
    namesHost: when.host !== undefined && reason !== fromQuestion && namesHost(when.host),
    matches(action) {
      const name = nameOf(action);
      const [family = name, ...rest] = name.split('.');
      if (tool != null && !tool.test(name) && !tool.test(family)) return false;
      if (member != null && !member.test(rest.join('.'))) return false;
      if (bot != null && !isBot(bot, action.bot)) return false;
      if (path !== null && (action.path === undefined || !path.test(action.path.replace(/^\.\//, '')))) return false;
      if (host != null && !isHost(host, action.host)) return false;
      if (command == null) return true;
      const line = action.command?.replace(/^[ \t\n]+|[ \t\n]+$/g, '');
      return line !== undefined && command.test(line) && !(plainOnly && isCompound(line));
    },
  };
}

/** More than `*`, a port or dots: something that only some hosts have. */
function namesHost(glob: string): boolean {
  return /[\p{L}\p{N}]/u.test(glob.replace(/^([^:]*|\[.*\]):[\d*?{},]*$/, '$1'));
}

/** By its name, and with its port where that is not the usual one: `localhost` is about all ports, `localhost:5173` about one. */
function isHost(glob: RegExp, host: string | undefined): boolean {
  if (host === undefined) return false;
  const whole = host.toLowerCase();
  return glob.test(whole) || glob.test(whole.replace(/:\d+$/, ''));
}

/** By address or by slug. A rule about bots is never about a person. */
function isBot(glob: RegExp, bot: string | null): boolean {
  return bot !== null && (glob.test(bot) || glob.test(bot.split('@')[0]!));
}

function bad(problems: readonly PolicyProblem[]): ReadPolicy {
  return { ok: false, problems };
}

/** The line of the nearest thing on the path that the file has. */
function findLine(document: Document, counter: LineCounter, path: readonly PropertyKey[]): number {
  for (let length = path.length; length > 0; length -= 1) {
    const part = path.slice(0, length) as (string | number)[];
    const last = part.at(-1);
    const parent = document.getIn(part.slice(0, -1), true) ?? document.contents;
    const pair = isMap(parent)
      ? parent.items.find((item) => isPair(item) && isScalar(item.key) && item.key.value === last)
      : undefined;
    const node = pair?.key ?? document.getIn(part, true);
    if (isNode(node) && node.range) return counter.linePos(node.range[0]).line;
  }
  return 1;
}

/** `rules[2].when.path` */
function showPath(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`;
    return text === '' ? String(part) : `${text}.${String(part)}`;
  }, '');
}
