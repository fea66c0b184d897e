/**
 * A command with references, made safe for a POSIX shell: values go in as environment variables, never as text, so that no param and no output of a
 * bot can become a command. References between quotes are handled.
 */
import { findReferences, unknownReference, type ValueFor } from './references.ts';

interface ShellCommand {
  readonly text: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Environment of a process is limited by the system; of a longer value the end is kept, where an output has its error. Characters. */
const maxValueLength = 32_768;

export function toShell(command: string, valueFor: ValueFor): ShellCommand {
  const found = findReferences(command);
  if (found.length === 0) return { text: command, env: {} };
  const env: Record<string, string> = {};
  let text = '';
  let from = 0;
  let quote: Quote = 'none';
  for (const [index, one] of found.entries()) {
    if (one.reference === null) throw unknownReference(one.words);
    const before = command.slice(from, one.start);
    quote = quoteAfter(before, quote);
    const name = `GANTRY_VALUE_${index + 1}`;
    // No NUL can be in an environment.
    env[name] = valueFor(one.reference).replaceAll('\0', '').slice(-maxValueLength);
    text += before + inQuotes(name, quote);
    from = one.end;
  }
  return { text: text + command.slice(from), env };
}

type Quote = 'none' | 'single' | 'double';

function inQuotes(name: string, quote: Quote): string {
  const value = `\${${name}}`;
  if (quote === 'double') return value;
  return quote === 'single' ? `'"${value}"'` : `"${value}"`;
}

function quoteAfter(text: string, start: Quote): Quote {
  let quote = start;
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index];
    if (quote === 'single') {
      if (character === "'") quote = 'none';
    } else if (character === '\\') index += 1;
    else if (character === '"') quote = quote === 'double' ? 'none' : 'double';
    else if (character === "'" && quote === 'none') quote = 'single';
  }
  return quote;
}
