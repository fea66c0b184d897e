import { appendFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readClaudeUsage } from '../../../src/runtime-server/harness/claude/usage.ts';
import { readJsonLines } from '../../../src/runtime-server/harness/json-lines.ts';

let folder: string;
let transcript: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gantry-usage-'));
  transcript = join(folder, 'session.jsonl');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

interface Said {
  readonly id: string;
  readonly output: number;
  readonly stop?: string | null;
  readonly model?: string;
}

/** A line as Claude Code writes it, with the fields that matter. */
function answer({ id, output, stop = null, model = 'claude-sonnet-4-5-20250929' }: Said): string {
  return `${JSON.stringify({
    type: 'assistant',
    timestamp: '2026-11-22T12:00:00.000Z',
    requestId: `req_${id}`,
    message: {
      id: `msg_${id}`,
      model,
      role: 'assistant',
      content: [{ type: 'text', text: 'An answer about "usage".' }],
      stop_reason: stop,
      usage: {
        input_tokens: 4,
        cache_creation_input_tokens: 100,
        cache_read_input_tokens: 2000,
        output_tokens: output,
      },
    },
  })}\n`;
}
const prompt = `${JSON.stringify({ type: 'user', message: { role: 'user', content: 'say "usage"' } })}\n`;

describe('tokens in a transcript of Claude Code', () => {
  test('an answer of several lines counts once, with the numbers of its last line', async () => {
    await writeFile(
      transcript,
      prompt + answer({ id: 'a', output: 1 }) + answer({ id: 'a', output: 30, stop: 'end_turn' }),
    );
    const { lines, more } = await readClaudeUsage({ facts: { transcript }, cursor: null, settled: false });
    expect(more).toBe(false);
    expect(lines).toEqual([
      {
        id: 'msg_a:req_a',
        at: Date.parse('2026-11-22T12:00:00Z'),
        model: 'claude-sonnet-4-5-20250929',
        input: 4,
        cachedInput: 2000,
        cacheWrite: 100,
        output: 30,
        cents: null,
      },
    ]);
  });

  test('an answer that still grows waits for its last line, or for the end of the turn', async () => {
    const facts = { transcript };
    await writeFile(transcript, answer({ id: 'a', output: 9, stop: 'tool_use' }) + answer({ id: 'b', output: 1 }));
    const first = await readClaudeUsage({ facts, cursor: null, settled: false });
    expect(first.lines.map(({ id }) => id)).toEqual(['msg_a:req_a']);
    await appendFile(transcript, answer({ id: 'b', output: 40 }));
    const second = await readClaudeUsage({ facts, cursor: first.cursor, settled: true });
    expect(second.lines.map(({ id, output }) => [id, output])).toEqual([['msg_b:req_b', 40]]);
    const third = await readClaudeUsage({ facts, cursor: second.cursor, settled: true });
    expect(third.lines).toEqual([]);
  });

  test('a line that is half written is read once it is whole', async () => {
    const facts = { transcript };
    const line = answer({ id: 'a', output: 9, stop: 'end_turn' });
    await writeFile(transcript, line.slice(0, 100));
    const first = await readClaudeUsage({ facts, cursor: null, settled: true });
    expect(first.lines).toEqual([]);
    await appendFile(transcript, line.slice(100));
    const second = await readClaudeUsage({ facts, cursor: first.cursor, settled: true });
    expect(second.lines).toHaveLength(1);
  });

  test('sub-agents and earlier sessions of the bot are read on; words of the program itself cost nothing', async () => {
    const own = join(folder, 'session', 'subagents');
    await mkdir(own, { recursive: true });
    await writeFile(join(own, 'agent-1.jsonl'), answer({ id: 'sub', output: 5, stop: 'end_turn' }));
    await writeFile(transcript, answer({ id: 'x', output: 0, stop: 'stop_sequence', model: '<synthetic>' }));
    const first = await readClaudeUsage({ facts: { transcript }, cursor: null, settled: true });
    expect(first.lines.map(({ id }) => id)).toEqual(['msg_sub:req_sub']);
    const next = join(folder, 'next.jsonl');
    await writeFile(next, answer({ id: 'n', output: 1, stop: 'end_turn' }));
    await appendFile(transcript, answer({ id: 'late', output: 1, stop: 'end_turn' }));
    const second = await readClaudeUsage({ facts: { transcript: next }, cursor: first.cursor, settled: true });
    expect(second.lines.map(({ id }) => id).sort()).toEqual(['msg_late:req_late', 'msg_n:req_n']);
  });

  test('a transcript that was rewritten shorter is read from its start', async () => {
    await writeFile(transcript, prompt + answer({ id: 'a', output: 9, stop: 'end_turn' }));
    const first = await readClaudeUsage({ facts: { transcript }, cursor: null, settled: true });
    await writeFile(transcript, answer({ id: 'b', output: 9, stop: 'end_turn' }));
    const second = await readClaudeUsage({ facts: { transcript }, cursor: first.cursor, settled: true });
    expect(second.lines.map(({ id }) => id)).toEqual(['msg_b:req_b']);
  });

  test('a transcript larger than what is read at once is read to its end', async () => {
    const long = `${JSON.stringify({ type: 'user', message: { content: 'x'.repeat(5_000_000) } })}\n`;
    await writeFile(transcript, long + answer({ id: 'a', output: 9, stop: 'end_turn' }));
    let cursor = null as Awaited<ReturnType<typeof readClaudeUsage>>['cursor'] | null;
    const ids: string[] = [];
    for (let more = true; more; ) {
      const page = await readClaudeUsage({ facts: { transcript }, cursor, settled: true });
      ids.push(...page.lines.map(({ id }) => id));
      ({ cursor, more } = page);
    }
    expect(ids).toEqual(['msg_a:req_a']);
    expect((await readJsonLines(transcript, 0)).offset).toBeGreaterThan(5_000_000);
  });
});
