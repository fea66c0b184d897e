/** What an agent over ACP asks of its client: files and commands, decided by the policy and done where the agent runs. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { findBubblewrap } from '../../../src/kit/sandbox/bubblewrap.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { sharedEngine } from '../engine.ts';
import { agentTeam, answer, conversation, knownAgentTeam, question, send, standIn, told, waits } from './support.ts';

const shared = sharedEngine();

async function project(): Promise<{ address: string; folder: string }> {
  const folder = join(scratchFolder(), 'project');
  mkdirSync(folder);
  const address = await agentTeam(shared.current, '', `    cwd: ${folder}\n`);
  return { address, folder };
}

const last = async (address: string) =>
  (await told(shared.current, address)).findLast((one) => one.startsWith('text '));

async function says(address: string, words: string): Promise<void> {
  await vi.waitFor(async () => expect(await last(address)).toContain(words), waits);
}

test('a file is written and read once a person has said yes to the diff', async () => {
  const engine = shared.current;
  const { address, folder } = await project();
  writeFileSync(join(folder, 'a.txt'), 'one\n');
  await send(engine, address, 'client-writes a.txt `two`');
  const asked = await question(engine);
  expect(asked).toMatchObject({ title: `${address} asks to change ${join(folder, 'a.txt')}` });
  expect(asked.summary).toContain('-one');
  expect(asked.summary).toContain('+two');
  expect(readFileSync(join(folder, 'a.txt'), 'utf8')).toBe('one\n');
  await answer(engine, asked.id, 'approve');
  await says(address, 'I wrote it.');
  expect(readFileSync(join(folder, 'a.txt'), 'utf8')).toBe('two');
});

test('a no of the person keeps the file as it is, and the agent hears it', async () => {
  const engine = shared.current;
  const { address, folder } = await project();
  await send(engine, address, 'client-writes sub/b.txt `x`');
  await answer(engine, (await question(engine)).id, 'reject');
  await says(address, 'It was refused: A person said no.');
  expect(existsSync(join(folder, 'sub'))).toBe(false);
});

test('what a person agreed to when the agent asked is not asked about again, in this turn only', async () => {
  const engine = shared.current;
  const { address, folder } = await project();
  await send(engine, address, 'asks first client-writes sub/c.txt `once`');
  await answer(engine, (await question(engine)).id, 'approve');
  await says(address, 'I wrote it.');
  expect(readFileSync(join(folder, 'sub/c.txt'), 'utf8')).toBe('once');
  await send(engine, address, 'client-writes sub/c.txt `twice`');
  await answer(engine, (await question(engine)).id, 'reject');
  await says(address, 'It was refused: A person said no.');
  expect(readFileSync(join(folder, 'sub/c.txt'), 'utf8')).toBe('once');
});

test('a command runs in the folder of the agent, and its newest output and its end are the agent’s and the conversation’s', async () => {
  const engine = shared.current;
  const { address, folder } = await project();
  writeFileSync(join(folder, 'long'), `${'é'.repeat(80)}end`);
  await send(engine, address, 'client-runs cat `long`');
  await answer(engine, (await question(engine)).id, 'approve');
  await says(address, '"exitCode":0');
  const said = JSON.parse((await last(address))!.slice('text '.length)) as { output: string; truncated: boolean };
  expect(said).toEqual({ exitCode: 0, signal: null, output: `${'é'.repeat(48)}end`, truncated: true });
  const { entries } = await conversation(engine, address);
  expect(entries.findLast(({ kind }) => kind === 'tool')?.tool).toMatchObject({ output: said.output, status: 'done' });
});

test('a command that never ends is ended when the agent kills it', async () => {
  const { address } = await project();
  await send(shared.current, address, 'kills it client-runs sleep `1000`');
  await answer(shared.current, (await question(shared.current)).id, 'approve');
  await says(address, '"signal":"SIGTERM"');
});

test.each([
  ['client-reads missing.txt', 'Resource not found'],
  ['client-reads .', 'is not a file'],
])('%s is an error in words for the agent', async (text, words) => {
  const { address } = await project();
  await send(shared.current, address, text);
  const open = await vi.waitFor(async () => {
    const [first] = await shared.current.approvals.live();
    const now = await last(address);
    expect(first !== undefined || now?.includes('refused')).toBe(true);
    return first;
  }, waits);
  if (open !== undefined) await answer(shared.current, open.id, 'approve');
  await says(address, words);
});

test('an agent that cannot create a file of which it hears that it is missing reads an empty one', async () => {
  const engine = shared.current;
  const address = await knownAgentTeam(engine, 'gemini', '');
  await send(engine, address, 'client-reads missing.txt');
  await vi.waitFor(async () => expect(await last(address)).toBe('text It has: '), waits);
});

const found = await findBubblewrap({
  path: process.env.PATH ?? '',
  sandbox: { mounts: [{ at: '/', shows: 'read' }], network: 'host', terminal: 'none', ends: 'with-parent', cwd: '/' },
});

describe.skipIf(typeof found === 'string')('where bubblewrap works', () => {
  test('an approved read of an agent in a sandbox sees what the sandbox shows, and nothing of the home', async () => {
    const engine = shared.current;
    const home = join(engine.home, '..', 'user');
    mkdirSync(home, { recursive: true });
    writeFileSync(join(home, 'secret'), 'x');
    const folder = join(scratchFolder(), 'project');
    mkdirSync(folder);
    writeFileSync(join(folder, 'own'), 'first\nsecond\n');
    const read = [dirname(standIn), resolve(import.meta.dirname, '../../../node_modules'), dirname(process.execPath)];
    engine.team(
      'inside',
      `bots:\n  - bot: dev\n    harness: acp\n    command: ${process.execPath} ${standIn}\n    cwd: ${folder}\n    sandbox: files\n    sees: { read: [${[...new Set(read)].join(', ')}] }\n`,
    );
    expect((await engine.call('POST', '/teams/inside/up', {})).status).toBe(200);
    const address = 'dev@inside';
    await engine.until(address, 'idle');
    await send(engine, address, `client-reads ${join(home, 'secret')}`);
    await answer(engine, (await question(engine)).id, 'approve');
    await says(address, 'Resource not found');
    await send(engine, address, 'second line client-reads own');
    await answer(engine, (await question(engine)).id, 'approve');
    await says(address, 'It has: second');
    await send(engine, address, `client-runs ls \`${home}\``);
    await answer(engine, (await question(engine)).id, 'approve');
    await says(address, 'exitCode');
    expect(await last(address)).not.toContain('secret');
  });
});
