/** An agent over ACP in a sandbox sees what a bot in a terminal would see in it, and is not started where that cannot be had. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { findBubblewrap } from '../../../src/kit/sandbox/bubblewrap.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { sharedEngine } from '../engine.ts';
import { send, standIn, told, waits } from './support.ts';

const found = await findBubblewrap({
  path: process.env.PATH ?? '',
  sandbox: { mounts: [{ at: '/', shows: 'read' }], network: 'host', terminal: 'none', ends: 'with-parent', cwd: '/' },
});

describe.skipIf(typeof found === 'string')('where bubblewrap works', () => {
  const shared = sharedEngine();

  test('it takes messages over its pipes, keeps its session in its folder, and cannot see the home of its person', async () => {
    const engine = shared.current;
    const home = join(engine.home, '..', 'user');
    mkdirSync(home, { recursive: true });
    writeFileSync(join(home, 'secret'), 'x');
    const project = join(scratchFolder(), 'project');
    mkdirSync(project);
    const read = [dirname(standIn), resolve(import.meta.dirname, '../../../node_modules'), dirname(process.execPath)];
    engine.team(
      'held',
      `bots:\n  - bot: dev\n    harness: acp\n    command: ${process.execPath} ${standIn}\n    cwd: ${project}\n    sandbox: files\n    sees: { read: [${[...new Set(read)].join(', ')}] }\n    caps: { memory: 2GiB, disk: 1GiB }\n`,
    );
    const up = await engine.call<{ plan: { reason: string }[] }>('POST', '/teams/held/up', {});
    expect(up.status, JSON.stringify(up.body)).toBe(200);
    expect(up.body.plan[0]?.reason).toContain('in the sandbox "files"');
    await engine.until('dev@held', 'idle');
    const caps = [
      { what: 'memory', limit: 2048, hits: 0, last: null },
      { what: 'disk', limit: 1024, hits: 0, last: null, heldBy: 'watched' },
    ];
    expect(await engine.agent('dev@held')).toMatchObject({ sandbox: 'files', caps });
    expect(await send(engine, 'dev@held', 'hello')).toMatchObject({ state: 'verified' });
    await send(engine, 'dev@held', `looks-at ${join(home, 'secret')}`);
    await vi.waitFor(async () => expect((await told(engine, 'dev@held')).at(-1)).toBe('text sees it: false'), waits);
    await send(engine, 'dev@held', `looks-at ${project}/.stand-in-acp`);
    await vi.waitFor(async () => expect((await told(engine, 'dev@held')).at(-1)).toBe('text sees it: true'), waits);
  });
});
