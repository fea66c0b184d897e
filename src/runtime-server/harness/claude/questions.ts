/**
 * Turns Claude Code's own permission question (`PermissionRequest` hook) into an approval, and the answer into the hook's output. Must not know how
 * approvals are kept, panes or state.
 */
import { hash } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { actionHash } from '../../../kit/signing/action-hash.ts';
import type { PermissionAnswer, PermissionAsk, PermissionPolicy } from '../harness.ts';
import { record, text } from '../values.ts';

export type Payload = Readonly<Record<string, unknown>>;

/** Events which show that a tool was allowed to run. */
export const toolEndEvents: readonly string[] = ['PostToolUse', 'PostToolUseFailure'];

/** Questions that take more than yes or no: Claude Code accepts a hook's yes only with the person's choice, so they are answered in the pane. */
const paneOnly: ReadonlySet<string> = new Set(['AskUserQuestion', 'ExitPlanMode']);

/** An approval expires after this; the dialog itself stays. */
const expiresInMs = 24 * 60 * 60_000;

export interface Question {
  readonly tool: string;
  readonly input: Payload;
  /** Equal for every hook of the same question, and for the events that later report this call. */
  readonly call: string;
  /** The sub-agent that asks; null: the main conversation. */
  readonly subAgent: string | null;
  readonly ask: PermissionAsk;
}

/** Null where a person must answer in the pane. */
export function questionOf(bot: { agentId: string; slug: string; team: string }, payload: Payload): Question | null {
  const tool = text(payload.tool_name);
  if (tool === '' || paneOnly.has(tool)) return null;
  const input = record(payload.tool_input);
  const call = callOf(payload);
  const ask = askOf(bot, {
    tool,
    input,
    words: wordsOf(tool, input),
    expiresInMs,
    key: `claude:${bot.agentId}:${call}`,
  });
  return { tool, input, call, subAgent: text(payload.agent_id) || null, ask };
}

/** The question as an approval request; `key` identifies a repeat of the same question. */
export function askOf(
  bot: { readonly agentId: string; readonly slug: string; readonly team: string },
  asked: {
    readonly tool: string;
    readonly input: Payload;
    readonly words: Words;
    readonly expiresInMs: number;
    readonly key: string;
  },
): PermissionAsk {
  const { tool, input, words, expiresInMs, key } = asked;
  return {
    source: 'harness',
    kind: 'permission',
    title: `${bot.slug}@${bot.team} asks to ${words.what}`,
    summary: words.summary,
    ...(words.reason === undefined ? {} : { reason: words.reason }),
    risk: words.risk,
    agentId: bot.agentId,
    actionHash: actionHash({ tool, input }),
    expiresInMs,
    dedupeKey: key,
  };
}

/** Identifies a tool call by the fields that both the question and the report of its end contain; they carry no common id. */
export function callOf(payload: Payload): string {
  const { session_id, prompt_id, agent_id, tool_name, tool_input } = payload;
  const parts = [session_id, prompt_id, agent_id, tool_name].map(text);
  return hash('sha256', JSON.stringify([...parts, actionHash({ input: record(tool_input) })]), 'hex');
}

/** The hook's output. Empty: the dialog stays for the person at the pane. */
export function decisionOf(answer: PermissionAnswer): Record<string, unknown> {
  if (answer.kind !== 'approve' && answer.kind !== 'reject') return {};
  const decision =
    answer.kind === 'approve'
      ? { behavior: 'allow' }
      : { behavior: 'deny', message: `A person rejected this${answer.note ? `: ${answer.note}` : '.'}` };
  return printed(decision);
}

/** The decision of a person's rule, without asking. */
export function ruledOf({ verdict, rule }: { verdict: 'allow' | 'deny'; rule: string }): Record<string, unknown> {
  return printed(verdict === 'allow' ? { behavior: 'allow' } : { behavior: 'deny', message: `Not allowed: ${rule}` });
}

function printed(decision: Record<string, unknown>): Record<string, unknown> {
  return { hookSpecificOutput: { hookEventName: 'PermissionRequest', decision } };
}

type Action = Parameters<PermissionPolicy['decide']>[0];

/** The question as the policy reads it: Claude Code's tools under Gantry's names for the same actions. */
export async function actionOf(
  bot: { slug: string; team: string; cwd: string },
  workspace: string | null,
  { tool, input }: Pick<Question, 'tool' | 'input'>,
): Promise<Action> {
  const address = `${bot.slug}@${bot.team}`;
  const file = text(input.file_path) || text(input.notebook_path) || text(input.path);
  const path = file === '' ? {} : { path: await placeOf(workspace, resolve(bot.cwd, file)) };
  switch (tool) {
    case 'Bash':
      return { tool: 'shell.exec', bot: address, command: commandOf(input) };
    case 'Edit':
    case 'MultiEdit':
    case 'Write':
    case 'NotebookEdit':
      return { tool: 'file.write', bot: address, ...path };
    case 'Read':
      return { tool: 'file.read', bot: address, ...path };
    case 'Glob':
    case 'Grep':
      return { tool: 'file.list', bot: address, ...path };
    case 'WebFetch':
      return { tool: 'http.get', bot: address, host: hostOf(text(input.url)) };
    default: {
      const [, server, member] = /^mcp__(.+?)__(.+)$/.exec(tool) ?? [];
      return server && member ? { tool: server, member, bot: address } : { tool, bot: address };
    }
  }
}

/** The program asks to run a command without its own sandbox: a rule about the command does not cover that. */
export function isUnconfined({ tool, input }: Pick<Question, 'tool' | 'input'>): boolean {
  return tool === 'Bash' && input.dangerouslyDisableSandbox === true;
}

/** Where a file really lies: inside the workspace relative to it, else absolute. A link leads out of it like any path. */
export async function placeOf(workspace: string | null, file: string): Promise<string> {
  const real = await realPlace(file);
  if (workspace === null) return real;
  const inside = relative(await realPlace(workspace), real);
  return inside.startsWith('..') || isAbsolute(inside) ? real : inside.split(sep).join('/') || '.';
}

/** The real path of a file that may not exist yet. */
async function realPlace(file: string): Promise<string> {
  const found = await realpath(file).catch(() => null);
  const folder = dirname(file);
  return found ?? (folder === file ? file : join(await realPlace(folder), basename(file)));
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname : '';
}

/** Complete, in whatever form it comes: what is not shown must not be approved. */
export function commandOf(input: Payload): string {
  return text(input.command) || JSON.stringify(input);
}

export interface Words {
  readonly what: string;
  readonly summary: string;
  readonly reason?: string;
  readonly risk: PermissionAsk['risk'];
}

function wordsOf(tool: string, input: Payload): Words {
  const file = text(input.file_path) || text(input.notebook_path);
  switch (tool) {
    case 'Bash': {
      const command = commandOf(input);
      const where = isUnconfined({ tool, input }) ? '\n\n(outside its sandbox)' : '';
      return { what: `run: ${firstLine(command)}`, summary: `${command}${where}`, risk: 'high' };
    }
    case 'Edit':
    case 'MultiEdit': {
      const edits = tool === 'Edit' ? [input] : list(input.edits).map(record);
      return { what: `change ${file}`, summary: diffOf(file, edits.map(hunkOf)), risk: 'medium' };
    }
    case 'Write':
      return { what: `write ${file}`, summary: diffOf(file, [signed('+', text(input.content))]), risk: 'medium' };
    case 'WebFetch':
      return { what: `fetch ${firstLine(text(input.url))}`, summary: whole(input), risk: 'medium' };
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
  const head = edit.replace_all === true ? '@@ every occurrence @@' : '@@ @@';
  return [head, signed('-', text(edit.old_string)), signed('+', text(edit.new_string))].filter(Boolean).join('\n');
}

function signed(sign: '+' | '-', lines: string): string {
  return lines === '' ? '' : lines.replace(/^/gm, sign);
}

function whole(input: Payload): string {
  return JSON.stringify(input, null, 2);
}

/** For a title: a mark replaces the rest of a longer text. */
export function firstLine(words: string): string {
  const [line = '', ...more] = words.trim().split('\n');
  return more.length === 0 ? line : `${line} …`;
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
