import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createJudge } from '../../../src/runtime-server/harness/judge/judge.ts';
import { compileRules } from '../../../src/runtime-server/harness/judge/rules.ts';
import { opencodeRules } from '../../../src/runtime-server/harness/opencode/rules.ts';
import type { OpencodeEvent } from '../../../src/runtime-server/harness/opencode/server.ts';
import { createSessions } from '../../../src/runtime-server/harness/opencode/sessions.ts';
import { handClock, pastedRecordings, recording, replay, usualRecordings } from './replay.ts';

const dialog = 'needs_you: asks to run: touch made-by-agent.txt && ls';

/** The screen alone, without its server, from the state before the recording. */
test.each([
  ['first-start', 'starting', ['starting', 'idle']],
  ...usualRecordings(dialog),
  ['dialog-answered', 'needs_you', ['needs_you', 'idle']],
  ...pastedRecordings,
  ['error', 'working', ['working', 'idle']],
  ['exit', 'idle', ['idle']],
] as const)('the recording %s is judged as a person would', async (name, from, states) => {
  expect((await replay(`opencode/${name}.cast`, opencodeRules, { from, restMs: 32_000 })).states).toEqual(states);
});

test('the recorded events of its server give every turn its beginning, its question, its retries and its end', () => {
  const judge = createJudge({ ruleset: opencodeRules, matcher: compileRules(opencodeRules), clock: handClock() });
  const sessions = createSessions({ known: null, remember: () => {} });
  const open = new Map<string, string>();
  const states: string[] = [];
  for (const line of readFileSync(recording('opencode/events.jsonl'), 'utf8').trim().split('\n')) {
    const { kind, payload } = JSON.parse(line) as { kind: string; payload: OpencodeEvent };
    if (kind !== 'event') continue;
    for (const change of sessions.take(payload)) {
      if (change.kind === 'asked') open.set(change.question.id, change.question.words);
      else open.delete(change.id);
    }
    const words = [...open.values()][0];
    const { level, ...rest } = sessions.level();
    if (words === undefined) judge.event('hook', `level.${level}`, rest);
    else judge.event('hook', 'level.asks', { words });
    const { state, reason } = judge.state();
    const now = reason ? `${state}: ${reason}` : state;
    if (now !== states.at(-1)) states.push(now);
  }
  const asks = 'needs_you: asks to run: touch made-by-agent.txt && ls';
  const retries = [1, 2, 3, 4, 5].map(
    (attempt) => `working: its provider refuses; Too many requests, slow down · attempt ${attempt}`,
  );
  expect(states.slice(0, 8)).toEqual(['idle', 'working', 'idle', 'working', asks, 'working', 'idle', 'working']);
  for (const retry of retries) expect(states).toContain(retry);
  expect(states).toContain('idle: the last turn failed: Too many requests, slow down');
  expect(sessions.current()).toBe('ses_e0777a54bffeSXL7MWJi1p5U6g');
});

test('every rule has a name of its own', () => {
  const ids = [...opencodeRules.screen, ...opencodeRules.events].map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
});
