/**
 * The states of a job, the order of modes, and the parts of rules. Pure: it holds the table of moves, `jobs.ts` applies it. Must not know rows, HTTP
 * or bots.
 */
import {
  type Automation,
  type JobStatus,
  type RuleConfig,
  type RuleMode,
  ruleDefaults,
} from '../../../contracts/connectors/rule.ts';

/** The moves of a job. A move that is not listed here is refused. */
export const nextStates = {
  batching: ['awaiting_approval', 'queued', 'cancelled'],
  awaiting_approval: ['queued', 'denied', 'cancelled'],
  // Back to a person where its rule has become ask-first.
  queued: ['awaiting_approval', 'running', 'cancelled'],
  running: ['stopping', 'completed', 'failed', 'interrupted'],
  stopping: ['cancelled', 'interrupted'],
  failed: ['awaiting_approval'],
  interrupted: ['awaiting_approval'],
  cancelled: ['awaiting_approval'],
  completed: [],
  denied: [],
} as const satisfies Record<JobStatus, readonly JobStatus[]>;

export function canBecome(from: JobStatus, to: JobStatus): boolean {
  return (nextStates[from] as readonly JobStatus[]).includes(to);
}

/** No attempt of theirs has begun, or a retry waits. */
export const pendingStates = ['batching', 'awaiting_approval', 'queued'] as const satisfies readonly JobStatus[];
export const liveStates = ['running', 'stopping'] as const satisfies readonly JobStatus[];

export const retryable = ['failed', 'interrupted', 'cancelled'] as const satisfies readonly JobStatus[];

/** From the strictest. */
const strictness: readonly RuleMode[] = ['PLAN_ONLY', 'REQUIRE_APPROVAL', 'ACCEPT_EDITS'];

export function stricter(a: RuleMode, b: RuleMode): RuleMode {
  return strictness.indexOf(a) <= strictness.indexOf(b) ? a : b;
}

/** A cancellation that the bot has not acknowledged by then ends as interrupted, for a person to look at. Milliseconds. */
export const stopDeadlineMs = 15_000;
export const dayMs = 24 * 60 * 60_000;
/** Jobs that run at once, over all bots, without those that wait for a person's yes; one bot runs one. */
export const maxRunning = 4;
/** Events that one job gathers; the next begins another. */
export const maxGathered = 100;
/** Past events that a dry run reads. */
export const maxScanned = 50;
/** A question ends after this: approvals hold none longer. */
export const askedForMs = 7 * dayMs;

/** `mode`: of the subscription, where the rule names none and it is one that rules can have. */
export function configOf(automation: Automation, botId: string, mode: RuleMode | null): RuleConfig {
  const given = Object.fromEntries(Object.entries(automation).filter(([, value]) => value !== undefined));
  const base = { ...ruleDefaults, ...(mode !== null && { executionMode: mode }) };
  return { ...base, ...given, instructions: automation.instructions, botId };
}

/** Whether the content is equal, whatever the order of keys that came from outside. */
export function sameConfig(a: RuleConfig, b: RuleConfig): boolean {
  return JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, sorted(inner)]));
}
