/**
 * Decides about an action: the person's rules first, then the defaults, both within the mode. A mode can narrow what a rule allows, and never
 * overrides a rule. Pure. Must not know files.
 */
import { posix } from 'node:path';
import type { PolicyRule } from './file.ts';
import type { PolicyAction, PolicyMode, PolicyVerdict } from './policy.ts';
import { type ActionClass, classOf, nameOf } from './risk.ts';
import { namesInPath } from './what-runs.ts';

/** Where a person finds a rule: `.gantry/policy.yaml line 4`. */
export interface Rules {
  readonly rules: readonly PolicyRule[];
  /** The file cannot be read whole: no rule of it allows, and no mode lifts a question. */
  readonly broken: string | null;
}

export function decide({ rules, broken }: Rules, given: PolicyAction, mode: PolicyMode | null): PolicyVerdict {
  const action = given.path === undefined ? given : { ...given, path: posix.normalize(given.path) };
  const kind = classOf(action);
  // A file that decides what may run, however deep: a general rule or mode does not cover it.
  const guarded = kind === 'observe' ? [] : namesInPath((action.path ?? '').replaceAll('\\', '/'));
  const planOnly = mode === 'PLAN_ONLY' && kind !== 'observe';
  if (broken !== null && !planOnly) {
    if (action.privateHost === true) return { verdict: 'deny', rule: closedHost(action.host) };
    return kind === 'observe' ? byDefault(action, kind, null) : { verdict: 'ask', rule: broken };
  }
  const isPrivate = action.privateHost === true;
  const opens = (one: PolicyRule) =>
    (one.then !== 'allow' || guarded.every((name) => one.names.has(name.toLowerCase()))) &&
    !(isPrivate && !one.namesHost);
  const rule = rules.find((one) => one.matches(action) && (one.then === 'deny' || opens(one)));
  if (rule?.then === 'deny') return { verdict: 'deny', rule: rule.name };
  if (planOnly) return { verdict: 'deny', rule: 'mode PLAN_ONLY: reading only' };
  if (rule !== undefined) return { verdict: rule.then, rule: rule.name };
  if (isPrivate) return { verdict: 'deny', rule: closedHost(action.host) };
  if (guarded[0] !== undefined) return { verdict: 'ask', rule: `default: changes in ${guarded[0]} need approval` };
  return byDefault(action, kind, mode);
}

function byDefault(action: PolicyAction, kind: ActionClass, mode: PolicyMode | null): PolicyVerdict {
  const allow = (rule: string): PolicyVerdict => ({ verdict: 'allow', rule });
  const ask = (rule: string): PolicyVerdict => ({ verdict: 'ask', rule });
  if (mode === 'BYPASS_PERMISSIONS') return allow('mode BYPASS_PERMISSIONS');
  const outside = action.path !== undefined && isOutside(action.path);
  if (kind === 'observe') {
    return outside && action.bot !== null
      ? ask('default: reading outside the workspace needs approval')
      : allow('default: reading is allowed');
  }
  if (action.preset !== undefined) return allow(`default: ${action.preset} is allowed by the team file`);
  if (action.newOrigin === true) return ask('default: opening a site that nobody named needs approval');
  if (mode === 'ACCEPT_EDITS' && nameOf(action) === 'file.write' && action.path !== undefined && !outside) {
    return allow('mode ACCEPT_EDITS');
  }
  if (kind === 'risky') return ask('default: risky actions need approval');
  if (action.bot === null && mode === null) return allow('default: a person may act');
  return ask('default: actions need approval');
}

function closedHost(host = 'this'): string {
  return `default: ${host} is not a public address; a rule in .gantry/policy.yaml that names this host can allow it`;
}

export function isOutside(path: string): boolean {
  return /^(?:[/\\~]|[A-Za-z]:)/.test(path) || path.split(/[/\\]/).includes('..');
}
