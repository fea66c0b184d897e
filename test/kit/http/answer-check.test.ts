import { expect, test } from 'vitest';
import { z } from 'zod';
import type { Route } from '../../../src/contracts/common/route.ts';
import { createAnswerCheck } from '../../../src/kit/http/answer-check.ts';

const route = { op: 'getThing', answers: { 200: z.strictObject({ id: z.string() }) } } as unknown as Route;

function checking(answers: 'throw' | 'log') {
  const said: unknown[] = [];
  const check = createAnswerCheck(route, { answers, log: { error: (_message, fields) => said.push(fields) } });
  return { check, said };
}

test('in production the first hundred answers of a route are each checked, then one of sixteen', () => {
  const { check, said } = checking('log');
  for (let count = 0; count < 100; count += 1) check(200, { id: 1 }, `req.${count}`);
  expect(said).toHaveLength(100);
  for (let count = 0; count < 160; count += 1) check(200, { id: 1 }, 'later');
  expect(said).toHaveLength(110);
});

test('a status that is not declared is logged each time', () => {
  const { check, said } = checking('log');
  for (let count = 0; count < 100; count += 1) check(200, { id: 'x' }, 'right');
  for (let count = 0; count < 5; count += 1) check(202, { id: 'x' }, 'undeclared');
  expect(said).toHaveLength(5);
});

test('in tests every answer is checked', () => {
  const { check } = checking('throw');
  for (let count = 0; count < 120; count += 1) check(200, { id: 'x' }, 'right');
  expect(() => check(200, { id: 1 }, 'wrong')).toThrow('getThing answered against its contract');
});
