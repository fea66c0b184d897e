import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { findCycle } from '../../../src/runtime-server/workflows/template/order.ts';
import { readTemplate, toFile } from '../../../src/runtime-server/workflows/template/read.ts';
import { toShell } from '../../../src/runtime-server/workflows/template/shell-text.ts';
import { holds, parseCondition } from '../../../src/runtime-server/workflows/template/when.ts';

const read = (value: unknown) => readTemplate(JSON.stringify(value, null, 2), 't', 'json');
const messages = (value: unknown) => {
  const result = read(value);
  return result.ok ? [] : result.problems.map((problem) => `${problem.line} ${problem.path}: ${problem.message}`);
};

test('what is not given has its default, on the wire and back on disk', () => {
  const result = read({ steps: [{ id: 'a', command: 'true' }] });
  expect(result).toEqual({
    ok: true,
    template: {
      id: 't',
      name: 't',
      description: '',
      params: [],
      steps: [
        {
          id: 'a',
          title: 'a',
          description: '',
          executor: 'shell',
          command: 'true',
          blockedBy: [],
          needsAny: false,
          onFail: 'stop',
          retry: { max: 0, backoffSeconds: 10 },
          waitGate: null,
          proof: [],
        },
      ],
      maxRounds: 3,
      closure: {},
    },
  });
  const full = {
    name: 'Full',
    description: 'all',
    params: [
      { name: 'p', required: true },
      { name: 'q', default: 'x', description: 'd' },
    ],
    steps: [
      {
        id: 'a',
        title: 'A',
        command: 'echo {{ params.p }}',
        retry: { max: 2, backoff_seconds: 1 },
        timeout_minutes: 5,
      },
      {
        id: 'b',
        title: 'B {{ params.q }}',
        description: 'do {{ intent }} with {{ step.a.output }}',
        executor: 'role:coder',
        verify: { command: 'test {{ step.a.output }}' },
        blocked_by: ['a'],
        needs_any: true,
        when: '{{ step.a.status }} == done and not {{ params.q }} contains "n"',
        on_fail: 'a',
        wait_gate: { kind: 'command', command: 'true', every_seconds: 5 },
        proof: [{ line: 'it works' }, { line: 'picture', required: false }],
      },
    ],
    max_rounds: 4,
    closure: { success: 'good' },
  };
  const first = read(full);
  if (!first.ok) throw new Error(JSON.stringify(first.problems));
  expect(readTemplate(JSON.stringify(toFile(first.template)), 't', 'json')).toEqual(first);
});

test('every problem is told at once, with path and line', () => {
  expect(
    messages({
      id: 'other',
      params: [{ name: 'p' }, { name: 'p', required: true, default: 'x' }],
      steps: [
        { id: 'a', command: 'echo {{ params.nope }} {{ what }}' },
        { id: 'a', executor: 'role:x', command: 'true', blocked_by: ['ghost'] },
        { id: 'c', command: 'echo {{ step.a.output }} {{ step.ghost.output }}', on_fail: 'nowhere' },
        { id: 'd', title: '{{ step.a.output }}', wait_gate: { kind: 'timer', command: 'x' }, when: '== 3' },
      ],
    }),
  ).toEqual([
    '2 id: The id "other" is not the file\'s name "t".',
    '8 params[1].name: The param "p" is declared twice.',
    '9 params[1].required: "p" has a default: it is never missing. Leave one of them out.',
    '16 steps[0].command: There is no param "nope".',
    '16 steps[0].command: {{ what }} refers to nothing.',
    '18 steps[1]: The step "a" has no task for its bot. Give it a title or a description.',
    '19 steps[1].id: The step id "a" is used twice.',
    '21 steps[1].command: A bot gets its task from the description; "command" is only for the executors shell and queue.',
    '23 steps[1].blocked_by[0]: There is no step "ghost" to wait for.',
    '28 steps[2].command: "c" does not wait for "a": its output may not exist yet.',
    '28 steps[2].command: There is no step "ghost".',
    '29 steps[2].on_fail: "nowhere" is neither stop, continue or ask, nor a step.',
    '31 steps[3]: The step "d" runs a command, but has none.',
    '33 steps[3].title: A title is set when the run starts: it cannot refer to the result of a step.',
    '34 steps[3].wait_gate: A timer gate needs either "until" or "minutes".',
    '36 steps[3].wait_gate.command: "command" does not apply to a timer gate.',
    '38 steps[3].when: A value is missing.',
  ]);
});

test('unknown fields, wrong types and a file that is no JSON are problems with their line', () => {
  expect(
    messages({ steps: [{ id: 'a', command: 'x', on_fial: 'stop', executor: 'nobody' }], max_rounds: '3' }),
  ).toEqual([
    '6 steps[0].on_fial: Unknown field "on_fial".',
    '7 steps[0].executor: "executor": "shell", "queue", "role:<role>", "bot:<slug>" or "harness:<name>".',
    '10 max_rounds: "max_rounds" is missing or not of type number.',
  ]);
  expect(readTemplate('{\n  "steps": [\n}', 't', 'json')).toMatchObject({ ok: false, problems: [{ line: 3 }] });
  expect(readTemplate('', 't', 'json').ok).toBe(false);
});

test('a cycle is named with its path', () => {
  const step = (id: string, ...blocked_by: string[]) => ({ id, command: 'true', blocked_by });
  expect(messages({ steps: [step('a', 'c'), step('b', 'a'), step('c', 'b'), step('d', 'c')] })).toEqual([
    '6 steps[0].blocked_by: Steps wait for each other in a cycle: a → b → c → a.',
  ]);
  expect(messages({ steps: [step('a', 'a')] })[0]).toContain('a → a');
});

test('a cycle is found exactly when there is one, however deep', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(19), fc.nat(19)), { maxLength: 60 }), (pairs) => {
      const parents = new Map<number, Set<number>>();
      for (const [a, b] of pairs) parents.set(a, (parents.get(a) ?? new Set()).add(b));
      const steps = Array.from({ length: 20 }, (_, id) => ({
        id: `s${id}`,
        blockedBy: [...(parents.get(id) ?? [])].map((parent) => `s${parent}`),
      }));
      // Kahn: what can be taken away step by step has no cycle.
      let left = [...steps];
      for (let before = -1; before !== left.length; ) {
        before = left.length;
        left = left.filter((one) => one.blockedBy.some((parent) => left.some((other) => other.id === parent)));
      }
      const cycle = findCycle(steps);
      expect(cycle === null).toBe(left.length === 0);
      if (cycle === null) return;
      expect(cycle[0]).toBe(cycle.at(-1));
      for (let at = 1; at < cycle.length; at += 1) {
        expect(steps.find((one) => one.id === cycle[at])?.blockedBy).toContain(cycle[at - 1]);
      }
    }),
  );
  const deep = Array.from({ length: 5000 }, (_, id) => ({ id: `s${id}`, blockedBy: id === 0 ? [] : [`s${id - 1}`] }));
  expect(findCycle(deep)).toBeNull();
});

test('a Markdown file holds its spec in a fence, its prose is the description, and lines are those of the file', () => {
  const text = [
    '# Fix it',
    '',
    'Finds and fixes.',
    '',
    '```yaml',
    'steps:',
    '  - id: a',
    '    command: "true"',
    '```',
    '',
  ];
  const good = readTemplate(text.join('\n'), 'fix', 'md');
  expect(good).toMatchObject({ ok: true, template: { id: 'fix', description: 'Finds and fixes.' } });
  text.splice(8, 0, '    colour: red');
  expect(readTemplate(text.join('\n'), 'fix', 'md')).toMatchObject({
    ok: false,
    problems: [{ path: 'steps[0].colour', line: 9 }],
  });
  expect(readTemplate('# only prose', 'fix', 'md')).toMatchObject({ ok: false, problems: [{ line: null }] });
});

test('a condition compares values and nothing that a value says becomes part of it', () => {
  const value = (text: string, values: Record<string, string> = {}) => {
    const parsed = parseCondition(text);
    if ('problem' in parsed) throw new Error(parsed.problem);
    return holds(parsed.condition, (one) => (one.kind === 'param' ? (values[one.name] ?? '') : ''));
  };
  expect(value('{{ params.a }} == yes', { a: 'yes\n' })).toBe(true);
  expect(value('{{ params.a }} == yes', { a: 'no" or yes == yes' })).toBe(false);
  expect(value('{{ params.a }}', { a: 'false' })).toBe(false);
  expect(value('not {{ params.a }}', { a: '' })).toBe(true);
  expect(value('a == b or c == c and "x y" contains y')).toBe(true);
  expect(value('a == a and b == c')).toBe(false);
  for (const bad of ['a ==', 'a b', '{{ nothing }}', 'a == b and', '"open', 'or a']) {
    expect(parseCondition(bad), bad).toHaveProperty('problem');
  }
});

test('no value becomes a command, wherever in the quotes it stands', () => {
  const command = `printf '%s|' {{ intent }} "{{ intent }}" '{{ intent }}' pre"a{{ intent }}b"post '$x {{ intent }}'`;
  fc.assert(
    fc.property(
      fc.string({ maxLength: 40 }).filter((text) => !text.includes('\0')),
      (raw) => {
        const value = `${raw}$(echo no)\`echo no\`'"; echo no #`;
        const { text, env } = toShell(command, () => value);
        const printed = execFileSync('/bin/sh', ['-c', text], { env }).toString();
        expect(printed).toBe(`${value}|${value}|${value}|prea${value}bpost|$x ${value}|`);
      },
    ),
    { numRuns: 30 },
  );
});

test('the example of the documentation is a template without problems', () => {
  const page = readFileSync(new URL('../../../docs/workflows.md', import.meta.url), 'utf8');
  const example = /^````markdown\n([\s\S]*?)^````$/m.exec(page)?.[1] ?? '';
  const read = readTemplate(example, 'release-notes', 'md');
  expect(read.ok ? [] : read.problems).toEqual([]);
  expect(read).toMatchObject({
    template: { steps: [{ id: 'changes' }, { id: 'write' }, { id: 'publish', in: 'write' }] },
  });
});
