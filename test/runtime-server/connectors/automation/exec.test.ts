/** Rules on a bot in a pane: its program is run once more by its exec mode, held to the rule's mode. The program is a stand-in. */
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SubscriptionRef } from '../../../../src/runtime-server/connectors/ports.ts';
import { type Floor, openFloor } from '../../hosted-bots/support.ts';
import { type Automated, automate } from './support.ts';

let floor: Floor;
let automated: Automated;
let botId: string;
let subscription: SubscriptionRef;
const bin = mkdtempSync(join(tmpdir(), 'gantry-exec-'));
const ends: (() => Promise<void>)[] = [() => Promise.resolve(rmSync(bin, { recursive: true, force: true }))];
beforeAll(async () => {
  // Takes one text on its stdin and answers with one result, as exec mode does; in a pane it only waits.
  const program = `
    const { appendFileSync, readFileSync } = require('node:fs');
    const args = process.argv.slice(1);
    if (args.includes('--version')) return console.log('2.1.0 (Claude Code)');
    if (!args.includes('-p')) return setInterval(() => {}, 1000);
    const text = readFileSync(0, 'utf8');
    appendFileSync(${JSON.stringify(join(bin, 'calls'))}, JSON.stringify({ args, text }) + '\\n');
    if (text.includes('HANG')) return setInterval(() => {}, 1000);
    const denied = args.includes('acceptEdits') ? [] : [{ tool_name: 'Write' }];
    console.log(JSON.stringify({ type: 'result', is_error: false, result: 'Planned.', session_id: 'sess-1', total_cost_usd: 0.02,
      usage: { input_tokens: 7, output_tokens: 3 }, permission_denials: denied }));`;
  writeFileSync(join(bin, 'program.js'), `(() => {${program}})();`);
  writeFileSync(
    join(bin, 'claude'),
    `#!/bin/sh\nexec '${process.execPath}' -e "$(cat '${join(bin, 'program.js')}')" -- "$@"\n`,
  );
  chmodSync(join(bin, 'claude'), 0o755);
  const onEnd = (end: () => Promise<void>) => void ends.push(end);
  floor = await openFloor({ onEnd, env: { PATH: `${bin}:${process.env.PATH}` } });
  automated = await automate(floor, { onEnd });
  floor.engine.team('crew', 'bots:\n  - { bot: coder, harness: claude }\n');
  const up = await floor.engine.call('POST', '/teams/crew/up', {});
  expect(up.status, JSON.stringify(up.body)).toBe(200);
  botId = (await floor.engine.agent('coder@crew')).id;
});
afterAll(async () => {
  for (const end of ends.toReversed()) await end();
});
const calls = () =>
  readFileSync(join(bin, 'calls'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { args: string[]; text: string });

test('the rule’s mode is the permission mode of the program, and what was refused is said with the result', async () => {
  const modes = { PLAN_ONLY: 'plan', REQUIRE_APPROVAL: 'manual', ACCEPT_EDITS: 'acceptEdits' };
  for (const [executionMode, permission] of Object.entries(modes)) {
    subscription = automated.subscribe(botId);
    await automated.rule(subscription, { executionMode });
    await automated.event(subscription, { title: 'x' });
    if (executionMode === 'REQUIRE_APPROVAL') {
      const { id } = await automated.until(subscription, 'awaiting_approval');
      await automated.call('POST', subscription, `/runs/${id}/approve`);
    }
    const job = await automated.until(subscription, 'completed');
    const { args, text } = calls().at(-1) as { args: string[]; text: string };
    expect(args[args.indexOf('--permission-mode') + 1]).toBe(permission);
    expect(text).toContain('untrusted data');
    expect(job).toMatchObject({
      sessionId: 'sess-1',
      attempts: [{ usage: { inputTokens: 7, outputTokens: 3, cents: 2 } }],
    });
    expect(job.output).toBe(executionMode === 'ACCEPT_EDITS' ? 'Planned.' : 'Planned.\n\n(1 tool call was refused.)');
  }
});

test('a program that is stopped is ended with all that it started, and acknowledges so', async () => {
  subscription = automated.subscribe(botId, 'PLAN_ONLY');
  await automated.rule(subscription, { instructions: 'HANG' });
  await automated.event(subscription, {});
  const { id } = await automated.until(subscription, 'running');
  await automated.call('POST', subscription, `/runs/${id}/stop`);
  expect((await automated.until(subscription, 'cancelled')).attempts).toMatchObject([{ status: 'cancelled' }]);
});
