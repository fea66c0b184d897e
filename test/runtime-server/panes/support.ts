/** Engines over real hosts in folders of their own. */
import { onTestFinished } from 'vitest';
import { programCommand } from '../../../src/kit/process/programs.ts';
import { createPaneEngine } from '../../../src/runtime-server/panes/create-pane-engine.ts';
import type { PaneEngine, PaneListener, PaneSpec } from '../../../src/runtime-server/panes/pane-engine.ts';
import { scratchFolder } from '../../support/scratch.ts';

/** An engine on `home`; its host is ended with the test. */
export async function testEngine(
  home = scratchFolder(),
  more: { args?: string[]; heartbeatMs?: number; listener?: PaneListener } = {},
): Promise<PaneEngine> {
  const errors: unknown[] = [];
  const [program, file] = programCommand('pane-host');
  const engine = createPaneEngine({
    home,
    command: [program, file ?? '', ...(more.args ?? [])],
    onError: (error) => void errors.push(error),
    ...(more.heartbeatMs ? { heartbeatMs: more.heartbeatMs } : {}),
  });
  onTestFinished(async () => {
    await engine.stopHost({ force: true }).catch(() => {});
    await engine.close();
    if (errors.length > 0) throw errors[0];
  });
  if (more.listener) engine.listen(more.listener);
  await engine.ready();
  return engine;
}

export function bash(id: string, script: string, more: Partial<PaneSpec> = {}): PaneSpec {
  const env = { PATH: process.env.PATH ?? '', TERM: 'xterm-256color', LANG: 'C.UTF-8', PS1: '$ ' };
  return { id, command: ['bash', '-c', script], cwd: '/tmp', env, cols: 80, rows: 24, labels: {}, ...more };
}
