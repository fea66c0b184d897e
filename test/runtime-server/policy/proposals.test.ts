/** Which rules are proposed for several questions: each allows exactly a group of them, and never what somebody would have to look at. */
import { expect, test } from 'vitest';
import { addRule, proposeRules } from '../../../src/runtime-server/policy/new-rule.ts';
import type { PolicyAction } from '../../../src/runtime-server/policy/policy.ts';

const ask = (id: string, action: Partial<PolicyAction>) => ({
  id,
  action: { tool: 'shell.exec', bot: 'one@dev', ...action },
});
const shell = (id: string, bot: string, command: string) => ask(id, { bot, command });
const write = (id: string, path: string, bot = 'one@dev') => ask(id, { tool: 'file.write', path, bot });
const found = (text: string | null, asked: Parameters<typeof proposeRules>[1]) =>
  proposeRules(text, asked).map(({ rule, covers }) => [
    rule
      .split('\n')
      .slice(1, -2)
      .map((line) => line.trim())
      .join(' '),
    covers.join(' '),
  ]);

test('one command of several bots makes a rule that lists these bots, and several commands of one bot a rule that lists these', () => {
  expect(
    found(null, [
      shell('a', 'one@dev', 'npm test'),
      shell('b', 'two@dev', 'npm test'),
      shell('c', 'three@dev', ' npm test '),
    ]),
  ).toEqual([['tool: "shell.exec" bot: "{one@dev,two@dev,three@dev}" command: "npm test"', 'a b c']]);
  expect(found(null, [shell('a', 'one@dev', 'npm test'), shell('b', 'one@dev', 'npm run "lint"')])).toEqual([
    ['tool: "shell.exec" bot: "one@dev" command: "{npm test,npm run \\"lint\\"}"', 'a b'],
  ]);
});

test('files of one bot make a rule about the folder that has all of them, never one about the whole workspace or beyond it', () => {
  expect(
    found(null, [write('a', 'src/pages/a.ts'), write('b', 'src/pages/deep/b.ts'), write('c', './src/pages/c.ts')]),
  ).toEqual([['tool: "file.write" bot: "one@dev" path: "src/pages/**"', 'a b c']]);
  expect(found(null, [write('a', 'a.md'), write('b', 'b.md'), write('c', 'docs/c.md')])).toEqual([]);
  expect(found(null, [write('a', '/etc/a'), write('b', '/etc/b')])).toEqual([]);
  expect(found(null, [write('a', '../up/a'), write('b', '../up/b'), write('c', 'src/../../up/c')])).toEqual([]);
});

test('the rule for most questions comes first, no question is in two, and one alone makes none', () => {
  const asked = [
    shell('a', 'one@dev', 'npm test'),
    shell('b', 'two@dev', 'npm test'),
    shell('c', 'one@dev', 'make'),
    shell('d', 'one@dev', 'make docs'),
    shell('e', 'one@dev', 'make all'),
    shell('f', 'other@dev', 'deploy'),
  ];
  expect(found(null, asked).map(([, covers]) => covers)).toEqual(['a c d e']);
});

test('what no rule may allow, what an earlier rule decides, and what a list would read otherwise is in no group', () => {
  const rules = 'rules:\n  - when: {command: "deploy*"}\n    then: ask\n';
  const asked = [
    shell('a', 'one@dev', 'npm test && rm -rf /'),
    shell('b', 'one@dev', 'rm -rf *'),
    shell('c', 'one@dev', 'deploy now'),
    shell('d', 'two@dev', 'deploy now'),
    shell('e', 'one@dev', 'echo a,b'),
    shell('f', 'one@dev', 'npm test'),
    write('g', '.git/hooks/a'),
    write('h', '.git/hooks/b'),
    ask('i', { command: 'npm run x', credential: true }),
    { id: 'j', action: { tool: 'shell.exec', bot: null, command: 'npm run y' } },
  ];
  expect(found(rules, asked)).toEqual([]);
  expect(found('rules: {', [shell('a', 'one@dev', 'x'), shell('b', 'two@dev', 'x')])).toEqual([]);
});

test('a list becomes no longer than the file lets it be: the rest stays for another rule', () => {
  const asked = Array.from({ length: 30 }, (_, index) =>
    shell(`q${index}`, `a-bot-with-a-long-name-${index}@dev`, 'npm test'),
  );
  const proposals = proposeRules(null, asked);
  expect(proposals.length).toBe(2);
  expect(proposals.flatMap(({ covers }) => covers).length).toBe(30);
});

test('a rule for several is refused where they differ in more than one thing', () => {
  const action = (bot: string, command: string): PolicyAction => ({ tool: 'shell.exec', bot, command });
  expect(addRule(null, [action('one@dev', 'a'), action('two@dev', 'b')])).toEqual({
    ok: false,
    why: 'They differ in more than one rule can name.',
  });
  expect(addRule(null, [action('one@dev', 'a'), action('one@dev', 'b')])).toMatchObject({ ok: true });
  const other: PolicyAction = { tool: 'http.post', bot: 'one@dev', command: 'a' };
  expect(addRule(null, [action('one@dev', 'a'), other])).toMatchObject({ ok: false });
});
