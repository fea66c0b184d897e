/**
 * A screen as the one piece of text that draws it: xterm parses one piece without painting in between, so a screen is never
 * seen half. Selection survives, because nothing is reset but what the former screen may have left behind.
 */
import type { Screen } from '../../../contracts/factory/agent.ts';

/** Cursor hidden, main buffer, no margins, origin and wrap as usual, application keys and bracketed paste off, blank screen. */
export const cleanScreen =
  '\u001b[?25l\u001b[?1049l\u001b[r\u001b[?6l\u001b[?7h\u001b[?1l\u001b>\u001b[?2004l\u001b[0m\u001b[H\u001b[2J';

export function drawScreen(screen: Pick<Screen, 'ansi' | 'cursor'>): string {
  const { x, y, visible } = screen.cursor;
  return `${cleanScreen}${screen.ansi}\u001b[0m\u001b[${y + 1};${x + 1}H${visible ? '\u001b[?25h' : '\u001b[?25l'}`;
}

/** DEC private modes by which a program asks for the mouse. The mouse here selects text, so they are not obeyed. */
export const mouseModes: ReadonlySet<number> = new Set([9, 1000, 1001, 1002, 1003, 1004, 1005, 1006, 1015, 1016]);
