/** The form of a new task: its values, its errors, the request, and which field the server's refusal is about. Pure; must not know how it looks. */
import { AppError } from '../../../contracts/common/errors.ts';
import { Labels, maxLabels, NewTask, TaskRate, TaskRetry } from '../../../contracts/work-queue/task.ts';

/** As typed; empty: not named. */
export interface HandInDraft {
  readonly command: string;
  readonly attempts: string;
  readonly image: string;
  /** `gpu=a100, zone=eu`. */
  readonly labels: string;
  /** Codes of errors, with commas or spaces between. */
  readonly retryOn: string;
  /** Seconds. */
  readonly firstWait: string;
  readonly concurrencyKey: string;
  readonly atOnce: string;
  readonly rateKey: string;
  readonly perMinute: string;
  readonly fairnessKey: string;
}

export type HandInField = keyof HandInDraft;
export type HandInProblems = Partial<Record<HandInField, string>>;

const defaultAttempts = 5;

export const emptyHandIn: HandInDraft = {
  command: '',
  attempts: String(defaultAttempts),
  image: '',
  labels: '',
  retryOn: '',
  firstWait: '',
  concurrencyKey: '',
  atOnce: '',
  rateKey: '',
  perMinute: '',
  fairnessKey: '',
};

/** What most tasks leave empty, in the order of the form. */
export const furtherFields = [
  'image',
  'labels',
  'retryOn',
  'firstWait',
  'concurrencyKey',
  'atOnce',
  'rateKey',
  'perMinute',
  'fairnessKey',
] as const satisfies readonly HandInField[];

const { shape } = NewTask;
const bounds = {
  attempts: { least: 1, max: 100, takes: shape.max_attempts },
  firstWait: { least: 1, max: 86_400, takes: TaskRetry.shape.backoff_seconds },
  atOnce: { least: 1, max: 1000, takes: shape.concurrency_limit },
  perMinute: { least: 1, max: 60_000, takes: TaskRate.shape.per_minute },
} as const;
const lines = {
  image: { max: 500, takes: shape.sandbox_image },
  concurrencyKey: { max: 200, takes: shape.concurrency_key },
  rateKey: { max: 200, takes: TaskRate.shape.key },
  fairnessKey: { max: 200, takes: shape.fairness_key },
} as const;
const maxCodes = 20;

/** A field that needs another one, and what to do where that one is empty. */
const needs: readonly (readonly [field: HandInField, needed: HandInField, says: string])[] = [
  ['firstWait', 'retryOn', 'Name the failures to retry, or leave the first wait empty.'],
  ['atOnce', 'concurrencyKey', 'Name the key, or leave the number of tasks at once empty.'],
  ['perMinute', 'rateKey', 'Name the key, or leave the starts per minute empty.'],
  ['rateKey', 'perMinute', 'Enter how many tasks with this key may start per minute.'],
];

/** By field; empty if all is well. */
export function problemsOfHandIn(draft: HandInDraft): HandInProblems {
  const given = (field: HandInField) => draft[field].trim() !== '';
  const problems: HandInProblems = {};
  if (!given('command')) problems.command = 'Required.';
  for (const field of ['attempts', 'firstWait', 'atOnce', 'perMinute'] as const) {
    const { least, max, takes } = bounds[field];
    if (!given(field) && field !== 'attempts') continue;
    if (!takes.safeParse(wholeOf(draft[field])).success)
      problems[field] = `Enter a whole number from ${least} to ${max}.`;
  }
  for (const field of ['image', 'concurrencyKey', 'rateKey', 'fairnessKey'] as const) {
    const { max, takes } = lines[field];
    const text = draft[field].trim();
    if (text === '' || takes.safeParse(text).success) continue;
    problems[field] =
      text.length > max
        ? `Too long: ${text.length} characters. At most ${max}.`
        : 'It contains control characters, which are often pasted with other text. Type it instead.';
  }
  const labels = labelsProblem(draft.labels);
  if (labels !== null) problems.labels = labels;
  const codes = codesProblem(draft.retryOn);
  if (codes !== null) problems.retryOn = codes;
  for (const [field, needed, says] of needs) if (given(field) && !given(needed)) problems[needed] ??= says;
  return problems;
}

/** The body that creates the task; of a draft without problems. What is empty is left out. */
export function taskOf(draft: HandInDraft): NewTask {
  const of = (field: HandInField) => draft[field].trim();
  const labels = labelsOf(draft.labels);
  const codes = partsOf(draft.retryOn);
  return {
    payload: { command: of('command') },
    max_attempts: wholeOf(draft.attempts),
    ...(of('image') === '' ? {} : { sandbox_image: of('image') }),
    ...(labels.length === 0 ? {} : { labels: Object.fromEntries(labels) }),
    ...(codes.length === 0
      ? {}
      : { retry: { on: codes, ...(of('firstWait') === '' ? {} : { backoff_seconds: wholeOf(draft.firstWait) }) } }),
    ...(of('concurrencyKey') === '' ? {} : { concurrency_key: of('concurrencyKey') }),
    ...(of('atOnce') === '' ? {} : { concurrency_limit: wholeOf(draft.atOnce) }),
    ...(of('rateKey') === '' ? {} : { rate: { key: of('rateKey'), per_minute: wholeOf(draft.perMinute) } }),
    ...(of('fairnessKey') === '' ? {} : { fairness_key: of('fairnessKey') }),
  };
}

/** The field for each member of the request, and for members within it where they have a field of their own. */
const fieldOf: ReadonlyMap<string, HandInField> = new Map([
  ['payload', 'command'],
  ['max_attempts', 'attempts'],
  ['sandbox_image', 'image'],
  ['labels', 'labels'],
  ['retry', 'retryOn'],
  ['retry.backoff_seconds', 'firstWait'],
  ['concurrency_key', 'concurrencyKey'],
  ['concurrency_limit', 'atOnce'],
  ['rate', 'rateKey'],
  ['rate.per_minute', 'perMinute'],
  ['fairness_key', 'fairnessKey'],
]);
/** `body.labels.gpu: what is wrong; body.priority: what is wrong. See …`. */
const refusals = /(?:^|; )body\.([\w.]+)[^:]*: (.*?)(?=; body\.|\. See |\.?$)/g;

/** What the server's refusal says, by field; empty: it is about none of them. */
export function refusedHandIn(error: unknown): HandInProblems {
  if (!(error instanceof AppError)) return {};
  const { wireCode } = error.options;
  if (wireCode === 'image_not_allowed') return { image: error.fact };
  if (wireCode !== 'bad_request') return {};
  const problems: HandInProblems = {};
  for (const [, path = '', says = ''] of error.fact.matchAll(refusals)) {
    const [member = '', part = ''] = path.split('.');
    const field = fieldOf.get(`${member}.${part}`) ?? fieldOf.get(member);
    if (field !== undefined) problems[field] ??= `Refused by the queue: ${says}.`;
  }
  return problems;
}

/** Of a text that is no whole number, not a number. */
function wholeOf(text: string): number {
  return /^\d{1,9}$/.test(text.trim()) ? Number(text) : Number.NaN;
}

function partsOf(text: string): string[] {
  return text.split(/[\s,]+/).filter((part) => part !== '');
}

function labelsOf(text: string): (readonly [name: string, value: string])[] {
  return partsOf(text).map((pair) => {
    const [name = '', ...value] = pair.split('=');
    return [name, value.join('=')];
  });
}

function labelsProblem(text: string): string | null {
  const pairs = labelsOf(text);
  const bare = partsOf(text).find((part) => !part.includes('='));
  if (bare !== undefined) return `Write ${shown(bare)} as a name and a value, such as gpu=a100.`;
  for (const [name, value] of pairs) {
    if (name === '__proto__' || !Labels.safeParse({ [name]: '' }).success)
      return `${shown(name)} is not a label name. Use 1 to 63 lowercase letters, digits and . _ / -, with a letter or digit at both ends.`;
    if (!Labels.safeParse({ [name]: value }).success)
      return `${shown(value)} is not a label value. Use at most 63 letters, digits and . _ -.`;
  }
  const names = pairs.map(([name]) => name);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) return `${shown(twice)} is named twice.`;
  return names.length > maxLabels ? `Too many: ${names.length} labels. At most ${maxLabels}.` : null;
}

function codesProblem(text: string): string | null {
  const codes = partsOf(text);
  const odd = codes.find((code) => !TaskRetry.safeParse({ on: [code] }).success);
  if (odd !== undefined)
    return `${shown(odd)} is not an error code. Use lowercase letters, digits and _, such as timeout, with * only at the end.`;
  return codes.length > maxCodes ? `Too many: ${codes.length} codes. At most ${maxCodes}.` : null;
}

/** What was typed, cut where it is long. */
function shown(text: string): string {
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text);
}
