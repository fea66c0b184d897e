/** Connectors, subscriptions and jobs in a person's words. Pure. */
import type { Connector } from '../../../contracts/connectors/connector.ts';
import type { Job, RuleConfig } from '../../../contracts/connectors/rule.ts';
import {
  type ExecutionMode,
  type Subscription,
  type SubscriptionReason,
  type TrailEvent,
  transientReasons,
} from '../../../contracts/connectors/subscription.ts';
import { countWords } from '../../ui/count-words.ts';

export const authWords: Readonly<Record<Connector['auth']['type'], string>> = {
  oauth: 'Sign-in',
  api_key: 'API key',
  none: 'None',
};

/** How what an event begins may act. */
export const modeWords: Readonly<Record<ExecutionMode, { readonly word: string; readonly says: string }>> = {
  REQUIRE_APPROVAL: {
    word: 'Ask me first',
    says: 'Each job waits for your approval, then does only what needs no permission',
  },
  PLAN_ONLY: { word: 'Plan only', says: 'The bot reads and says what it would do, but changes nothing' },
  ACCEPT_EDITS: {
    word: 'Change files',
    says: 'The bot may change files; anything else that needs permission is refused',
  },
  BYPASS_PERMISSIONS: { word: 'As the bot is set up', says: 'Only for tickets; rules cannot use it' },
};

/** `repo: gantry, labels: bug, ui`; null: no arguments. */
export function argumentWords(values: Readonly<Record<string, unknown>>): string | null {
  const pairs = Object.entries(values).map(([name, value]) => {
    const plain = Array.isArray(value) && value.every((one) => typeof one !== 'object') ? value.join(', ') : value;
    return `${name}: ${typeof plain === 'object' ? JSON.stringify(plain) : String(plain)}`;
  });
  return pairs.length === 0 ? null : pairs.join(', ');
}

const isTransient = (reason: SubscriptionReason): boolean => (transientReasons as readonly string[]).includes(reason);

/** What a person can do about a subscription that does not listen; Gantry retries automatically where that may help. */
export function adviceOf({ status, error }: Pick<Subscription, 'status' | 'error'>): string | null {
  // Where it says what is wrong, it says that already.
  if (status === 'needs_reauth')
    return error === null ? 'Sign in again to continue.' : 'The subscription then continues.';
  if (status !== 'error' || error === null) return null;
  if (error.reason === 'not_paired') return 'Pair this computer with a cloud to continue: events arrive there.';
  if (isTransient(error.reason)) return 'Gantry tries again every minute.';
  switch (error.reason) {
    case 'event_not_found':
      return 'The server no longer offers this event. End the subscription, or try again once it does.';
    case 'too_many_subscriptions':
      return 'The server accepts no more subscriptions. End one that you do not need, then try again.';
    case 'unsupported':
      return 'The server cannot post this event. End the subscription.';
    case 'invalid_arguments':
      return 'The server rejected these arguments. End the subscription and subscribe with others.';
    case 'challenge_failed':
      return 'The server could not reach the callback address. Check that it can reach your cloud, then try again.';
    case 'terminated':
      return 'The server ended the subscription. Try again to renew it.';
    default:
      return 'Try again; if it keeps failing, ask the operator of the server.';
  }
}

export const mayRetry = ({ status, error }: Pick<Subscription, 'status' | 'error'>): boolean =>
  status === 'error' && error?.reason !== 'unsupported' && error?.reason !== 'invalid_arguments';

interface TrailStep {
  readonly word: string;
  readonly at: string | null;
  /** Where it did not come to this. */
  readonly missing: boolean;
  readonly jobId: string | null;
}

/** received → relayed → ticket → job: each that was, and the first that is still to come or never will. */
export function stepsOf(event: TrailEvent): readonly TrailStep[] {
  const { status, receivedAt, relayedAt, ticketId, runs } = event;
  const step = (word: string, at: string | null, missing = false, jobId: string | null = null): TrailStep => ({
    word,
    at,
    missing,
    jobId,
  });
  if (status === 'gap') return [step('The server reported missing events before this one', receivedAt ?? relayedAt)];
  const steps = [step('Received by the cloud', receivedAt)];
  if (status === 'waiting') return [...steps, step('Waiting for this computer', null, true)];
  if (status === 'expired') return [...steps, step('Expired after waiting 24 hours for this computer', null, true)];
  if (relayedAt !== null) steps.push(step('Relayed to this computer', relayedAt));
  if (ticketId === null) return [...steps, step(status === 'dead' ? 'Refused' : 'No ticket', null, true)];
  steps.push(step('Ticket opened', relayedAt));
  if (runs.length === 0) return [...steps, step('No rule matched', null, true)];
  return [...steps, ...runs.map((job) => step('Job', job.at, false, job.id))];
}

/** In a row: the whole of its way in a word. */
export function runsWords(event: TrailEvent): string {
  switch (event.status) {
    case 'waiting':
      return event.reason ?? 'waiting for this computer';
    case 'expired':
      return event.reason ?? 'waited 24 hours for this computer';
    case 'gap':
      return event.reason ?? 'events before this are missing';
    case 'dead':
      return event.reason ?? '';
    default:
  }
  if (event.runs.length === 0) return 'ticket only';
  return countWords(event.runs.length, 'job');
}

/** What bounds a rule, as far as it is not what every rule has. */
export function limitWords(rule: RuleConfig): string {
  return [
    rule.batchSeconds === 0 ? 'no batching' : `batches events for ${secondsWords(rule.batchSeconds)}`,
    `at most ${rule.maxRunsPerDay} a day`,
    `${secondsWords(rule.timeoutSeconds)} each`,
    ...(rule.dailySpendThresholdUsd === null ? [] : [`$${rule.dailySpendThresholdUsd} a day`]),
    ...(rule.match === null ? [] : ['only events that match its filter']),
  ].join(' · ');
}

/** `90 s`, `5 min`. */
function secondsWords(seconds: number): string {
  return seconds % 60 === 0 && seconds > 0 ? `${seconds / 60} min` : `${seconds} s`;
}

/** The verbs that a job has in its state. */
export function verbsOf({ status }: Pick<Job, 'status'>): readonly ('approve' | 'deny' | 'retry' | 'stop')[] {
  switch (status) {
    case 'awaiting_approval':
      return ['approve', 'deny'];
    case 'batching':
    case 'queued':
    case 'running':
      return ['stop'];
    case 'failed':
    case 'cancelled':
    case 'interrupted':
      return ['retry'];
    default:
      return [];
  }
}

/** First line of what a job is about. */
export const jobName = ({ config }: Pick<Job, 'config'>): string => config.instructions.split('\n', 1)[0] ?? '';

/** `120 in, 40 out, 3 cents` */
export function usageWords(usage: Readonly<Record<string, number>>): string {
  const names: Readonly<Record<string, string>> = { inputTokens: 'tokens in', outputTokens: 'tokens out' };
  return Object.entries(usage)
    .map(([name, value]) => `${Number(value.toFixed(4))} ${names[name] ?? name}`)
    .join(', ');
}
