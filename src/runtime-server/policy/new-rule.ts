/**
 * Makes a rule of `.gantry/policy.yaml` from one action that a person was asked about, and adds it to the text of the file, whose comments stay. Pure.
 * Must not know where the file is.
 */
import { isMap, isSeq, LineCounter, YAMLSeq } from 'yaml';
import { readYaml } from '../../kit/files/yaml.ts';
import { isCompound } from './command-line.ts';
import { decide } from './decide.ts';
import { policyFile, readPolicy } from './file.ts';
import type { PolicyAction } from './policy.ts';
import { nameOf } from './risk.ts';
import { namesInPath } from './what-runs.ts';

/** Shown beside the rule wherever it decides. */
const reason = 'always allowed, from a question';
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

/** The text with a rule at its end that allows this action to this bot. `text` null: there is no file yet. */
export function addRule(text: string | null, action: PolicyAction): NewRule {
  const before = readPolicy(text ?? '');
  if (!before.ok) return no(`${policyFile} line ${before.problems[0]!.line} is invalid, so no rule can be added.`);
  const why = whyNot(action);
  if (why !== null) return no(why);
  const rule = ruleOf(action);
  const file = appended(text, rule);
  if (file === null) return no(`${policyFile} is written in a way that Gantry cannot add to.`);
  const after = readPolicy(file);
  if (!after.ok) return no(after.problems[0]!.message);
  const decided = decide({ rules: after.rules, broken: null }, action, null);
  const added = after.rules.at(-1)!;
  if (decided.verdict !== 'allow') return no(`Another rule comes first: ${decided.rule}.`);
  const line = Number(/ line (\d+)/.exec(added.name)?.[1] ?? 1);
  return { ok: true, rule: linesOf(rule, '').join('\n'), file, line };
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

function ruleOf(action: PolicyAction): Rule {
  const { bot, command, path, host } = action;
  const named = { tool: nameOf(action), bot: bot ?? undefined, command: command?.trim(), path, host };
  const when = Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined));
  // biome-ignore lint/suspicious/noThenProperty: the file's own word.
  return { when: when as Record<string, string>, then: 'allow', reason };
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

function rulesIn(text: string): unknown[] {
  const raw = readYaml(text, new LineCounter()).toJS({ maxAliasCount: 100 }) as { rules?: unknown[] } | null;
  return raw?.rules ?? [];
}
