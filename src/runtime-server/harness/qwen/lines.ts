/** Parses the lines of Qwen Code's event file and of its transcript, as far as Gantry needs them. Pure; must not know files. */
import type { ChannelQuestion } from '../channel-questions.ts';
import { record, text } from '../values.ts';

type Line = Readonly<Record<string, unknown>>;

/** The prompt in a `user` line of either file; null: a tool's result, a sub-agent's or no prompt at all. */
export function promptOf(line: Line): string | null {
  if (line.type !== 'user' || typeof line.parent_tool_use_id === 'string') return null;
  const { content, parts } = record(line.message);
  const blocks = Array.isArray(content) ? content : Array.isArray(parts) ? parts : [];
  const texts = blocks.flatMap((block: unknown) => {
    const words = record(block).text;
    return typeof words === 'string' ? [words] : [];
  });
  return texts.length === 0 ? null : texts.join('\n');
}

/** Tool calls whose result a `user` line brings. */
export function toolResultsIn(line: Line): readonly string[] {
  const { content } = record(line.message);
  if (!Array.isArray(content)) return [];
  return content.flatMap((block: unknown) => {
    const { type, tool_use_id: id } = record(block);
    return type === 'tool_result' && typeof id === 'string' ? [id] : [];
  });
}

/** Its question, in the form that approvals have for tools; null: not a question about a tool. */
export function questionIn(line: Line): (ChannelQuestion & { readonly call: string }) | null {
  const request = record(line.request);
  const name = text(request.tool_name);
  const id = text(line.request_id);
  if (request.subtype !== 'can_use_tool' || id === '' || name === '') return null;
  return { id, call: text(request.tool_use_id), ...toolOf(name, record(request.input)) };
}

function toolOf(name: string, input: Line): Pick<ChannelQuestion, 'tool' | 'input' | 'words'> {
  switch (name) {
    case 'run_shell_command':
      return { tool: 'Bash', input, words: `asks to run: ${text(input.command)}` };
    case 'write_file':
      return { tool: 'Write', input, words: `asks to change ${text(input.file_path)}` };
    case 'edit':
    case 'replace':
      return { tool: 'Edit', input, words: `asks to change ${text(input.file_path)}` };
    case 'web_fetch':
      return { tool: 'WebFetch', input, words: `asks to fetch ${text(input.url)}` };
    // Its plan and its questions take more than yes or no: they are answered in the pane.
    case 'exit_plan_mode':
      return { tool: 'ExitPlanMode', input, words: 'asks to approve its plan' };
    case 'ask_user_question':
      return { tool: 'AskUserQuestion', input, words: 'asks a question' };
    default:
      return { tool: name, input, words: `asks to use ${name}` };
  }
}
