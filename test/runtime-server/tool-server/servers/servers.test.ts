/** Attached servers as a person meets them: attached, listed, called, changed, detached, and kept over a restart. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { scratchFolder } from '../../../support/scratch.ts';
import { alive, openServers, stdio, textOf } from './support.ts';

const open = (more = {}) => openServers({ file: join(scratchFolder(), 'runtime.db'), ...more });

test('a server that is attached is connected, listed and called under its own name', async () => {
  const servers = await open();
  const made = await servers.attach('notes', stdio('usual'));
  expect(made).toMatchObject({ name: 'notes', status: 'connecting', enabled: true, timeoutMs: 60_000, toolCount: 0 });
  await servers.until(made.id, 'connected');
  expect(servers.names()).toEqual(['notes.die', 'notes.echo', 'notes.env', 'notes.wait']);
  expect(await servers.read(made.id)).toMatchObject({
    toolCount: 4,
    problems: [],
    error: null,
    pid: expect.any(Number),
  });
  expect(textOf(await servers.call('notes.echo', { text: 'hi' }))).toBe('echo: {"text":"hi"}');
  expect(textOf(await servers.call('notes_echo', { text: 'hi' }))).toBe('echo: {"text":"hi"}');
});
