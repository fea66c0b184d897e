/** Whether a command is more than one plain program with its arguments. Pure. */

/**
 * True for a line that a shell takes apart: several commands, a redirection, a substitution, a subshell. What is quoted or escaped is
 * an argument; between double quotes a shell still substitutes.
 */
export function isCompound(line: string): boolean {
  let quote: '"' | "'" | null = null;
  for (let at = 0; at < line.length; at += 1) {
    const char = line[at]!;
    if (quote === "'") {
      if (char === "'") quote = null;
    } else if (char === '\\') at += 1;
    else if (char === '`' || (char === '$' && line[at + 1] === '(')) return true;
    else if (quote === '"') {
      if (char === '"') quote = null;
    } else if (char === '"' || char === "'") quote = char;
    else if (/[;&|<>()\r\n]/.test(char)) return true;
  }
  return false;
}
