/** YAML that somebody else wrote is read in a time that grows with its length, and equal keys are still a fault. */

import { expect, test } from 'vitest';
import { LineCounter } from 'yaml';
import { readYaml } from '../../../src/kit/files/yaml.ts';

test('sixty thousand keys are read in seconds', () => {
  const text = Array.from({ length: 60_000 }, (_, n) => `f${n}: 1`).join('\n');
  const before = process.cpuUsage();
  expect(readYaml(text).errors).toEqual([]);
  const { user } = process.cpuUsage(before);
  // Each compared with each before it: over a minute.
  expect(user / 1e6).toBeLessThan(15);
});

test('a key that is given twice is a fault, at any depth, with its line', () => {
  const counter = new LineCounter();
  const { errors } = readYaml('a: 1\nb:\n  - { c: 1, d: 2, c: 3 }\na: 2\n', counter);
  expect(errors.map(({ code, pos }) => [code, counter.linePos(pos[0]).line]).sort()).toEqual([
    ['DUPLICATE_KEY', 3],
    ['DUPLICATE_KEY', 4],
  ]);
});
