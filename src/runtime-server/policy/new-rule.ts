/**
 * Makes a rule of `.gantry/policy.yaml` from actions that a person was asked about, adds it to the text of the file, whose comments stay, and takes it
 * out again. Pure.
 * Must not know where the file is.
 */
import { posix } from 'node:path';
import { isMap, isSeq, LineCounter, YAMLSeq } from 'yaml';
import { readYaml } from '../../kit/files/yaml.ts';
import { isCompound } from './command-line.ts';
import { decide, isOutside } from './decide.ts';
import { fromQuestion, policyFile, readPolicy } from './file.ts';
import type { PolicyAction } from './policy.ts';
import { nameOf } from './risk.ts';
import { namesInPath } from './what-runs.ts';

/** As long as the file lets a glob be. */
const maxGlobLength = 500;

type NewRule =
  | { readonly ok: true; readonly rule: string; readonly file: string; readonly line: number }
  /** `why` is a sentence that says why this cannot be a rule. */
  | { readonly ok: false; readonly why: string };

interface Rule {
  readonly when: Readonly<Record<string, string>>;
  readonly then: 'allow';
  readonly reason: string;
}

/** Whose rule it becomes: of the bots that asked, of every bot of their team, or of every bot of the workspace. */
export type Reach = 'bot' | 'team' | 'workspace';

/**
 * The text with a rule at its end that allows each of these actions to its bot. Several may differ in one thing only: the rule then lists
 * their bots, commands or hosts, or names the folder of their files. `text` null: there is no file yet.
 */
export function addRule(
  text: string | null,
  actions: readonly [PolicyAction, ...PolicyAction[]],
  reach: Reach = 'bot',
): NewRule {
  const before = readPolicy(text ?? '');
  if (!before.ok) return no(`${policyFile} line ${before.problems[0]!.line} is invalid, so no rule can be added.`);
  const why = actions.map(whyNot).find((each) => each !== null) ?? null;
  if (why !== null) return no(why);
  const [first, ...others] = actions.map((action) => reaching(action, reach));
  const rule = ruleOf([first!, ...others]);
  if (rule === null) return no('They differ in more than one rule can name.');
  const file = appended(text, rule);
  if (file === null) return no(`${policyFile} is written in a way that Gantry cannot add to.`);
  const after = readPolicy(file);
  if (!after.ok) return no(after.problems[0]!.message);
  const decided = actions.map((action) => decide({ rules: after.rules, broken: null }, action, null));
  const added = after.rules.at(-1)!;
  const other = decided.find(({ verdict }) => verdict !== 'allow');
  if (other !== undefined) return no(`Another rule comes first: ${other.rule}.`);
  const line = Number(/ line (\d+)/.exec(added.name)?.[1] ?? 1);
  return { ok: true, rule: linesOf(rule, '').join('\n'), file, line };
}

function reaching(action: PolicyAction, reach: Reach): PolicyAction {
  const team = action.bot?.split('@')[1];
  if (reach === 'workspace') return { ...action, bot: '*' };
  return reach === 'team' && team !== undefined ? { ...action, bot: `*@${team}` } : action;
}

const no = (why: string): NewRule => ({ ok: false, why });

function whyNot(action: PolicyAction): string | null {
  const { bot, command, path, host } = action;
  if (bot === null) return 'Only questions of bots can become rules.';
  if (action.credential === true) return 'Typing into a password field needs approval each time.';
  if (action.newOrigin === true) return 'Opening a site that nobody named needs approval each time.';
  if (command === undefined && path === undefined && host === undefined && action.attached !== true) {
    return 'It names no command, file or host, so a rule would allow more than this.';
  }
  if (command !== undefined && isCompound(command)) {
    return 'It is more than one plain command: a shell would read more in it than a rule can name.';
  }
  const values = [bot, command, path, host].filter((value) => value !== undefined);
  if (values.some((value) => /[*?{}]/.test(value))) {
    return 'It contains *, ?, { or }, which mean something else in a rule.';
  }
  if (values.some((value) => value.length > maxGlobLength)) return `It has more than ${maxGlobLength} characters.`;
  const [guarded] = namesInPath((path ?? '').replaceAll('\\', '/'));
  return guarded === undefined ? null : `It changes what may run (${guarded}), which needs approval each time.`;
}

/** What an action names, in the order of the file. */
function namedBy(action: PolicyAction): Readonly<Record<string, string>> {
  const { bot, command, path, host } = action;
  const named = { tool: nameOf(action), bot: bot ?? undefined, command: command?.trim(), path, host };
  const all = Object.entries(named).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return Object.fromEntries(all);
}

/** Null: they differ in more than one thing, or in one that a rule cannot name for several. */
function ruleOf(actions: readonly [PolicyAction, ...PolicyAction[]]): Rule | null {
  const [first, ...others] = actions.map(namedBy) as [Record<string, string>, ...Record<string, string>[]];
  const when = { ...first };
  const fields = new Set([first, ...others].flatMap((each) => Object.keys(each)));
  const different = [...fields].filter((field) => others.some((each) => each[field] !== first[field]));
  const [field] = different;
  if (different.length > 1) return null;
  if (field !== undefined) {
    const values = [...new Set([first, ...others].map((each) => each[field]))];
    if (field === 'tool' || values.includes(undefined)) return null;
    const glob = globOf(field, values as string[]);
    if (glob === null) return null;
    when[field] = glob;
  }
  // biome-ignore lint/suspicious/noThenProperty: the file's own word.
  return { when, then: 'allow', reason: fromQuestion };
}

/** Exactly these values; of files the folder that has all of them, because nobody writes the same file only. */
function globOf(field: string, values: readonly string[]): string | null {
  if (field === 'path') {
    const [first, ...others] = values.map((path) => posix.normalize(path).split('/').slice(0, -1));
    const shared = first!.findIndex((name, at) => others.some((each) => each[at] !== name));
    const folder = first!.slice(0, shared === -1 ? undefined : shared);
    return folder.length === 0 || values.some(isOutside) ? null : `${folder.join('/')}/**`;
  }
  // Between braces a comma ends a value.
  return values.some((value) => value.includes(',')) ? null : `{${values.join(',')}}`;
}

export interface Asked {
  readonly id: string;
  readonly action: PolicyAction;
}

interface Proposal extends Omit<NewRule & { ok: true }, 'ok'> {
  /** Ids of those that the rule allows. */
  readonly covers: readonly string[];
}

/** More are not read at once. */
const maxProposals = 10;

/** Rules that each would allow several of these, the one for most first; none is in two. */
export function proposeRules(text: string | null, asked: readonly Asked[]): readonly Proposal[] {
  const before = readPolicy(text ?? '');
  if (!before.ok) return [];
  // What an earlier rule decides, no rule after it changes.
  const ruled = (action: PolicyAction) => {
    const decided = decide({ rules: before.rules, broken: null }, action, null);
    return before.rules.some(({ name }) => name === decided.rule);
  };
  let left = asked.filter(({ action }) => whyNot(action) === null && !ruled(action));
  const proposals: Proposal[] = [];
  while (proposals.length < maxProposals) {
    const group = largestGroup(left);
    if (group === null) break;
    const ids = new Set(group.map(({ id }) => id));
    const added = addRule(text, group.map(({ action }) => action) as [PolicyAction, ...PolicyAction[]]);
    if (added.ok) proposals.push({ rule: added.rule, file: added.file, line: added.line, covers: [...ids] });
    left = left.filter(({ id }) => !ids.has(id));
  }
  return proposals;
}

/** Of those that differ in one thing only; of files, those in one folder. Null: there are no two. */
function largestGroup(asked: readonly Asked[]): readonly Asked[] | null {
  const groups = ['bot', 'command', 'path', 'host'].flatMap((field) => {
    const byRest = new Map<string, Asked[]>();
    for (const one of asked) {
      const { [field]: value, ...rest } = namedBy(one.action);
      if (value === undefined) continue;
      const place = field === 'path' ? posix.normalize(value).split('/').slice(0, -1)[0] : null;
      const key = JSON.stringify([rest, place]);
      const group = byRest.get(key) ?? [];
      if (globOf(field, [value, value]) !== null && fits(field, [...group, one])) byRest.set(key, [...group, one]);
    }
    return [...byRest.values()];
  });
  const largest = groups.reduce((most, each) => (each.length > most.length ? each : most), []);
  return largest.length < 2 ? null : largest;
}

/** A list of values must stay as short as the file lets a glob be. */
function fits(field: string, group: readonly Asked[]): boolean {
  return (
    field === 'path' ||
    (globOf(
      field,
      group.map(({ action }) => namedBy(action)[field]!),
    )?.length ?? 0) <= maxGlobLength
  );
}

/** A string of JSON is one of YAML, whatever is in it. */
function linesOf({ when, then: verdict, reason: why }: Rule, indent: string): string[] {
  return [
    `${indent}- when:`,
    ...Object.entries(when).map(([key, value]) => `${indent}    ${key}: ${JSON.stringify(value)}`),
    `${indent}  then: ${verdict}`,
    `${indent}  reason: ${JSON.stringify(why)}`,
  ];
}

/** Null if the result would be anything else than the old rules and the new one. */
function appended(text: string | null, rule: Rule): string | null {
  const old = text ?? '';
  const counter = new LineCounter();
  const document = readYaml(old, counter);
  const rules = isMap(document.contents) ? document.contents.get('rules', true) : undefined;
  const start = old === '' || old.endsWith('\n') ? old : `${old}\n`;
  let file: string;
  if (document.contents === null) file = `${start}rules:\n${linesOf(rule, '  ').join('\n')}\n`;
  else if (isSeq(rules) && rules.flow !== true && rules.items.length > 0 && rules.range) {
    const indent = ' '.repeat(counter.linePos(rules.range[0]).col - 1);
    file = `${start}${linesOf(rule, indent).join('\n')}\n`;
  } else {
    const all = isSeq(rules) ? [...rules.items, document.createNode(rule)] : [document.createNode(rule)];
    const next = new YAMLSeq();
    next.items = all;
    document.set('rules', next);
    file = document.toString({ lineWidth: 0 });
  }
  const [was, is] = [rulesIn(old), rulesIn(file)];
  return JSON.stringify([...was, rule]) === JSON.stringify(is) ? file : null;
}

/** The text as it was before `addRule` added its last rule. Null if there is no rule, or if a person wrote the last one. */
export function removeLastRule(text: string): { readonly file: string; readonly rule: string } | null {
  if (!readPolicy(text).ok) return null;
  const rules = rulesIn(text);
  const last = rules.at(-1) as Rule | undefined;
  if (last?.reason !== fromQuestion) return null;
  const file = textWithoutLast(text, last, rules.length);
  const fits = JSON.stringify(rulesIn(file)) === JSON.stringify(rules.slice(0, -1)) && readPolicy(file).ok;
  return fits ? { file, rule: linesOf(last, '').join('\n') } : null;
}

/** Cuts the rule off where `appended` put it, so that every other character stays. A list that is written on one line is rewritten instead. */
function textWithoutLast(text: string, last: Rule, count: number): string {
  const counter = new LineCounter();
  const document = readYaml(text, counter);
  const rules = document.get('rules', true);
  const indent = isSeq(rules) && rules.range ? ' '.repeat(counter.linePos(rules.range[0]).col - 1) : '';
  const written = `${linesOf(last, indent).join('\n')}\n`;
  if (text.endsWith(written)) {
    const before = text.slice(0, -written.length);
    return count === 1 ? before.replace(/^rules:\n$/m, '') : before;
  }
  document.deleteIn(['rules', count - 1]);
  return document.toString({ lineWidth: 0 });
}

function rulesIn(text: string): unknown[] {
  const raw = readYaml(text, new LineCounter()).toJS({ maxAliasCount: 100 }) as { rules?: unknown[] } | null;
  return raw?.rules ?? [];
}
