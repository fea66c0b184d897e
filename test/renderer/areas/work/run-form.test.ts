import { expect, test } from 'vitest';
import type { Template } from '../../../../src/contracts/factory/workflow.ts';
import { proofKind } from '../../../../src/renderer/areas/work/proof-files.ts';
import { proofLines } from '../../../../src/renderer/areas/work/proofs.tsx';
import { intentOf, planProject, requestOf, schemaOf } from '../../../../src/renderer/areas/work/run-form.ts';
import { budgetOf, budgetProblems, noBudget } from '../../../../src/renderer/ui/budget-form.ts';

const template: Template = {
  id: 'fix',
  name: 'Fix',
  description: '',
  params: [
    { name: 'check', description: 'What must succeed', required: true },
    { name: 'where', default: '.', required: true },
    { name: 'intent', description: 'What is to be mended', default: 'Make it succeed', required: false },
  ],
  steps: [],
  maxRounds: 3,
  closure: {},
};

test('params become fields, one with a default is not asked for, and the intent has its own field', () => {
  expect(schemaOf(template)).toEqual({
    properties: {
      check: { type: 'string', description: 'What must succeed', default: undefined },
      where: { type: 'string', description: undefined, default: '.' },
    },
    required: ['check'],
  });
  expect(intentOf(template)).toEqual({
    description: 'What is to be mended',
    placeholder: 'Make it succeed',
    required: false,
  });
});

test('what was left empty is not sent, so that the template’s defaults hold', () => {
  const choices = { intent: ' ', texts: { check: 'npm test', where: '' }, team: '', preset: '', budget: undefined };
  expect(requestOf(template, choices)).toEqual({ template: 'fix', params: { check: 'npm test' } });
  expect(
    requestOf(template, { ...choices, intent: 'Green', team: 'web', preset: 'night', budget: { usd: 2 } }),
  ).toEqual({
    template: 'fix',
    params: { check: 'npm test' },
    intent: 'Green',
    team: 'web',
    preset: 'night',
    budget: { usd: 2 },
  });
});

test('a budget is what was typed; an empty field is no limit, and what is no amount is said beside its field', () => {
  expect(budgetOf(noBudget)).toBeUndefined();
  expect(budgetProblems(noBudget)).toEqual({});
  const typed = { usd: ' 2.50 ', tokens: '', minutes: '0.5' };
  expect(budgetOf(typed)).toEqual({ usd: 2.5, minutes: 0.5 });
  expect(budgetProblems(typed)).toEqual({});
  expect(budgetProblems({ usd: '2,5', tokens: '1.5', minutes: '0' })).toEqual({
    usd: 'Enter a number above 0, such as 2.50.',
    tokens: 'Enter a whole number above 0.',
    minutes: 'Enter a number above 0, such as 2.50.',
  });
});

test.each([
  ['Ship 0.4!', 'Ship-0-4-'],
  ['über', '-ber'],
  ['日本', 'new'],
  ['x'.repeat(100), 'x'.repeat(64)],
])('the plan of a new campaign %j is asked for under %j', (title, id) => {
  expect(planProject(title)).toBe(id);
  expect(id).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
});

test('lines to prove are read with what is missing and what is optional', () => {
  expect(proofLines('- [x] How it looks\n- [ ] What changed (missing)\n- [ ] Why (optional)\n')).toEqual([
    { line: 'How it looks', proven: true, note: null },
    { line: 'What changed', proven: false, note: 'missing' },
    { line: 'Why', proven: false, note: 'optional' },
  ]);
});

test.each([
  ['shot.png', 'image/png', 'image'],
  ['page.html', 'text/html', 'text'],
  ['drawing.svg', 'image/svg+xml', 'text'],
  ['fix.diff', 'application/octet-stream', 'diff'],
  ['run.log', 'application/octet-stream', 'text'],
  ['report.pdf', 'application/pdf', 'other'],
])('%s of type %s is shown as %s', (name, mime, kind) => {
  expect(proofKind({ name, mime })).toBe(kind);
});
