/** The log: one JSON object a line, bounded on disk, and no secret in it wherever it hides. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createLog } from '../../../src/kit/log/log.ts';
import { scrub } from '../../../src/kit/log/scrub.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { createTestClock } from '../../support/test-clock.ts';

function open(options: { maxBytes?: number; keep?: number; known?: () => string[] } = {}) {
  const folder = join(scratchFolder(), 'logs');
  const log = createLog({ folder, name: 'runtime', clock: createTestClock(), ...options });
  onTestFinished(() => log.close());
  const lines = (file = 'runtime.log') =>
    readFileSync(join(folder, file), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  return { folder, log, lines };
}

test('a line is one JSON object with time, level, message and flat facts', () => {
  const { folder, log, lines } = open();
  log.info('started', { port: 3011, ok: true, gone: undefined, deep: { a: 1 }, list: [1], at: 'x' });
  log.error('failed', { cause: new Error('no\nroute') });
  const [first, second] = lines();
  expect(first).toEqual({
    at: '2026-01-02T03:04:05.000Z',
    level: 'info',
    message: 'started',
    port: 3011,
    ok: true,
    deep: '[object]',
    list: '[array]',
  });
  expect(second?.cause).toMatch(/^Error: no route \| at /);
  expect(statSync(join(folder, 'runtime.log')).mode & 0o777).toBe(0o600);
});

test('files are rotated by size and the oldest go', () => {
  const { folder, log, lines } = open({ maxBytes: 1000, keep: 2 });
  for (let index = 0; index < 60; index += 1) log.info('line', { index });
  expect(readdirSync(folder).sort()).toEqual(['runtime.log', 'runtime.log.1', 'runtime.log.2']);
  const kept = ['runtime.log.2', 'runtime.log.1', 'runtime.log'].flatMap((file) =>
    lines(file).map((line) => line.index),
  );
  expect(kept.at(-1)).toBe(59);
  expect(kept).toEqual(Array.from({ length: kept.length }, (_, index) => 60 - kept.length + index));
});

test('a log that cannot be written is silent, and goes on when it can', () => {
  const { folder, log, lines } = open();
  log.info('one');
  log.close();
  rmSync(folder, { recursive: true });
  log.info('lost');
  expect(existsSync(folder)).toBe(false);
  mkdirSync(folder);
  log.info('two');
  expect(lines().map((line) => line.message)).toEqual(['two']);
});

const secrets = [
  'Bearer abcDEF123456789xyz',
  'Authorization: Basic dXNlcjpwYXNzd29yZA==',
  'eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl',
  ['sk', 'ant', 'api03', 'Ab1'.repeat(8)].join('-'),
  'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  'ghp_abcdefghijklmnopqrstuvwxyz0123456789',
  'http://127.0.0.1:3010/open?code=R4nd0mC0deHere',
  '{"password":"hunter2hunter2"}',
  'api_key=0123456789abcdef',
];

test.each(secrets)('the shape %s is removed from any text', (text) => {
  const value = text.replace(/^.*?(?:Bearer |Basic |code=|"password":"|api_key=)/, '').replace(/["}]+$/, '');
  const clean = scrub(`before ${text} after`);
  expect(clean).not.toContain(value);
  expect(clean).toContain('[secret]');
  expect(clean).toMatch(/^before .* after$/);
});

test('a planted secret is found nowhere, however it came', () => {
  const token = 'pL4nt3dT0k3n-0123456789';
  const { folder, log } = open({ known: () => [token] });
  const request = Object.assign(new Error(`401 from http://x/?q=${token}`), {
    config: { headers: { authorization: token } },
  });
  log.warn(`sent ${token}`, { url: `http://x/${token}`, error: request, deep: { token }, list: [token] });
  expect(readFileSync(join(folder, 'runtime.log'), 'utf8')).not.toContain(token);
});

test('ordinary text is left alone, and nothing that steers a terminal gets through', () => {
  const text = 'GET /api/factory/agents/:id 200 in 3 ms, agent_01J0000000000000000000000, exit code 3';
  expect(scrub(text)).toBe(text);
  expect(scrub('a\u001b[2Jb\nc\u202ed\u009be')).toBe('a [2Jb c d e');
});
