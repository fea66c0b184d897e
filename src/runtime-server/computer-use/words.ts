/**
 * Describes a call: for the audit, for a person's question, for the live view's next action. Leaves out text that is typed into credential fields.
 * Pure.
 */
import type { AnyToolset } from '../../contracts/computer-use/members.ts';
import type { Input } from './coordinates.ts';

const masked = '••••';

/** Members with text that somebody typed or would type. */
const typed = new Set(['type', 'form_input', 'key', 'hold_key']);
/** An address as the audit keeps it. Characters. */
const maxUrlLength = 2000;
const maxShownLength = 60;

/** `input` without private text. */
export function maskedInput(member: string, input: Input, credential: boolean): Input {
  if (member === 'navigate') return { ...input, url: withoutPassword(String(input.url)) };
  // As long as a file.
  if (member === 'write_file') return { ...input, content: `${String(input.content).length} characters` };
  if (!credential || !typed.has(member)) return input;
  return {
    ...input,
    ...('text' in input ? { text: masked } : {}),
    ...('value' in input ? { value: masked } : {}),
  };
}

/** `https://ada:••••@example.org/` */
function withoutPassword(url: string): string {
  return url.replace(/^(\s*(?:[a-z][a-z0-9+.-]*:)?\/*[^/?#\s@:]*):[^/?#\s]*@/i, `$1:${masked}@`);
}

/** One line: `Click button "Send"`. `input` as {@link maskedInput} left it. */
export function titleOf(toolset: AnyToolset, member: string, input: Input, element: string | null): string {
  const at = element ?? pointOf(input);
  const where = at === null ? '' : ` ${at}`;
  const text = 'text' in input ? ` ${shorten(String(input.text))}` : '';
  switch (member) {
    case 'navigate':
      return `Open ${shorten(String(input.url), 150)}`;
    case 'left_click':
      return `Click${where}`;
    case 'type':
      return `Type${text}${element === null ? '' : ` into ${element}`}`;
    case 'key':
      return `Press${text}`;
    case 'form_input':
      return `Set${where} to ${shorten(JSON.stringify(input.value))}`;
    case 'javascript_exec':
      return 'Run a script in the page';
    case 'exec':
      return `Run ${shorten([input.command, ...((input.args ?? []) as readonly string[])].join(' '))}`;
    case 'read_file':
      return `Read ${shorten(String(input.path))}`;
    case 'write_file':
      return `Write ${shorten(String(input.path))}`;
    case 'file_upload':
      return `Upload ${filesOf(input)} to${where || ' a page'}`;
    default:
      return `${toolset === 'computer' ? 'Screen' : 'Browser'}: ${member.replaceAll('_', ' ')}${where}`;
  }
}

/** Whole: a person approves this and nothing else. */
export function wordsOf(call: {
  readonly toolset: AnyToolset;
  readonly member: string;
  readonly input: Input;
  readonly url: string | null;
  readonly element: string | null;
  readonly task: string | undefined;
  readonly confirm?: string | undefined;
}): string {
  const lines = [
    `${call.toolset}.${call.member}`,
    ...Object.entries(call.input).map(
      ([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`,
    ),
    ...(call.element === null ? [] : [`on: ${call.element}`]),
    ...(call.url === null ? [] : [`page: ${call.url}`]),
    ...(call.confirm === undefined ? [] : ['', call.confirm]),
    ...(call.task === undefined ? [] : ['', `Task of the run: ${call.task}`]),
  ];
  return lines.join('\n');
}

export function shownUrl(url: string | null): string | null {
  return url === null || url.length <= maxUrlLength ? url : `${url.slice(0, maxUrlLength - 1)}…`;
}

function pointOf(input: Input): string | null {
  const { coordinate, target } = input as {
    coordinate?: readonly number[];
    target?: { type: string; x?: number; y?: number; ref?: string };
  };
  if (coordinate !== undefined) return `at ${coordinate.join(', ')}`;
  if (target === undefined) return null;
  return target.type === 'ref' ? String(target.ref) : `at ${target.x}, ${target.y}`;
}

/** `report.pdf`, `3 files`: the description has the whole paths. */
function filesOf({ paths }: Input): string {
  const names = Array.isArray(paths) ? paths.map(String) : [];
  if (names.length !== 1) return names.length === 0 ? 'no file' : `${names.length} files`;
  return shorten(JSON.stringify(names[0]!.split(/[/\\]/).at(-1)));
}

function shorten(text: string, max = maxShownLength): string {
  return text.length > max ? `${text.slice(0, max - 1)}…` : text;
}
