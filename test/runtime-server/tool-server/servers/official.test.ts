/** Servers that nobody here wrote: the official SDKs, both generations, over both transports. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { scratchFolder } from '../../../support/scratch.ts';
import { onEnd, openServers, textOf } from './support.ts';

const script = join(import.meta.dirname, '../../../support/attached/official.ts');

async function served(version: string) {
  const child = spawn(process.execPath, [script, version, 'http'], { stdio: ['ignore', 'pipe', 'inherit'] });
  onEnd(async () => void child.kill('SIGKILL'));
  const [line] = (await child.stdout.take(1).toArray()) as [Buffer];
  return { type: 'http', url: line.toString().trim() };
}

test.each([
  ['v1', 'stdio', true],
  ['v2', 'stdio', true],
  ['v1', 'http', true],
  // It makes a server for each request: what one registers is not there at the next.
  ['v2', 'http', false],
] as const)('a server made with SDK %s over %s is listed, called and listed anew', async (version, way, grows) => {
  const servers = await openServers({ file: join(scratchFolder(), 'runtime.db') });
  const transport =
    way === 'http' ? await served(version) : { type: 'stdio', command: process.execPath, args: [script, version, way] };
  const { id } = await servers.attach('sdk', transport);
  await servers.until(id, 'connected');
  expect(await servers.read(id)).toMatchObject({ problems: [], toolCount: 2 });
  const add = servers.tools.list()[0];
  expect(add).toMatchObject({ name: 'sdk.add', title: 'Add', inputSchema: { required: ['a', 'b'] } });
  expect(JSON.stringify(add)).not.toContain('$schema');
  expect(await servers.call('sdk.add', { a: 1, b: 2 })).toEqual({
    content: [{ type: 'text', text: '3' }],
    structuredContent: { sum: 3 },
    isError: false,
  });
  expect(textOf(await servers.call('sdk.add', { a: 1, b: 'x' }))).toBe(
    'sdk.add does not take this: b must be a number, not "x".',
  );
  expect(textOf(await servers.call('sdk.grow'))).toBe('done');
  if (grows) await expect.poll(() => servers.names()).toEqual(['sdk.add', 'sdk.grow', 'sdk.grown']);
});
