import { expect, test } from 'vitest';
import { AppError } from '../../../../src/contracts/common/errors.ts';
import { NewTask } from '../../../../src/contracts/work-queue/task.ts';
import {
  emptyHandIn,
  furtherFields,
  type HandInDraft,
  type HandInField,
  problemsOfHandIn,
  refusedHandIn,
  taskOf,
} from '../../../../src/renderer/areas/queue/hand-in-form.ts';

const plain: HandInDraft = { ...emptyHandIn, command: 'make' };
const full: HandInDraft = {
  command: ' make test\n',
  attempts: ' 3 ',
  image: ' alpine:3 ',
  labels: 'gpu=a100,  zone=eu\tfast=',
  retryOn: 'exit_*, timeout',
  firstWait: '30',
  concurrencyKey: 'the database',
  atOnce: '2',
  rateKey: 'api',
  perMinute: '60',
  fairnessKey: ' team a ',
};
const problemOf = (field: HandInField, text: string) => problemsOfHandIn({ ...full, [field]: text })[field];

test('a command alone names nothing else', () => {
  expect(problemsOfHandIn(plain)).toEqual({});
  expect(taskOf(plain)).toEqual({ payload: { command: 'make' }, max_attempts: 5 });
  expect(problemsOfHandIn(emptyHandIn)).toEqual({ command: 'Required.' });
});

test('each field is a member of the request, as the queue takes it', () => {
  expect(problemsOfHandIn(full)).toEqual({});
  expect(taskOf(full)).toEqual({
    payload: { command: 'make test' },
    max_attempts: 3,
    sandbox_image: 'alpine:3',
    labels: { gpu: 'a100', zone: 'eu', fast: '' },
    retry: { on: ['exit_*', 'timeout'], backoff_seconds: 30 },
    concurrency_key: 'the database',
    concurrency_limit: 2,
    rate: { key: 'api', per_minute: 60 },
    fairness_key: 'team a',
  });
  const optional = taskOf({ ...full, firstWait: '', atOnce: ' ' });
  expect(optional.retry).toEqual({ on: ['exit_*', 'timeout'] });
  expect(optional).not.toHaveProperty('concurrency_limit');
});

/** Texts at the edges of what a field takes, by field. */
const edges: Readonly<Partial<Record<HandInField, readonly string[]>>> = {
  attempts: ['0', '1', '100', '101', '1.5', '-1', 'x', '', '1e2', '0x10', '9'.repeat(12)],
  firstWait: ['0', '1', '86400', '86401', '1.5', 'soon'],
  atOnce: ['0', '1', '1000', '1001', '2.0'],
  perMinute: ['0', '1', '60000', '60001', '½'],
  image: ['a'.repeat(500), 'a'.repeat(501), 'a\u0000b', 'alpine\u200b:3'],
  concurrencyKey: ['k'.repeat(200), 'k'.repeat(201), 'a\u001bb', '🐘'],
  rateKey: ['k'.repeat(200), 'k'.repeat(201), '\u0007'],
  fairnessKey: ['k'.repeat(200), 'k'.repeat(201), 'a\u0085b'],
  labels: [
    ...[
      'gpu=',
      '=x',
      'GPU=a',
      'gpu=a b=c',
      'gpu=a+b',
      'gpu=a=b',
      '-gpu=1',
      `${'n'.repeat(63)}=1`,
      `${'n'.repeat(64)}=1`,
    ],
    ...[`gpu=${'v'.repeat(63)}`, `gpu=${'v'.repeat(64)}`, 'constructor=1'],
    ...[16, 17].map((count) => Array.from({ length: count }, (_, n) => `l${n}=1`).join(', ')),
  ],
  retryOn: [
    ...['timeout', 'Timeout', '*', 'exit_*', 'e*it', '1', 'a'.repeat(64), 'a'.repeat(65), 'exit-1', '__proto__'],
    ...[20, 21].map((count) => Array.from({ length: count }, (_, n) => `e${n}`).join(' ')),
  ],
};

test.each(Object.entries(edges))('the form and the queue agree about what %s may be', (field, texts) => {
  const verdicts = new Set<boolean>();
  for (const text of texts) {
    const draft = { ...full, [field]: text };
    const isTaken = NewTask.safeParse(taskOf(draft)).success;
    expect([text.slice(0, 80), problemsOfHandIn(draft)]).toEqual([
      text.slice(0, 80),
      isTaken ? {} : { [field]: expect.stringMatching(/\.$/) },
    ]);
    verdicts.add(isTaken);
  }
  expect([...verdicts].sort()).toEqual([false, true]);
});

test('what the queue would misread is refused with the part that is meant', () => {
  expect(problemOf('labels', 'gpu')).toBe('Write "gpu" as a name and a value, such as gpu=a100.');
  expect(problemOf('labels', 'gpu=a, gpu=b')).toBe('"gpu" is named twice.');
  expect(problemOf('labels', '__proto__=x')).toContain('"__proto__" is not a label name');
  expect(problemOf('retryOn', 'timeout, Exit')).toContain('"Exit" is not an error code');
  expect(problemOf('labels', `${'x'.repeat(5000)}!=1`)?.length).toBeLessThan(250);
  expect(problemOf('image', 'x'.repeat(600))).toBe('Too long: 600 characters. At most 500.');
});

test('a field that means nothing without another says so at the one that is empty', () => {
  const only = (field: HandInField, text: string) => problemsOfHandIn({ ...plain, [field]: text });
  expect(Object.keys(only('firstWait', '5'))).toEqual(['retryOn']);
  expect(Object.keys(only('atOnce', '5'))).toEqual(['concurrencyKey']);
  expect(Object.keys(only('perMinute', '5'))).toEqual(['rateKey']);
  expect(Object.keys(only('rateKey', 'api'))).toEqual(['perMinute']);
  expect(only('fairnessKey', 'a')).toEqual({});
});

/** As the queue answers what its schema does not take. */
const refusal = (...problems: readonly string[]) => {
  const message = `${problems.map((problem) => `body.${problem}`).join('; ')}. See createTask in docs/openapi.json.`;
  return new AppError('usage', message, '', { wireCode: 'bad_request' });
};

test('what the server refuses stands at its field', () => {
  const error = refusal(
    'payload: must be an object, not a number',
    'max_attempts: must be at least 1',
    'sandbox_image: must not be empty',
    'concurrency_key: text without control characters',
    'concurrency_limit: must be at most 1000',
  );
  expect(refusedHandIn(error)).toEqual({
    command: 'Refused by the queue: must be an object, not a number.',
    attempts: 'Refused by the queue: must be at least 1.',
    image: 'Refused by the queue: must not be empty.',
    concurrencyKey: 'Refused by the queue: text without control characters.',
    atOnce: 'Refused by the queue: must be at most 1000.',
  });
  const within = refusal(
    'labels.a/b.c: up to 63 letters, digits and . _ -',
    'retry.on.0: a code such as timeout, or exit_*',
    'retry.backoff_seconds: must be at least 1',
    'rate.key: must not be empty',
    'rate.per_minute: must be at least 1',
  );
  expect(refusedHandIn(within)).toEqual({
    labels: 'Refused by the queue: up to 63 letters, digits and . _ -.',
    retryOn: 'Refused by the queue: a code such as timeout, or exit_*.',
    firstWait: 'Refused by the queue: must be at least 1.',
    rateKey: 'Refused by the queue: must not be empty.',
    perMinute: 'Refused by the queue: must be at least 1.',
  });
  expect(Object.keys(refusedHandIn(refusal('fairness_key: must not be empty')))).toEqual(['fairnessKey']);
  const fact = 'The image alpine:3 is not allowed here.';
  expect(refusedHandIn(new AppError('usage', fact, '', { wireCode: 'image_not_allowed' }))).toEqual({ image: fact });
});

test('what is about no field is left to be shown below them', () => {
  expect(refusedHandIn(refusal('priority: must be at most 1000'))).toEqual({});
  const whole = 'body: concurrency_limit needs a concurrency_key. See createTask in docs/openapi.json.';
  expect(refusedHandIn(new AppError('usage', whole, '', { wireCode: 'bad_request' }))).toEqual({});
  const session = new AppError('usage', 'There is no session s.', '', { wireCode: 'session_not_found' });
  expect(refusedHandIn(session)).toEqual({});
  expect(refusedHandIn(new Error('body.labels: no'))).toEqual({});
});

test('the fold has each field but those that every task has', () => {
  expect(['command', 'attempts', ...furtherFields].sort()).toEqual(Object.keys(emptyHandIn).sort());
});
