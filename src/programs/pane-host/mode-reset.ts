/**
 * Switches off the terminal modes that a killed program left on, before the next program writes: otherwise the next one would inherit its keys, mouse
 * and screen. Pure text; the same bytes reach every viewer through the journal.
 */

const reset = [
  // Ends an unfinished sequence, then a link, a frame and a progress bar.
  '\x18\x1b]8;;\x07\x1b[?2026l\x1b]9;4;0\x07',
  // Scroll region and origin move the cursor when they are set back.
  '\x1b7\x1b[?6l\x1b[r\x1b8',
  '\x1b[m\x1b(B\x0f\x1b[4l\x1b[?7h\x1b[?25h\x1b[0 q',
  // Keys, mouse, focus, paste.
  '\x1b[?1l\x1b>\x1b[>4;0m\x1b[=0u\x1b[?9l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1005l\x1b[?1006l\x1b[?1015l\x1b[?1016l\x1b[?1004l\x1b[?2004l\x1b[?2031l',
].join('');

interface LastScreen {
  readonly altScreen: boolean;
  readonly rows: number;
  /** Of its text and its cursor: the lowest row, from 0; none on an empty screen. */
  readonly lowest: number;
}

/**
 * The reset, then `words` on a line of their own below all text, then a clean screen: what was there stands above it, out of reach of a
 * program that clears the screen as it starts.
 */
export function resetAndSay(words: string, { altScreen, rows, lowest }: LastScreen): string {
  const plain = words.replace(/[\x00-\x1f\x7f-\x9f]/g, ' ');
  // Only from the other screen: elsewhere leaving it would move the cursor. Behind it the lowest row is not known.
  const below = altScreen ? `\x1b[?1049l${reset}\x1b[${rows};1H\r\n` : `${reset}\x1b[${lowest + 1};1H\r\n`;
  return `${below}\x1b[2m── ${plain} ──\x1b[0m${'\r\n'.repeat(rows)}\x1b[H`;
}
