/** An agent's permission question in words for a person, and as the policy reads it. Must not know who answers. */
import { resolve } from 'node:path';
import { createTwoFilesPatch } from 'diff';
import type { ConversationDiff } from '../../contracts/factory/conversation-routes.ts';
import { actionHash } from '../../kit/signing/action-hash.ts';
import { firstLine, placeOf } from '../harness/claude/questions.ts';
import type { PermissionAsk } from '../harness/harness.ts';
import { record, text } from '../harness/values.ts';
import type { PolicyAction } from '../policy/index.ts';
import { inputText } from './conversation.ts';

/** The call that is asked about, as far as the agent described it. */
export interface AskedCall {
  readonly title: string;
  readonly kind: string;
  readonly input: unknown;
  readonly diffs: readonly ConversationDiff[];
  /** Files that it names, perhaps with a line. */
  readonly places: readonly string[];
}

interface AskingBot {
  readonly agentId: string;
  readonly address: string;
  readonly cwd: string;
  readonly workspace: string;
}

/** An approval lives this long; the agent waits with it. */
const expiresInMs = 24 * 60 * 60_000;

/** Every action that a rule must allow; empty: no rule can say what this is. */
export async function actionsOf(bot: AskingBot, call: AskedCall): Promise<PolicyAction[]> {
  const by = { bot: bot.address };
  switch (call.kind) {
    case 'execute': {
      const command = commandOf(call);
      return command === null ? [] : [{ tool: 'shell.exec', ...by, command }];
    }
    case 'edit':
    case 'move':
      return onFiles('file.write', bot, call);
    case 'delete':
      return onFiles('file.remove', bot, call);
    case 'read':
      return onFiles('file.read', bot, call);
    case 'search':
      return onFiles('file.list', bot, call);
    case 'fetch': {
      const url = text(record(call.input).url);
      return URL.canParse(url) ? [{ tool: 'http.get', ...by, host: new URL(url).hostname }] : [];
    }
    default:
      return [];
  }
}

async function onFiles(tool: string, bot: AskingBot, call: AskedCall): Promise<PolicyAction[]> {
  const { path, file_path: file, abs_path: absolute } = record(call.input);
  const named = [...call.places.map((place) => place.replace(/:\d+$/, '')), ...call.diffs.map((diff) => diff.path)];
  const files = [...named, text(path), text(file), text(absolute)].filter((one) => one !== '');
  const places = await Promise.all(files.map((one) => placeOf(bot.workspace, resolve(bot.cwd, one))));
  return [...new Set(places)].map((place) => ({ tool, bot: bot.address, path: place }));
}

/** Whole; null where the agent names none. */
function commandOf({ input }: AskedCall): string | null {
  const { command } = record(input);
  if (Array.isArray(command)) return command.map(String).join(' ');
  return text(command) || null;
}

export function askOf(
  bot: AskingBot,
  call: AskedCall,
  actions: readonly PolicyAction[],
): Omit<PermissionAsk, 'dedupeKey'> {
  const [only] = actions;
  const { what, summary, risk } = wordsOf(call);
  const input = call.input === undefined ? '' : inputText(call.input);
  return {
    source: 'harness',
    kind: 'permission',
    title: `${bot.address} asks to ${what}`,
    summary,
    // What is not shown must not be approved.
    ...(input === '' || input === summary ? {} : { details: [{ name: 'Input', text: input }] }),
    risk,
    agentId: bot.agentId,
    actionHash: actionHash({ kind: call.kind, title: call.title, summary, input }),
    ...(actions.length === 1 && only !== undefined ? { action: { ...only, bot: bot.address } } : {}),
    expiresInMs,
  };
}

function wordsOf(call: AskedCall): { what: string; summary: string; risk: PermissionAsk['risk'] } {
  if (call.kind === 'execute') {
    const command = commandOf(call) ?? call.title;
    return { what: `run: ${firstLine(command)}`, summary: command, risk: 'high' };
  }
  const [first] = call.diffs;
  if (first !== undefined) {
    const more = call.diffs.length === 1 ? '' : ` and ${call.diffs.length - 1} more`;
    return { what: `change ${first.path}${more}`, summary: call.diffs.map(patchOf).join('\n'), risk: 'medium' };
  }
  const file = call.places[0] === undefined ? '' : `\n${call.places.join('\n')}`;
  const risk = call.kind === 'read' || call.kind === 'search' ? 'low' : call.kind === 'delete' ? 'high' : 'medium';
  return { what: firstLine(call.title), summary: `${call.title}${file}`, risk };
}

function patchOf({ path, before, after }: ConversationDiff): string {
  const from = before === null ? '/dev/null' : path;
  const patch = createTwoFilesPatch(from, path, before ?? '', after, undefined, undefined, { maxEditLength: 2000 });
  const whole =
    patch ?? `--- ${from}\n+++ ${path}\n${(before ?? '').replace(/^/gm, '-')}\n${after.replace(/^/gm, '+')}`;
  return whole.replace(/^=+\n/, '');
}
