/** Gantry with something of every kind on its pages: the demo team, a run that waits, a number with a text, tools, a service, a task. */
import { join } from 'node:path';
import { type Gantry, startGantry } from './gantry.ts';
import { ownerCall } from './owner-call.ts';
import { root } from './renderer.ts';
import { writeShipTemplate } from './ship-template.ts';

export interface FullHouse {
  readonly gantry: Gantry;
  readonly dagId: string;
  readonly campaignId: string;
  readonly numberId: string;
  readonly connectorId: string;
  readonly taskId: string;
  call<T = { id: string }>(method: string, path: string, body?: unknown): Promise<T>;
}

/** Who texts the number. */
export const caller = '+12025550102';
const ours = '+13035550100';

/** Without its panes being busy: nothing on the pages changes by itself. */
export async function startFullHouse(): Promise<FullHouse> {
  const gantry = await startGantry({ demoPhone: true });
  const call: FullHouse['call'] = (...asked) => ownerCall(gantry, ...asked);
  writeShipTemplate(gantry.workspace, Buffer.from(''));
  await gantry.agree();
  await call('POST', '/api/factory/teams/demo/up', {});
  const { dagId, campaignId } = await call<{ dagId: string; campaignId: string }>('POST', '/api/factory/runs', {
    template: 'ship',
    projectId: 'site',
    params: { version: '0.4' },
  });
  const thread = await call('POST', '/api/factory/threads', { title: 'Plans', bot: 'scribe@demo' });
  await call('POST', '/api/factory/send', { to: 'scribe@demo', text: 'echo the harbour is open', threadId: thread.id });
  await call('POST', '/api/v1/phone/demo/speed', { speed: 'instant' });
  const { agents } = await call<{ agents: { id: string }[] }>('GET', '/api/factory/agents');
  const { computer } = await call<{ computer: { id: string } }>('GET', '/api/v1/session');
  const { number } = await call<{ number: { id: string } }>('POST', '/api/v1/phone/numbers', {
    e164: ours,
    runtimeId: computer.id,
    botId: agents[0]?.id,
  });
  await call('POST', `/api/v1/phone/demo/handsets/${encodeURIComponent(caller)}/text`, { to: ours, text: 'Hello?' });
  await call('POST', '/mcp/servers', {
    name: 'tracker',
    transport: { type: 'stdio', command: process.execPath, args: [join(root, 'test/e2e/support/tracker.ts')] },
  });
  const connector = await call('POST', '/api/v1/mcp/connectors', { name: 'issues', url: 'http://127.0.0.1:9/mcp' });
  const task = await call('POST', '/beta/work', { payload: { command: 'true' } });
  return { gantry, dagId, campaignId, numberId: number.id, connectorId: connector.id, taskId: task.id, call };
}
