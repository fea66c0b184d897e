/** The scenes of one real agent over ACP, named by the first argument: its program is on PATH. Ends with 1 when one fails. */
import assert from 'node:assert/strict';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Outgoing } from '../../src/runtime-server/harness/harness.ts';
import { openAcpBench } from '../support/acp-bench.ts';
import { startModelServer } from '../support/model-server/server.ts';
import { plays, scriptOf } from './acp-plays.ts';

const play = plays.find(({ agent }) => agent === process.argv[2]);
if (play === undefined) throw new Error(`There are no scenes for "${process.argv[2]}".`);
const { agent } = play;

const model = await startModelServer();
const bench = await openAcpBench({
  name: agent,
  env: play.env(model),
  furnish(place) {
    model.script(scriptOf(play.tools)(place));
    play.setUp?.({ ...place, model });
  },
});
const { work, people } = bench;
const { bot } = bench;
let failed = 0;
let count = 0;

async function until(what: string, condition: () => boolean | Promise<boolean>, ms = 60_000): Promise<void> {
  for (const end = Date.now() + ms; !(await condition()); ) {
    if (Date.now() > end) throw new Error(`${what}: not within ${ms} ms; ${JSON.stringify(bot().state())}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
const idle = () => until('an open gate', () => bot().gate().open);
const said = bench.entries;

async function send(words: string) {
  await idle();
  count += 1;
  const deliveryId = `delivery_${Date.now()}_${count}`;
  const message: Outgoing = { deliveryId, senderLine: 'From owner', text: words, replyLine: null, raw: false };
  return bot().deliver(message);
}

async function scene(name: string, act: () => Promise<string | undefined>): Promise<void> {
  const from = performance.now();
  try {
    const words = await act();
    console.log(`ok   ${agent}: ${name} (${Math.round(performance.now() - from)} ms)${words ? `: ${words}` : ''}`);
  } catch (error) {
    failed += 1;
    console.log(`FAIL ${agent}: ${name}: ${(error as Error).message}`);
    console.log(`     ${JSON.stringify((await said()).slice(-4))}`);
  }
}

const made = join(work, 'made');
/** The question that comes next. */
async function asked(words: string) {
  const before = people.held.length;
  await send(words);
  await until('the question', () => people.held.length > before);
  const question = people.held.at(-1);
  assert.ok(question);
  return question;
}

await scene('started: idle, with a session', async () => {
  await idle();
  const modes = bot().modes();
  return `${bot().explain().ruleset}; modes: ${modes?.available.map(({ id }) => id).join(', ') ?? 'none'}, now ${modes?.current ?? '-'}`;
});
await scene('a message is verified by the agent, and its answer is kept', async () => {
  const result = await send('say hello');
  assert.deepEqual(result, { state: 'verified', evidence: 'acp' });
  await idle();
  const answer = (await said()).findLast(({ kind }) => kind === 'text')?.text ?? '';
  assert.ok(answer.includes('A plain answer.'), answer);
  assert.ok(model.requests.some(({ lastUser }) => lastUser.includes('say hello')));
  return answer;
});
for (const decision of ['approve', 'reject'] as const) {
  await scene(`a command is asked about, whole: ${decision}`, async () => {
    rmSync(made, { force: true });
    const question = await asked('RUNSHELL please');
    assert.ok(question.ask.summary.includes('touch made'), question.ask.summary);
    people.answer(question.id, decision);
    await idle();
    assert.equal(existsSync(made), decision === 'approve');
    const tool = (await said()).findLast(({ kind }) => kind === 'tool')?.tool;
    return `${question.ask.title}; ${tool?.kind} ${tool?.status}`;
  });
}
await scene(`a change of a file is ${play.changesUnasked ? 'shown' : 'asked about'} with its diff`, async () => {
  const before = people.held.length;
  await send('WRITE it');
  // An agent that leaves files to its client also asks to read what was there.
  let answered = before;
  await until('the change', () => {
    for (; answered < people.held.length; answered += 1) people.answer(String(people.held[answered]?.id), 'approve');
    return bot().gate().open;
  });
  const asks = people.held.slice(before).map(({ ask }) => ask);
  const diff = asks.find(({ summary }) => summary.includes('words'));
  assert.equal(diff === undefined, play.changesUnasked === true, JSON.stringify(asks));
  assert.ok(existsSync(join(work, 'second')));
  const diffs = (await said()).findLast(({ kind }) => kind === 'tool')?.tool?.diffs?.length ?? 0;
  assert.ok(diffs > 0, 'no diff');
  return `${asks.map(({ title }) => title).join('; ') || 'not asked'}; diffs: ${diffs}`;
});
await scene('a turn is cancelled, and seen to end', async () => {
  await send('SLOW please');
  await until('the answer begun', async () => (await said()).at(-1)?.kind === 'text');
  const from = performance.now();
  const { ended } = await bot().interrupt('enough');
  assert.equal(ended, true);
  await idle();
  return `${Math.round(performance.now() - from)} ms`;
});
/** That the conversation is the one from before, and how long it is; of an agent that forgets, that Gantry says so. */
function continued(words: string, entriesSince: Awaited<ReturnType<typeof said>>): string {
  const notes = entriesSince.map(({ text }) => text).join(' ');
  const depth = model.requests.findLast(({ lastUser }) => lastUser.includes(words))?.depth ?? 0;
  if (play?.forgets) assert.ok(notes.includes('A new conversation begins'), notes);
  else assert.ok(depth > 4, `depth ${depth}; ${notes}`);
  return play?.forgets ? 'a new conversation, and it is told' : `depth ${depth}`;
}
await scene('after a restart of Gantry the session continues', async () => {
  const before = (await said()).length;
  await bench.restart();
  await idle();
  await send('and further');
  await idle();
  return continued('and further', (await said()).slice(before));
});
await scene('killed while it asks, the approval is withdrawn, and it is started again in its session', async () => {
  const question = await asked('RUNSHELL once more');
  const before = (await said()).length;
  process.kill(Number(bench.pid()), 'SIGKILL');
  await until('the end of the question', () => question.ended !== null);
  assert.equal(question.ended?.kind, 'withdrawn');
  // A program that works in a child of its own answers once more before it is gone.
  await until('its end', async () => (await said()).slice(before).some(({ text }) => /agent ended/i.test(text ?? '')));
  await send('and after that');
  await idle();
  return continued('and after that', (await said()).slice(before));
});
await bench.close();
await model.close();
process.exit(failed === 0 ? 0 : 1);
