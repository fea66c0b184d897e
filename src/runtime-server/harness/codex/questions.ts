/**
 * Turns Codex's own permission question (`PermissionRequest` hook) into an approval, and into an action for the policy. Must not know how approvals
 * are kept, panes or state.
 */
import { hash } from 'node:crypto';
import { resolve } from 'node:path';
import { actionHash } from '../../../kit/signing/action-hash.ts';
import { askOf, commandOf, firstLine, placeOf, type Words } from '../claude/questions.ts';
import type { PermissionAsk, PermissionPolicy } from '../harness.ts';
import { record, text } from '../values.ts';

export type Payload = Readonly<Record<string, unknown>>;

/** The hook waits only a minute; the approval must not live much longer, whatever happens to us. */
const expiresInMs = 10 * 60_000;

export interface Question {
  readonly tool: string;
  readonly input: Payload;
  /** Equal for every hook of the same question. */
  readonly call: string;
  readonly ask: PermissionAsk;
}

/** Null where the hook names no tool. */
export function questionOf(bot: { agentId: string; slug: string; team: string }, payload: Payload): Question | null {
  const tool = text(payload.tool_name);
  if (tool === '') return null;
  const input = record(payload.tool_input);
  const { session_id, turn_id, agent_id } = payload;
  const parts = [...[session_id, turn_id, agent_id].map(text), tool, actionHash({ input })];
  const call = hash('sha256', JSON.stringify(parts), 'hex');
  const ask = askOf(bot, {
    tool,
    input,
    words: wordsOf(tool, input),
    expiresInMs,
    key: `codex:${bot.agentId}:${call}`,
  });
  return { tool, input, call, ask };
}

/** The files that a patch adds, changes, deletes or moves to. */
export function patchFiles(patch: string): string[] {
  const named = patch.matchAll(/^\*\*\* (?:Add File|Update File|Delete File|Move to): (.+)$/gmu);
  return [...new Set([...named].map(([, file = '']) => file.trim()))];
}

type Action = Parameters<PermissionPolicy['decide']>[0];

/** The question as the policy reads it, one action for each file of a patch: Codex's tools under Gantry's names for the same actions. */
export async function actionsOf(
  bot: { slug: string; team: string; cwd: string },
  workspace: string | null,
  { tool, input }: Pick<Question, 'tool' | 'input'>,
): Promise<readonly Action[]> {
  const address = `${bot.slug}@${bot.team}`;
  const command = commandOf(input);
  if (isShell(tool)) return [{ tool: 'shell.exec', bot: address, command }];
  if (tool === 'apply_patch') {
    const files = await Promise.all(patchFiles(command).map((file) => placeOf(workspace, resolve(bot.cwd, file))));
    if (files.length > 0) return files.map((path) => ({ tool: 'file.write', bot: address, path }));
    return [{ tool: 'file.write', bot: address }];
  }
  const [, server, member] = /^mcp__(.+?)__(.+)$/.exec(tool) ?? [];
  return [server && member ? { tool: server, member, bot: address } : { tool, bot: address }];
}

const isShell = (tool: string) => ['Bash', 'shell', 'exec_command', 'local_shell'].includes(tool);

function wordsOf(tool: string, input: Payload): Words {
  const command = commandOf(input);
  // It asks only about actions that its own sandbox blocks.
  const why = text(input.description);
  const reason = why === '' ? {} : { reason: why };
  if (isShell(tool)) {
    return {
      what: `run: ${firstLine(command)}`,
      summary: `${command}\n\n(outside its sandbox)`,
      ...reason,
      risk: 'high',
    };
  }
  if (tool === 'apply_patch') {
    return { what: `change ${patchFiles(command).join(', ')}`, summary: command, ...reason, risk: 'medium' };
  }
  return { what: `use ${tool}`, summary: `${tool}\n${JSON.stringify(input, null, 2)}`, risk: 'high' };
}
