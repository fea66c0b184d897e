import { expect, test } from 'vitest';
import { callOf, decisionOf, questionOf } from '../../../src/runtime-server/harness/claude/questions.ts';

const bot = { agentId: 'agent_1', slug: 'web', team: 'dev' };
const ask = (tool_name: string, tool_input: unknown) =>
  questionOf(bot, { session_id: 's', prompt_id: 'p', tool_name, tool_input })?.ask;

test('a change is shown as the lines that go and the lines that come, whole', () => {
  expect(ask('Edit', { file_path: '/w/a.ts', old_string: 'one\ntwo', new_string: 'one\n2\n' })).toMatchObject({
    title: 'web@dev asks to change /w/a.ts',
    summary: '--- /w/a.ts\n+++ /w/a.ts\n@@ @@\n-one\n-two\n+one\n+2\n+',
    risk: 'medium',
  });
  expect(ask('Edit', { file_path: 'a', old_string: 'x', new_string: '', replace_all: true })?.summary).toBe(
    '--- a\n+++ a\n@@ every occurrence @@\n-x',
  );
  const edits = [
    { old_string: 'x', new_string: 'y' },
    { old_string: 'z', new_string: '' },
  ];
  expect(ask('MultiEdit', { file_path: 'a', edits })?.summary).toBe('--- a\n+++ a\n@@ @@\n-x\n+y\n@@ @@\n-z');
  expect(ask('Write', { file_path: '/w/new', content: 'a\nb' })).toMatchObject({
    title: 'web@dev asks to write /w/new',
    summary: '--- /w/new\n+++ /w/new\n+a\n+b',
  });
});

test('a tool without words of its own is shown with its whole input', () => {
  expect(ask('mcp__db__drop', { table: 'users', cascade: true })).toMatchObject({
    title: 'web@dev asks to use mcp__db__drop',
    summary: 'mcp__db__drop\n{\n  "table": "users",\n  "cascade": true\n}',
    risk: 'high',
  });
  expect(ask('WebFetch', { url: 'https://example.org/a', prompt: 'read it' })).toMatchObject({
    title: 'web@dev asks to fetch https://example.org/a',
    risk: 'medium',
  });
  expect(ask('Bash', { command: 'ls' })).toMatchObject({ risk: 'high', summary: 'ls' });
  expect(ask('Bash', { command: 'ls', dangerouslyDisableSandbox: true })?.summary).toBe('ls\n\n(outside its sandbox)');
});

test('an answer is bound to the exact action, and the report of its end names the same call', () => {
  const one = ask('Bash', { command: 'ls', description: 'x' });
  expect(one?.actionHash).toBe(ask('Bash', { description: 'x', command: 'ls' })?.actionHash);
  expect(one?.actionHash).not.toBe(ask('Bash', { command: 'ls -a', description: 'x' })?.actionHash);
  const payload = { session_id: 's', prompt_id: 'p', tool_name: 'Bash', tool_input: { command: 'ls' } };
  expect(callOf({ ...payload, tool_response: {}, tool_use_id: 't' })).toBe(callOf(payload));
  expect(callOf({ ...payload, prompt_id: 'q' })).not.toBe(callOf(payload));
  expect(callOf({ ...payload, agent_id: 'sub' })).not.toBe(callOf(payload));
});

test('only an answer of a person is a decision', () => {
  const by = { user: 'local', surface: 'cli' };
  expect(decisionOf({ kind: 'withdrawn', surface: 'pane' })).toEqual({});
  expect(decisionOf({ kind: 'expired' })).toEqual({});
  expect(decisionOf({ kind: 'reject', note: null, by })).toMatchObject({
    hookSpecificOutput: { decision: { behavior: 'deny', message: 'A person rejected this.' } },
  });
});
