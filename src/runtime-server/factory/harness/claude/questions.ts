/**
 * Claude Code's own permission question (`PermissionRequest` hook) in the words of an approval, and the answer in the words of
 * the hook. Pure; must not know the desk, panes or state.
 */
import { hash } from 'node:crypto';
import { actionHash } from '../../../../kit/signing/action-hash.ts';
import type { PermissionAnswer, PermissionAsk } from '../harness.ts';

export type Payload = Readonly<Record<string, unknown>>;

/** Events that tell that a tool was let run. */
export const toolEndEvents: readonly string[] = ['PostToolUse', 'PostToolUseFailure'];

/**
 * Questions that take more than yes or no: Claude Code heeds a hook's yes to them only together with the person's choice, so they
 * are answered in the pane.
 */
const paneOnly: ReadonlySet<string> = new Set(['AskUserQuestion', 'ExitPlanMode']);

/** Nobody can answer later than this; the dialog itself stays. */
const expiresInMs = 24 * 60 * 60_000;

export interface Question {
  readonly tool: string;
  readonly input: Payload;
  /** The same for every hook of the same question, and for the events that tell of this very call later. */
  readonly call: string;
  /** Which sub-agent asks; null: the main conversation. */
  readonly subAgent: string | null;
  readonly ask: PermissionAsk;
}

/** Null where a person must answer in the pane. */
export function questionOf(bot: { agentId: string; slug: string; team: string }, payload: Payload): Question | null {
  const tool = text(payload.tool_name);
  if (tool === '' || paneOnly.has(tool)) return null;
  const input = record(payload.tool_input);
  const call = callOf(payload);
  const { what, summary, risk } = wordsOf(tool, input);
  return {
    tool,
    input,
    call,
    subAgent: text(payload.agent_id) || null,
    ask: {
      source: 'harness',
      kind: 'permission',
      title: `${bot.slug}@${bot.team} asks to ${what}`,
      summary,
      risk,
      agentId: bot.agentId,
      actionHash: actionHash({ tool, input }),
      expiresInMs,
      dedupeKey: `claude:${bot.agentId}:${call}`,
    },
  };
}

/** Names a tool call by what is in both the question and the report of its end; they carry no common id. */
export function callOf(payload: Payload): string {
  const { session_id, prompt_id, agent_id, tool_name, tool_input } = payload;
  const parts = [session_id, prompt_id, agent_id, tool_name].map(text);
  return hash('sha256', JSON.stringify([...parts, actionHash({ input: record(tool_input) })]), 'hex');
}

/** What the hook prints. Nothing: the dialog stays for the person at the pane. */
export function decisionOf(answer: PermissionAnswer): Record<string, unknown> {
  if (answer.kind !== 'approve' && answer.kind !== 'reject') return {};
  const decision =
    answer.kind === 'approve'
      ? { behavior: 'allow' }
      : { behavior: 'deny', message: `A person rejected this${answer.note ? `: ${answer.note}` : '.'}` };
  return { hookSpecificOutput: { hookEventName: 'PermissionRequest', decision } };
}

interface Words {
  readonly what: string;
  readonly summary: string;
  readonly risk: PermissionAsk['risk'];
}

function wordsOf(tool: string, input: Payload): Words {
  const file = text(input.file_path) || text(input.notebook_path);
  switch (tool) {
    case 'Bash': {
      const command = text(input.command);
      return { what: `run: ${firstLine(command)}`, summary: command, risk: 'high' };
    }
    case 'Edit':
    case 'MultiEdit': {
      const edits = tool === 'Edit' ? [input] : list(input.edits).map(record);
      return { what: `change ${file}`, summary: diffOf(file, edits.map(hunkOf)), risk: 'medium' };
    }
    case 'Write':
      return { what: `write ${file}`, summary: diffOf(file, [signed('+', text(input.content))]), risk: 'medium' };
    case 'WebFetch':
      return { what: `fetch ${firstLine(text(input.url))}`, summary: whole(input), risk: 'low' };
    case 'WebSearch':
      return { what: `search the web`, summary: whole(input), risk: 'low' };
    default:
      return { what: `use ${tool}`, summary: `${tool}\n${whole(input)}`, risk: file === '' ? 'high' : 'medium' };
  }
}

function diffOf(file: string, hunks: readonly string[]): string {
  return [`--- ${file}`, `+++ ${file}`, ...hunks].join('\n');
}

function hunkOf(edit: Payload): string {
  const head = edit.replace_all === true ? '@@ wherever it stands @@' : '@@ @@';
  return [head, signed('-', text(edit.old_string)), signed('+', text(edit.new_string))].filter(Boolean).join('\n');
}

function signed(sign: '+' | '-', lines: string): string {
  return lines === '' ? '' : lines.replace(/^/gm, sign);
}

function whole(input: Payload): string {
  return JSON.stringify(input, null, 2);
}

function firstLine(words: string): string {
  const [line = '', ...more] = words.trim().split('\n');
  return more.length === 0 ? line : `${line} …`;
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function record(value: unknown): Payload {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}
