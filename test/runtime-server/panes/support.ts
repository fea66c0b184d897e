/** Engines over real hosts in folders of their own. */
import { existsSync } from 'node:fs';
import { onTestFinished } from 'vitest';
import { programCommand } from '../../../src/kit/process/programs.ts';
import { hostFiles } from '../../../src/programs/pane-host/protocol.ts';
import { createPaneEngine, type PaneSettings } from '../../../src/runtime-server/panes/create-pane-engine.ts';
import { connectHost } from '../../../src/runtime-server/panes/host-connection.ts';
import { hostToken } from '../../../src/runtime-server/panes/host-starter.ts';
import type { PaneEngine, PaneListener, PaneSpec } from '../../../src/runtime-server/panes/pane-engine.ts';
import { until } from '../../programs/pane-host/support.ts';
import { scratchFolder } from '../../support/scratch.ts';

const open = new Map<string, Set<PaneEngine>>();

/** An engine on `home`. With the test all engines of that home are let go, then its host is ended and waited for. */
export async function testEngine(
  home = scratchFolder(),
  more: {
    args?: string[];
    heartbeatMs?: number;
    listener?: PaneListener;
    build?: string;
    settings?: PaneSettings;
    command?: [string, ...string[]];
    onNotice?: (message: string) => void;
  } = {},
): Promise<PaneEngine> {
  const errors: unknown[] = [];
  const [program, file] = programCommand('pane-host');
  const engine = createPaneEngine({
    home,
    command: more.command ?? [program, file ?? '', ...(more.args ?? [])],
    ...(more.build === undefined ? {} : { build: more.build }),
    ...(more.onNotice === undefined ? {} : { onNotice: more.onNotice }),
    settings: more.settings,
    onError: (error) => void errors.push(error),
    ...(more.heartbeatMs ? { heartbeatMs: more.heartbeatMs } : {}),
  });
  open.set(home, (open.get(home) ?? new Set()).add(engine));
  onTestFinished(async () => {
    for (const each of open.get(home) ?? []) await each.close();
    open.delete(home);
    await endHost(home);
    if (errors.length > 0) throw errors[0];
  });
  if (more.listener) engine.listen(more.listener);
  await engine.ready();
  return engine;
}

async function endHost(home: string): Promise<void> {
  const files = hostFiles(home);
  const connection = await connectHost(files, hostToken(files), { event() {}, lost() {} }).catch(() => null);
  await connection?.request({ op: 'stop', force: true });
  await until('the host is gone', () => !existsSync(files.lock));
}

export function bash(id: string, script: string, more: Partial<PaneSpec> = {}): PaneSpec {
  const env = { PATH: process.env.PATH ?? '', TERM: 'xterm-256color', LANG: 'C.UTF-8', PS1: '$ ' };
  return { id, command: ['bash', '-c', script], cwd: '/tmp', env, cols: 80, rows: 24, labels: {}, ...more };
}
