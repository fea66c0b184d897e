/**
 * opencode's exec mode (tui.md 6): one text in, events out, one a line. A tool that would be asked is refused, the program stops and
 * ends with 0: refusals are counted from the events. After a refusing provider it ends with 1 only after its own retries.
 */
import type { Surroundings } from '../adapter.ts';
import type { BotDoors, BotSpec, ExecOptions, ExecResult } from '../harness.ts';
import { execOpencodeCommand } from './launch.ts';

const defaultTimeoutMs = 10 * 60_000;

export async function execOpencode(
  around: Surroundings,
  bot: BotSpec,
  doors: BotDoors,
  text: string,
  { mode, resume = null, timeoutMs = defaultTimeoutMs, signal }: ExecOptions,
): Promise<ExecResult> {
  const { command, env } = await execOpencodeCommand(around, bot, doors, mode, resume);
  const ran = await around.processes.run(command, { cwd: bot.cwd, env, input: text, timeoutMs, signal });
  const ended = { text: '', sessionId: resume, refused: 0, usage: null };
  if (ran.stopped === true) return { ...ended, state: 'stopped', detail: 'it was stopped' };
  if (ran.timedOut) return { ...ended, state: 'timeout', detail: `no answer within ${timeoutMs} ms; it was ended` };
  return readEvents(ran.stdout, ran.code, ran.stderr);
}

type Json = Readonly<Record<string, unknown>>;

/** A tool that was refused says so in its error. */
const refusal =
  /rejected permission|permission (was )?(rejected|denied)|prevents you from using|user rejected|unavailable tool/i;

export function readEvents(stdout: string, code: number | null, stderr: string): ExecResult {
  let text = '';
  let sessionId: string | null = null;
  let refused = 0;
  let fault: string | null = null;
  const usage = { inputTokens: 0, outputTokens: 0, cents: 0 };
  let counted = false;
  for (const line of stdout.split('\n')) {
    const event = parse(line);
    if (event === null) continue;
    if (typeof event.sessionID === 'string') sessionId = event.sessionID;
    const part = record(event.part);
    if (event.type === 'text' && typeof part.text === 'string') text = part.text;
    else if (event.type === 'tool_use') {
      const state = record(part.state);
      // A tool that a mode does not have comes out as one that could not be called.
      const words = state.status === 'error' ? state.error : part.tool === 'invalid' ? state.output : '';
      if (refusal.test(String(words))) refused += 1;
    } else if (event.type === 'step_finish') {
      const tokens = record(part.tokens);
      const cache = record(tokens.cache);
      usage.inputTokens += count(tokens.input) + count(cache.read) + count(cache.write);
      usage.outputTokens += count(tokens.output) + count(tokens.reasoning);
      usage.cents += count(part.cost) * 100;
      counted = true;
    } else if (event.type === 'error') fault = faultOf(record(event.error));
  }
  // Of a refusal that ends its run the event may not come out any more; it is told in words.
  if (refused === 0) refused = stderr.match(/auto-rejecting/g)?.length ?? 0;
  const result = { text, sessionId, refused, usage: counted ? usage : null };
  if (fault !== null) return { ...result, state: 'failed', detail: fault.slice(0, 500) };
  if (code !== 0) {
    const words = stderr.trim().split('\n').at(-1) ?? '';
    return { ...result, state: 'failed', detail: `exit code ${code}: ${words.slice(0, 500)}` };
  }
  const detail = refused > 0 ? `${refused} tool ${refused === 1 ? 'call was' : 'calls were'} refused` : '';
  return { ...result, state: 'done', detail };
}

function faultOf(error: Json): string {
  const data = record(error.data);
  return [data.message, error.message, error.name].find((words) => typeof words === 'string' && words !== '') as string;
}

function parse(line: string): Json | null {
  if (!line.startsWith('{')) return null;
  try {
    return record(JSON.parse(line));
  } catch {
    return null;
  }
}

function record(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

function count(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}
