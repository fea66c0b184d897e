/** Tasks and figures in a person's words. Pure. */
import type { QueueAge, QueueWorker, Task, TaskRetry, TaskStatus } from '../../../contracts/work-queue/task.ts';
import { formatElapsed } from '../../ui/now.tsx';

export const statusWords: Readonly<Record<TaskStatus, string>> = {
  queued: 'Queued',
  leased: 'Leased',
  running: 'Running',
  succeeded: 'Succeeded',
  failed: 'Failed',
  cancelled: 'Cancelled',
};

/** What a task is called: its command as it would be typed, else what it carries. Never empty. */
export function taskName({ payload }: Pick<Task, 'payload'>): string {
  const { command } = payload;
  const words = typeof command === 'string' ? command : Array.isArray(command) ? command.map(String).join(' ') : '';
  const line = words.trim().replaceAll(/\s*\n\s*/g, ' ⏎ ');
  if (line !== '') return line.slice(0, 500);
  const text = JSON.stringify(payload);
  return text === '{}' ? 'no payload' : text.slice(0, 500);
}

interface TaskStep {
  readonly run: string;
  readonly node: string;
  readonly title: string | null;
}

/** The step of a run that a task carries out; null if it carries out none. */
export function stepOf({ payload }: Pick<Task, 'payload'>): TaskStep | null {
  if (typeof payload.step !== 'object' || payload.step === null) return null;
  const { run, node, title } = payload.step as Record<string, unknown>;
  if (typeof run !== 'string' || typeof node !== 'string') return null;
  return { run, node, title: typeof title === 'string' && title !== '' ? title : null };
}

export const isHeld = ({ status }: Pick<Task, 'status'>): boolean => status === 'leased' || status === 'running';
export const isOver = ({ status }: Pick<Task, 'status'>): boolean => status !== 'queued' && !isHeld({ status });
/** Only what was given up goes back into the queue. */
export const mayRetry = ({ status }: Pick<Task, 'status'>): boolean => status === 'failed' || status === 'cancelled';

/** Since when a task waits, ms since the epoch: a queued one changes last when it is put into the line, again by a retry. */
export function waitsSince({ not_before, updated_at }: Pick<Task, 'not_before' | 'updated_at'>): number {
  const put = Date.parse(updated_at);
  return not_before === null ? put : Math.max(put, Date.parse(not_before));
}

/** `0:48 left`, or since when nobody beats for it. */
export function leaseWords(expiresAt: string, now: number): string {
  const left = Date.parse(expiresAt) - now;
  return left >= 0 ? `${formatElapsed(left)} left` : `lease expired ${formatElapsed(-left)} ago`;
}

/** `attempt 1 of 5`; a task that was never leased has none. */
export function attemptWords({ attempts, max_attempts }: Pick<Task, 'attempts' | 'max_attempts'>): string {
  return `${attempts} of ${max_attempts}`;
}

/** `gpu=a100, zone=eu`. */
export function labelWords(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([name, value]) => (value === '' ? name : `${name}=${value}`))
    .join(', ');
}

/** `after exit_*, timeout; first after 10 s`. */
export function retryWords({ on, backoff_seconds: seconds = 10 }: TaskRetry): string {
  return `after ${on.join(', ')}; first after ${seconds} s`;
}

/** What a worker says about itself, for its row; empty: nothing. */
export function abilityWords({ labels, images }: Pick<QueueWorker, 'labels' | 'images'>): string {
  const runs = images === null || images.length === 0 ? '' : images.includes('*') ? 'any image' : images.join(', ');
  return [labelWords(labels ?? {}), runs].filter((part) => part !== '').join(' · ');
}

const units = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'min'],
  [1, 's'],
] as const;

function span(seconds: number): string {
  const [size, unit] = units.find(([one]) => seconds >= one) ?? [1, 's'];
  return `${seconds / size} ${unit}`;
}

interface Bar {
  readonly label: string;
  readonly count: number;
  /** Of the highest one, 0 to 1. */
  readonly share: number;
}

/** The groups of ages as bars, youngest first. */
export function barsOf(ages: readonly QueueAge[]): Bar[] {
  const max = Math.max(1, ...ages.map(({ count }) => count));
  return ages.map(({ under_seconds: end, count }, index) => {
    const before = ages[index - 1]?.under_seconds ?? null;
    const label = end === null ? `over ${span(before ?? 0)}` : `< ${span(end)}`;
    return { label, count, share: count / max };
  });
}

/** Counts beyond four digits are shortened: `12k`, `1.2M`. The whole number is in the tooltip. */
export function shortCount(count: number): string {
  if (count < 10_000) return String(count);
  if (count < 1_000_000) return `${Math.floor(count / 1000)}k`;
  return `${(Math.floor(count / 100_000) / 10).toString()}M`;
}

/** What `gantry worker` answers with, when a result is of that form. */
interface CommandResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly durationMs: number | null;
  readonly truncated: boolean;
}

export function commandResult(result: unknown): CommandResult | null {
  if (typeof result !== 'object' || result === null) return null;
  const { exit_code, stdout, stderr, duration_ms, truncated } = result as Record<string, unknown>;
  if (typeof exit_code !== 'number' || typeof stdout !== 'string' || typeof stderr !== 'string') return null;
  return {
    exitCode: exit_code,
    stdout,
    stderr,
    durationMs: typeof duration_ms === 'number' ? duration_ms : null,
    truncated: truncated === true,
  };
}

/** The lines that begin with nothing but a terminal: put a task in, and work on it. */
export function commandLines(origin: string): { readonly add: string; readonly work: string } {
  const body = `'{"payload":{"command":"uname -a"}}'`;
  const auth = `-H "Authorization: Bearer $(cat key)"`;
  return {
    add: `curl -s ${auth} -H 'content-type: application/json' ${origin}/beta/work -d ${body}`,
    work: `npx gantry worker --url ${origin} --key-file key`,
  };
}
