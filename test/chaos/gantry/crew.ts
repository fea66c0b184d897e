/** The campaign's team and template, and the model that its hosted bot thinks with. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { text, tools } from '../../support/model-server/script.ts';
import { type ModelServer, startModelServer } from '../../support/model-server/server.ts';

export const team = 'crew';
export const project = 'chaos';

const handedOver = /gantry workspace done (\S+) (\S+) --output/;

/** Two agent programs in panes, a hosted bot, and a shell that tickets are made for. */
export const teamFile = `name: ${team}
version: 1
bots:
  - { bot: ann, role: coder, harness: claude }
  - { bot: ben, role: coder, harness: claude }
  - { bot: mia, role: writer, binding: hosted, model: anthropic/claude-x, permissions: ACCEPT_EDITS }
  - { bot: clerk, role: clerk, harness: shell }
`;

const template = {
  steps: [
    { id: 'prepare', command: 'echo ready' },
    {
      id: 'code',
      executor: 'role:coder',
      blocked_by: ['prepare'],
      description: 'Do what there is to do.',
      // A program that was killed reports nothing more: its person is asked soon enough to be judged here.
      silence: { minutes: 0.3, nudge: false },
    },
    { id: 'write', executor: 'role:writer', blocked_by: ['code'], description: 'Write down what was done.' },
    {
      id: 'publish',
      blocked_by: ['write'],
      wait_gate: { kind: 'manual', description: 'Read it before it goes out' },
      command: 'echo published',
    },
  ],
};

export function writeTemplate(workspace: string): void {
  const folder = join(workspace, '.gantry', 'templates');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'chain.json'), JSON.stringify(template));
}

/**
 * Thinks for a moment, so that a kill can come in the middle of a turn, then notes progress and says that the step is done. To Claude Code it says which
 * command works at the step that the message hands over.
 */
export function startModel(): Promise<ModelServer> {
  return startModelServer(async ({ lastUser, toolResults, tools: offered }) => {
    await delay(300 + Math.random() * 700);
    if (toolResults.length > 0) return text('Done.');
    const [, run, step] = handedOver.exec(lastUser) ?? [];
    if (run !== undefined && step !== undefined && offered.includes('Bash')) {
      const command = `"${process.execPath}" "$CHAOS_WORK" ${run} ${step}`;
      return tools({ name: 'Bash', input: { command, description: 'Work at the step' } });
    }
    if (!offered.includes('node_done')) return text('Done.');
    return tools(
      { name: 'node_progress', input: { text: 'half of it is written' } },
      { name: 'node_done', input: { output: 'written' } },
    );
  });
}
