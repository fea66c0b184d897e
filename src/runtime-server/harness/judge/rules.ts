/**
 * Rules as data: what a title, a region of the screen, a hook or an OSC of one harness means. They differ by harness and version,
 * so no rule is shared. Owns the format and its matching; must not know a harness or keep a state.
 */
import type { AgentState } from '../../../contracts/factory/agent.ts';
import type { InterruptKeys } from '../harness.ts';
import type { Claim, Evidence } from './evidence.ts';
import { type RegionName, regionText, type View } from './view.ts';

export interface Condition {
  readonly region: RegionName;
  /** Rows for `bottom`; default 12. */
  readonly rows?: number;
  readonly contains?: string;
  /** Regular expression, flags `mu`: `^` and `$` are row ends. Named groups fill `{name}` in the reason. */
  readonly regex?: string;
  /** Regular expression that must not match, same flags. */
  readonly not?: string;
}

interface RuleBase {
  readonly id: string;
  /** null: known, but it does not affect the state. */
  readonly claim: Claim | null;
  /** States that the claim may end; absent: any. How the one authority is kept: others decide only on named edges. */
  readonly from?: readonly AgentState[];
}

/** Read from title and screen. The match with the highest priority is the screen's only verdict. */
export interface ScreenRule extends RuleBase {
  readonly source: 'title' | 'screen';
  readonly priority: number;
  readonly when: readonly Condition[];
  /** How long it must hold without a break before it decides, in milliseconds. */
  readonly holdMs: number;
  /** Other hold times, by the state that it would end. */
  readonly holdFrom?: Readonly<Partial<Record<AgentState, number>>>;
  /** A screen of the program's start: once its first hook was heard, the same words are only words. */
  readonly beforeHooks?: true;
}

/** Read from an event of the harness: a hook's name and payload, or an OSC's code and text (as `text`). */
export interface EventRule extends RuleBase {
  readonly source: 'hook' | 'osc';
  /** Name of the hook event, or the OSC code as a string. */
  readonly event: string;
  /** Each field (dotted path) must match its regular expression. */
  readonly where?: Readonly<Record<string, string>>;
}

export interface Ruleset {
  readonly harness: string;
  /** Named in `explain`, such as `claude/2.1.329`. */
  readonly version: string;
  /** Versions of the harness that the recordings cover: `from` ≤ version < `below`. null: any. */
  readonly covers: { readonly from: string; readonly below: string } | null;
  readonly authority: 'hook' | 'osc' | 'screen';
  /** After how long without any matching screen rule the screen counts as unclear; null: the screen is not read. */
  readonly unclearAfterMs: number | null;
  readonly interrupt: InterruptKeys;
  readonly screen: readonly ScreenRule[];
  readonly events: readonly EventRule[];
}

interface Compiled {
  readonly rule: ScreenRule;
  readonly tests: readonly {
    readonly condition: Condition;
    readonly regex: RegExp | null;
    readonly not: RegExp | null;
  }[];
}

export interface Matcher {
  /** The screen's verdict, or null when no rule matches. `heard`: the program has called a hook. */
  screen(view: View, heard: boolean): { readonly rule: ScreenRule; readonly evidence: Evidence } | null;
  event(source: 'hook' | 'osc', event: string, payload: Readonly<Record<string, unknown>>): Evidence | null;
}

/** Compiles a ruleset once; a bad regular expression throws here, at start, not in the middle of a turn. */
export function compileRules(ruleset: Ruleset): Matcher {
  const screen: Compiled[] = [...ruleset.screen]
    .sort((a, b) => b.priority - a.priority)
    .map((rule) => ({
      rule,
      tests: rule.when.map((condition) => ({
        condition,
        regex: condition.regex === undefined ? null : new RegExp(condition.regex, 'mu'),
        not: condition.not === undefined ? null : new RegExp(condition.not, 'mu'),
      })),
    }));
  const events = ruleset.events.map((rule) => ({
    rule,
    where: Object.entries(rule.where ?? {}).map(([path, source]) => ({ path, regex: new RegExp(source, 'iu') })),
  }));

  return {
    screen(view, heard) {
      for (const { rule, tests } of screen) {
        if (heard && rule.beforeHooks) continue;
        const words: Record<string, string> = {};
        let seen = '';
        const all = tests.every(({ condition, regex, not }) => {
          const text = regionText(view, condition.region, condition.rows);
          // A missing region cannot hold forbidden text.
          if (text === null) return condition.contains === undefined && regex === null;
          if (condition.contains !== undefined && !text.includes(condition.contains)) return false;
          if (not?.test(text)) return false;
          const match = regex?.exec(text);
          if (regex && !match) return false;
          if (match?.groups) Object.assign(words, match.groups);
          seen ||= match?.[0].trim() || condition.contains || '';
          return true;
        });
        if (all) return { rule, evidence: toEvidence(rule, rule.source, seen, (name) => words[name]) };
      }
      return null;
    },
    event(source, event, payload) {
      for (const { rule, where } of events) {
        if (rule.source !== source || rule.event !== event) continue;
        if (!where.every(({ path, regex }) => regex.test(fieldText(payload, path) ?? ''))) continue;
        const seen = Object.keys(rule.where ?? {}).map((path) => fieldText(payload, path));
        return toEvidence(rule, source, [event, ...seen].join(' '), (path) => fieldText(payload, path));
      }
      return null;
    },
  };
}

function toEvidence(
  rule: RuleBase,
  source: Evidence['source'],
  seen: string,
  word: (name: string) => string | undefined,
): Evidence {
  const reason = rule.claim?.reason?.replace(/\{([\w.]+)\}/g, (_, name: string) => shorten(word(name) ?? '', 300));
  return {
    source,
    rule: rule.id,
    seen: shorten(seen, 200),
    claim: rule.claim && (reason === undefined ? rule.claim : { ...rule.claim, reason: reason.trim() }),
    ...(rule.from && { from: rule.from }),
  };
}

function fieldText(payload: Readonly<Record<string, unknown>>, path: string): string | undefined {
  let value: unknown = payload;
  for (const key of path.split('.')) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Record<string, unknown>)[key];
  }
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : undefined;
}

function shorten(text: string, max: number): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length <= max ? line : `${line.slice(0, max - 1)}…`;
}
