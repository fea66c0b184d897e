/** The form of a rule: its values, its errors, and the request. Pure; must not know how it looks. */
import {
  type Automation,
  type ChangeRule,
  maxExpectedOutputLength,
  maxInstructionsLength,
  type Rule,
  type RuleMode,
  ruleDefaults,
} from '../../../contracts/connectors/rule.ts';
import { jsonProblem } from '../../ui/schema-fields.ts';

export interface RuleDraft {
  readonly botId: string;
  readonly instructions: string;
  readonly expectedOutput: string;
  readonly executionMode: RuleMode;
  /** Seconds. */
  readonly batchSeconds: string;
  readonly maxRunsPerDay: string;
  /** Seconds. */
  readonly timeoutSeconds: string;
  /** Dollars; empty: none. */
  readonly dailySpend: string;
  /** JSON; empty: every event. */
  readonly match: string;
}

export type RuleProblems = Partial<Record<keyof RuleDraft, string>>;

export function draftOfRule(rule: Rule | null, botId: string, mode: RuleMode = ruleDefaults.executionMode): RuleDraft {
  const { batchSeconds, maxRunsPerDay, timeoutSeconds, dailySpendThresholdUsd, match } = rule ?? ruleDefaults;
  return {
    botId: rule?.botId ?? botId,
    instructions: rule?.instructions ?? '',
    expectedOutput: rule?.expectedOutput ?? '',
    executionMode: rule?.executionMode ?? mode,
    batchSeconds: String(batchSeconds),
    maxRunsPerDay: String(maxRunsPerDay),
    timeoutSeconds: String(timeoutSeconds),
    dailySpend: dailySpendThresholdUsd === null ? '' : String(dailySpendThresholdUsd),
    match: match === null ? '' : JSON.stringify(match, null, 2),
  };
}

const bytesOf = (text: string): number => new TextEncoder().encode(text).length;

function whole(text: string, least: number, max: number): string | undefined {
  const value = Number(text);
  if (text.trim() !== '' && Number.isInteger(value) && value >= least && value <= max) return undefined;
  return `Enter a whole number from ${least} to ${max}.`;
}

/** `cannot`: why the bot that is chosen cannot be run by a rule; null: it can, or none is chosen. */
export function problemsOfRule(draft: RuleDraft, cannot: string | null = null): RuleProblems {
  const problems: { -readonly [name in keyof RuleDraft]?: string | undefined } = {
    batchSeconds: whole(draft.batchSeconds, 0, 3600),
    maxRunsPerDay: whole(draft.maxRunsPerDay, 1, 1000),
    timeoutSeconds: whole(draft.timeoutSeconds, 30, 1800),
  };
  if (draft.botId === '') problems.botId = 'Required.';
  else if (cannot !== null) problems.botId = `Rules cannot run this bot: ${cannot}`;
  if (draft.instructions.trim() === '') problems.instructions = 'Required.';
  for (const [name, max] of [
    ['instructions', maxInstructionsLength],
    ['expectedOutput', maxExpectedOutputLength],
  ] as const) {
    const bytes = bytesOf(draft[name]);
    if (bytes > max) problems[name] = `Too long: ${bytes} bytes. At most ${max}.`;
  }
  const spend = Number(draft.dailySpend);
  if (draft.dailySpend.trim() !== '' && !(spend > 0 && spend <= 1_000_000)) {
    problems.dailySpend = 'Enter an amount above 0, or leave it empty for no limit.';
  }
  if (draft.match.trim() !== '') {
    const problem = jsonProblem(draft.match);
    const value: unknown = problem === null ? JSON.parse(draft.match) : null;
    if (problem !== null) problems.match = problem;
    else if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      problems.match = 'Must be a JSON Schema: { "properties": … }.';
    }
  }
  return Object.fromEntries(Object.entries(problems).filter(([, problem]) => problem !== undefined));
}

/** Of a draft without problems; what is as every rule has it, is left out. */
export function automationOf(draft: RuleDraft): Automation & { readonly botId: string } {
  const fields = fieldsOf(draft);
  const defaults: Readonly<Record<string, unknown>> = ruleDefaults;
  const other = Object.entries(fields).filter(
    ([name, value]) => defaults[name] === undefined || value !== defaults[name],
  );
  return { ...Object.fromEntries(other), botId: draft.botId, instructions: draft.instructions };
}

/** Only what differs from what the rule is now. */
export function changeOfRule(draft: RuleDraft, rule: Rule): ChangeRule {
  const old: Readonly<Record<string, unknown>> = rule;
  const other = Object.entries({ ...fieldsOf(draft), botId: draft.botId, instructions: draft.instructions }).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(old[name]),
  );
  return Object.fromEntries(other);
}

function fieldsOf(draft: RuleDraft) {
  return {
    expectedOutput: draft.expectedOutput,
    executionMode: draft.executionMode,
    batchSeconds: Number(draft.batchSeconds),
    maxRunsPerDay: Number(draft.maxRunsPerDay),
    timeoutSeconds: Number(draft.timeoutSeconds),
    dailySpendThresholdUsd: draft.dailySpend.trim() === '' ? null : Number(draft.dailySpend),
    match: draft.match.trim() === '' ? null : (JSON.parse(draft.match) as Record<string, unknown>),
  };
}

/** What creates a removed rule again, as version 1 with an id of its own. */
export function sameRule({
  id: _id,
  subscriptionId: _of,
  version: _v,
  createdAt: _c,
  updatedAt: _u,
  ...rule
}: Rule): Automation {
  return rule;
}
