/** Where in a pane each message begins: by the marks of its shell, else by the words of what was delivered. Must not know how a mark looks. */
import type { Scrollback } from '../../../contracts/factory/agent.ts';

export interface Mark {
  /** The line where it begins: the message, and below it its answer. */
  readonly line: number;
  readonly title: string;
  readonly failed: boolean;
}

/** A message that was delivered. */
export interface Said {
  /** How it begins. */
  readonly words: string;
  readonly title: string;
}

export function marksOfCommands(commands: NonNullable<Scrollback['commands']>): Mark[] {
  return commands.map(({ line, exit }) => ({
    line,
    title: exit === null ? 'Command, still running' : exit === 0 ? 'Command' : `Command, failed with exit code ${exit}`,
    failed: exit !== null && exit !== 0,
  }));
}

/** Programs break long lines, each at its own width: so many characters of a message are looked for. */
const longestKey = 24;
/** A shorter message stands in too many lines. */
const shortestKey = 3;

/**
 * `said` is newest first. Each is the last line before the next message that begins with its words, behind the signs with which programs begin an
 * input line. One that is not found, because it left the pane or its program shows it otherwise, has no mark.
 */
export function marksOfMessages(lines: readonly string[], said: readonly Said[]): Mark[] {
  const marks: Mark[] = [];
  let before = lines.length;
  for (const { words, title } of said) {
    const key = plain(words.split('\n', 1)[0] ?? '')
      .slice(0, longestKey)
      .trimEnd();
    if (key.length < shortestKey) continue;
    const line = lines.findLastIndex((text, at) => at < before && plain(text).startsWith(key));
    if (line < 0) continue;
    marks.push({ line, title, failed: false });
    before = line;
  }
  return marks.reverse();
}

const plain = (text: string): string => text.replace(/^[\s>$#❯›»│┃▌⏵•●*|]+/u, '').replace(/\s+/g, ' ');
