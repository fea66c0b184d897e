/** A sandbox that is started by arguments and variables only: its program gets its input, its variables and its signals, and chooses nothing outside. */
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runProcess } from '../../../src/kit/process/run-process.ts';
import { findBubblewrap } from '../../../src/kit/sandbox/bubblewrap.ts';
import { filterFor } from '../../../src/kit/sandbox/filter.ts';
import { confineInTerminal, findTerminalTools, type TerminalTools } from '../../../src/kit/sandbox/in-terminal.ts';
import type { Sandbox } from '../../../src/kit/sandbox/sandbox.ts';
import { scratchFolder } from '../../support/scratch.ts';

const path = process.env.PATH ?? '';
const sandbox: Sandbox = {
  mounts: [{ at: '/', shows: 'read' }],
  network: 'host',
  terminal: 'kept',
  ends: 'with-parent',
  cwd: '/',
};
const found = await findTerminalTools(path);
const works = typeof found !== 'string' && typeof (await findBubblewrap({ path, sandbox })) !== 'string';
const tools = found as TerminalTools;

function confined(line: string, env: Record<string, string> = {}) {
  const bytes = filterFor(process.arch, 'host');
  const filterFile = bytes === null ? null : join(scratchFolder(), 'filter');
  if (bytes !== null && filterFile !== null) writeFileSync(filterFile, bytes);
  const order = { sandbox, command: ['/bin/sh', '-c', line] as [string, ...string[]], env: { PATH: path, ...env } };
  return confineInTerminal(tools, { ...order, filterFile });
}
const run = (line: string, env?: Record<string, string>, input = '') =>
  runProcess({ ...confined(line, env), input, deadlineMs: 20_000 });

describe.skipIf(!works)('in bubblewrap', () => {
  test('the program gets its input, its variables as they are, and its exit code is seen', async () => {
    const told = 'two\nlines, "quotes" and $HOME';
    const { stdout, exitCode } = await run(
      'cat; printf %s "$TOLD"; env | grep -c GANTRY_SANDBOX; exit 7',
      { TOLD: told },
      'given ',
    );
    expect(stdout).toBe(`given ${told}0\n`);
    expect(exitCode).toBe(7);
  });

  test('its variables are obeyed by nothing outside, and stand in no list of processes', async () => {
    const folder = scratchFolder();
    const secret = `secret-${performance.now()}`;
    const { command } = confined('true', { TOLD: secret });
    expect(command.join(' ')).not.toContain(secret);
    await run('true', { LD_DEBUG: 'files', LD_DEBUG_OUTPUT: join(folder, 'written'), ENV: join(folder, 'start') });
    expect(readdirSync(folder)).toEqual([]);
  });

  test.skipIf(tools.env === null)('a signal to everything in the terminal is the program’s to answer', async () => {
    const line = 'trap "echo caught; exit 3" INT; kill -INT 0; sleep 5';
    // The group is that of the sandbox, too: what ends it ends the program before it can answer.
    const { stdout, exitCode } = await run(line);
    expect(stdout).toBe('caught\n');
    expect(exitCode).toBe(3);
  });

  test('more variables than fit are refused with their size', () => {
    expect(() => confined('true', { LONG: 'x'.repeat(200_000) })).toThrow('bytes');
  });
});
