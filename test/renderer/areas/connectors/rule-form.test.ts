import { expect, test } from 'vitest';
import { Automation, ChangeRule, type Rule, ruleDefaults } from '../../../../src/contracts/connectors/rule.ts';
import {
  automationOf,
  changeOfRule,
  draftOfRule,
  problemsOfRule,
  sameRule,
} from '../../../../src/renderer/areas/connectors/rule-form.ts';

const at = '2026-11-22T06:00:00.000Z';
const fresh = { ...draftOfRule(null, 'bot_1'), instructions: 'Plan a mend.' };
const rule: Rule = {
  ...ruleDefaults,
  id: 'r',
  subscriptionId: 's',
  version: 1,
  createdAt: at,
  updatedAt: at,
  botId: 'bot_1',
  instructions: 'Plan a mend.',
};

test('a new rule asks first, and sends only what is not as every rule has it', () => {
  expect(automationOf(fresh)).toEqual({ botId: 'bot_1', instructions: 'Plan a mend.' });
  const other = { ...fresh, executionMode: 'PLAN_ONLY', batchSeconds: '60', dailySpend: '2.5', match: '{}' } as const;
  const sent = automationOf(other);
  expect(sent).toEqual({
    botId: 'bot_1',
    instructions: 'Plan a mend.',
    executionMode: 'PLAN_ONLY',
    batchSeconds: 60,
    dailySpendThresholdUsd: 2.5,
    match: {},
  });
  expect(Automation.safeParse(sent).success).toBe(true);
});

test('a removed rule is created again exactly as it was', () => {
  const odd: Rule = { ...rule, paused: true, batchSeconds: 60, match: { type: 'object' }, dailySpendThresholdUsd: 2 };
  const { id, subscriptionId, version, createdAt, updatedAt, ...config } = odd;
  expect(Automation.parse(sameRule(odd))).toEqual(config);
});

test('a change sends what differs alone, also what it takes back', () => {
  expect(changeOfRule(draftOfRule(rule, ''), rule)).toEqual({});
  const bound: Rule = { ...rule, dailySpendThresholdUsd: 2, match: { type: 'object' } };
  const draft = draftOfRule(bound, '');
  expect(changeOfRule(draft, bound)).toEqual({});
  const change = changeOfRule({ ...draft, dailySpend: '', match: '', maxRunsPerDay: '5' }, bound);
  expect(change).toEqual({ dailySpendThresholdUsd: null, match: null, maxRunsPerDay: 5 });
  expect(ChangeRule.safeParse(change).success).toBe(true);
});

test('instructions are counted in bytes, bounds are whole numbers within theirs, and a schema is an object', () => {
  expect(problemsOfRule(fresh)).toEqual({});
  expect(problemsOfRule({ ...fresh, instructions: 'é'.repeat(8000) })).toEqual({});
  expect(problemsOfRule({ ...fresh, instructions: `${'é'.repeat(8000)}!` }).instructions).toMatch(/16001 bytes/);
  expect(problemsOfRule({ ...fresh, expectedOutput: 'x'.repeat(4001) })).toHaveProperty('expectedOutput');
  for (const batchSeconds of ['-1', '3601', '1.5', '', 'x']) {
    expect(problemsOfRule({ ...fresh, batchSeconds }), batchSeconds).toHaveProperty('batchSeconds');
  }
  expect(problemsOfRule({ ...fresh, maxRunsPerDay: '0', timeoutSeconds: '29', dailySpend: '0' })).toEqual({
    maxRunsPerDay: 'Enter a whole number from 1 to 1000.',
    timeoutSeconds: 'Enter a whole number from 30 to 1800.',
    dailySpend: 'Enter an amount above 0, or leave it empty for no limit.',
  });
  for (const match of ['{', '[]', 'true', 'null']) {
    expect(problemsOfRule({ ...fresh, match }), match).toHaveProperty('match');
  }
});

test('a bot that cannot be held to a mode is refused with its reason before anything is sent', () => {
  expect(problemsOfRule({ ...fresh, botId: '' }).botId).toBe('Required.');
  expect(problemsOfRule(fresh, 'It runs in a pane.').botId).toBe('Rules cannot run this bot: It runs in a pane.');
});
