/** The shell of a hosted computer without a screen, through the whole gate, with real commands in real sandboxes. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { ToolsetResult } from '../../../../src/contracts/computer-use/toolset.ts';
import { findBubblewrap } from '../../../../src/kit/sandbox/bubblewrap.ts';
import { createShellProgram, shellSandbox } from '../../../../src/runtime-server/computer-use/shell-program.ts';
import { askedOf, codeOf, key, resultOf, startRig } from './rig.ts';

const path = process.env.PATH ?? '';
const trial = await findBubblewrap({ path, sandbox: shellSandbox(tmpdir()) });
if (typeof trial === 'string') console.warn(`Not run: the shell of hosted computers (${trial}).`);

/** Processes that call themselves so. */
function alive(name: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')[0] === name;
    } catch {
      return false;
    }
  });
}

async function open(policy?: string) {
  if (typeof trial === 'string') throw new Error(trial);
  const home = mkdtempSync(join(tmpdir(), 'gantry-shell-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const shell = createShellProgram({ bubblewrap: trial, home, env: { PATH: '/usr/bin:/bin', LANG: 'C.UTF-8' } });
  const rig = await startRig({ command: { shell }, defaults: 'hosted', ...(policy === undefined ? {} : { policy }) });
  const call = (member: string, input: Record<string, unknown>, more = {}, signal?: AbortSignal) =>
    rig.call({ toolset: 'shell', member, input, ...more }, key, signal);
  const done = async (member: string, input: Record<string, unknown>): Promise<ToolsetResult> =>
    resultOf(await call(member, input));
  const texts = ({ content }: ToolsetResult) => content.map((part) => (part.type === 'text' ? part.text : part.type));
  return { ...rig, home, call, done, texts, sh: (line: string) => done('exec', { command: line, shell: true }) };
}

describe.skipIf(typeof trial === 'string')('the shell of a hosted computer', () => {
  test('a command gets its arguments as they are, its folder, its variables and its input, and its end is told', async () => {
    const { done, texts, sh, home } = await open();
    const said = await done('exec', { command: 'printf', args: ['%s|', 'a b', '$HOME', '; exit 3'] });
    expect([texts(said), said.exec]).toEqual([['a b|$HOME|; exit 3|', ''], { exit_code: 0, truncated: false }]);
    const both = await sh('echo out; echo err >&2; exit 3');
    expect([texts(both), both.exec, both.is_error]).toEqual([
      ['out\n', 'err\n'],
      { exit_code: 3, truncated: false },
      false,
    ]);
    const placed = {
      command: 'echo "$PWD $WHAT"; cat',
      shell: true,
      cwd: '/tmp',
      env: { WHAT: 'for' },
      stdin: 'typed',
    };
    expect(texts(await done('exec', placed))[0]).toBe('/tmp for\ntyped');
    expect(texts(await sh('pwd'))[0]).toBe(`${home}\n`);
    expect((await done('exec', { command: 'no-such-program' })).exec?.exit_code).toBe(127);
    expect((await done('exec', { command: 'ls', cwd: '/no/such/folder' })).exec?.exit_code).toBe(126);
    const long = await sh('head -c 300000 /dev/zero | tr "\\0" x');
    expect([texts(long)[0]!.length, long.exec?.truncated]).toEqual([256 * 1024, true]);
  });

  test('a command that takes too long, or whose caller leaves, is ended with all that it started', async () => {
    const { done, call, sh, texts } = await open();
    const name = `gantry-${randomBytes(4).toString('hex')}`;
    const line = `echo begun; setsid bash -c "exec -a ${name} sleep 600" & exec -a ${name} sleep 600`;
    const late = await done('exec', { command: 'bash', args: ['-c', line], timeout_ms: 700 });
    expect(late).toMatchObject({
      is_error: true,
      error: { code: 'action_timeout', message: expect.stringContaining('begun') },
    });
    expect(alive(name)).toEqual([]);
    const leaving = new AbortController();
    const left = call('exec', { command: 'bash', args: ['-c', `exec -a ${name} sleep 600`] }, {}, leaving.signal);
    await expect.poll(() => alive(name).length).toBeGreaterThan(0);
    leaving.abort();
    expect(resultOf(await left).error?.code).toBe('cancelled');
    expect(alive(name)).toEqual([]);
    // What it left in the background ends with it, and the next one runs.
    await sh(`bash -c "exec -a ${name} sleep 600" > /dev/null 2>&1 &`);
    expect(alive(name)).toEqual([]);
    expect(texts(await sh('echo again'))[0]).toBe('again\n');
  });

  test('files go up and down in parts, as text and as bytes, and what cannot be is said', async () => {
    const { done, texts, sh } = await open();
    const text = 'Grüße, 世界 🌍!\n'.repeat(50);
    const wrote = await done('write_file', { path: 'a folder/ü.txt', content: text.slice(0, 200) });
    expect(wrote.file?.size).toBe(Buffer.byteLength(text.slice(0, 200)));
    await done('write_file', { path: 'a folder/ü.txt', content: text.slice(200), append: true });
    let got = '';
    let parts = 0;
    for (let offset: number | null = 0; offset !== null; parts += 1) {
      const read: ToolsetResult = await done('read_file', { path: 'a folder/ü.txt', offset, limit: 101 });
      got += texts(read)[0];
      offset = read.file!.next_offset;
    }
    expect([got, parts > 5]).toEqual([text, true]);
    const bytes = randomBytes(100_000);
    await done('write_file', { path: '/tmp/gantry-bytes', content: bytes.toString('base64'), encoding: 'base64' });
    const back = await done('read_file', { path: '/tmp/gantry-bytes', encoding: 'base64' });
    expect([texts(back)[0] === bytes.toString('base64'), back.file]).toEqual([
      true,
      { size: 100_000, next_offset: null },
    ]);
    const refused = async (member: string, input: Record<string, unknown>) => (await done(member, input)).error;
    expect((await refused('read_file', { path: '/tmp/gantry-bytes' }))?.code).toBe('not_text');
    await sh('rm /tmp/gantry-bytes; mkfifo pipe; touch empty');
    for (const path of ['nothing', '/tmp', 'pipe', '/dev/zero']) {
      expect(await refused('read_file', { path })).toEqual({
        code: 'file_not_found',
        message: `There is no file ${path} in the computer.`,
      });
    }
    expect(texts(await done('read_file', { path: 'empty' }))).toEqual(['']);
    expect((await refused('write_file', { path: '/usr/bin/x', content: '' }))?.code).toBe('file_not_written');
    expect((await refused('write_file', { path: '/tmp', content: '' }))?.code).toBe('file_not_written');
    await expect(done('write_file', { path: 'x', content: '%%%', encoding: 'base64' })).rejects.toThrow('not base64');
  });

  test('a command sees nothing of Gantry, and can neither see nor end the program that runs it', async () => {
    const { sh, texts, folder, home, done } = await open();
    const hidden = process.cwd();
    expect((await sh(`ls ${hidden}`)).exec?.exit_code).not.toBe(0);
    const processes = texts(await sh('cat /proc/[0-9]*/comm; kill -9 -1; true'))[0]!
      .trim()
      .split('\n');
    expect(processes.length).toBeLessThan(6);
    expect(texts(await sh('id -u; cat /proc/self/status | grep CapEff'))[0]).toMatch(/CapEff:\s0{16}/);
    // A link that it makes leads nowhere else for the files either.
    await sh(`ln -s ${join(hidden, 'package.json')} link`);
    expect((await done('read_file', { path: 'link' })).error?.code).toBe('file_not_found');
    expect((await done('write_file', { path: 'link', content: 'x' })).error?.code).toBe('file_not_written');
    expect(home).not.toBe(folder);
  });

  test('it goes through the gate: turns, rules, one grant for one call, and an audit without what files hold', async () => {
    const { call, texts, questions, audit } = await open(
      'rules:\n  - when: {tool: hosted_shell.exec}\n    then: ask\n',
    );
    const run = { command: 'echo', args: ['asked'] };
    const asked = askedOf(await call('exec', run));
    expect(asked.words).toContain('echo');
    await questions.answer(asked.id, { state: 'approved', by: 'owner' });
    expect(texts(resultOf(await call('exec', run, { approval_grant: asked.id })))[0]).toBe('asked\n');
    expect((await call('exec', run, { approval_grant: asked.id })).kind).toBe('approval_required');
    const file = { path: 'secret.txt', content: 'the secret of the file' };
    const turn = { turn_id: 'turn', call_index: 0 };
    resultOf(await call('write_file', file, turn));
    const again = await call('write_file', file, turn);
    expect(again).toMatchObject({ kind: 'done', executed: false });
    resultOf(await call('read_file', { path: 'missing' }, { turn_id: 'turn', call_index: 1 }));
    const after = resultOf(await call('read_file', { path: 'secret.txt' }, { turn_id: 'turn', call_index: 2 }));
    expect(after.error?.code).toBe('not_executed');
    const rows = await audit();
    expect(rows.filter(({ member, outcome }) => member === 'write_file' && outcome === 'done')).toHaveLength(1);
    expect(JSON.stringify(rows)).not.toContain('the secret of the file');
  });

  test('a computer has its own toolsets only, and says which', async () => {
    const shell = await open();
    expect(await codeOf(shell.call('fly', {}))).toBe('invalid_toolset_call');
    expect(await codeOf(shell.call('exec', { command: 'ls', wher: 'x' }))).toBe('invalid_toolset_call');
    for (const toolset of ['browser', 'computer'] as const) {
      const call = shell.gate.call({ toolset, member: 'screenshot', input: {} }, key, new AbortController().signal);
      await expect(call).rejects.toThrow(`This computer has no ${toolset} toolset, only shell.`);
    }
  });
});

test('a person’s own computer has no shell toolset', async () => {
  const rig = await startRig();
  const call = rig.call({ toolset: 'shell', member: 'exec', input: { command: 'ls' } });
  await expect(call).rejects.toThrow('This computer has no shell toolset, only computer and browser.');
  expect(rig.done()).toEqual([]);
});
