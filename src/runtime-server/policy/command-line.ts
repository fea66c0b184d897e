/** Whether a command is more than one plain program with its arguments. Pure. */

/** Cuts a line, sends its streams elsewhere, expands, opens a group: to a shell, outside of quotes. */
const takenApart = /[;&|<>(){}`$]/;
/** Characters that neither `cmd.exe` nor PowerShell interprets, quoted or not. */
const plainOnWindows = /^[\p{L}\p{N} _.,:=+@~*?/\\"'-]*$/u;

/**
 * False only for a line that is certain to be one program with its arguments: a shell reads nothing else in it, whether quoted, escaped or in a
 * comment. Unclear lines (one that continues, an open quote, `$`, a comment) are compound.
 */
export function isCompound(line: string, platform: NodeJS.Platform = process.platform): boolean {
  // Where a line ends, a comment ends too, and with it what looked quoted. A tab is a blank.
  if (/(?!\t)\p{Cc}|[\u2028\u2029]/u.test(line)) return true;
  if (platform === 'win32') return !plainOnWindows.test(line);
  let quote: '"' | "'" | null = null;
  for (let at = 0; at < line.length; at += 1) {
    const char = line[at]!;
    if (quote === "'") {
      if (char === "'") quote = null;
    } else if (char === '\\') {
      at += 1;
      if (at === line.length) return true;
    } else if (quote === '"') {
      if (char === '$' || char === '`') return true;
      if (char === '"') quote = null;
    } else if (char === '"' || char === "'") quote = char;
    else if (takenApart.test(char)) return true;
    // Inside a word it is a character, as in an address; elsewhere it begins a comment, in which quotes have no meaning.
    else if (char === '#' && !/[\p{L}\p{N}_/:.=-]/u.test(line[at - 1] ?? '')) return true;
  }
  return quote !== null;
}

/** Whether a person's own glob contains several commands, a redirection or a substitution: its author means it. */
export function saysCompound(glob: string): boolean {
  const outside = glob.replace(/\\.|'[^']*'|"(?:[^"\\]|\\.)*"/gs, (part) => (/^".*(?:\$\(|`)/s.test(part) ? '`' : ''));
  return /[;&|<>()\r\n`]/.test(outside);
}
