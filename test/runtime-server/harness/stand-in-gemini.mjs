/**
 * Draws what Gemini CLI draws around its composer, sets its title, and takes pastes and Enter as it does. `STAND_IN` names one
 * misbehaviour. For tests that need a certain moment; the real program has a job of its own.
 */
import { mode, play } from './stand-in-composer.mjs';

function draw({ composer, working, dialog }) {
  const title = dialog ? '✋  Action Required (work)' : working ? '✦  Working… (work)' : '◇  Ready (work)';
  const box =
    composer === '' ? ' >   Type your message or @path/to/file' : ` > ${composer.replaceAll('\n', '\r\n   ')}`;
  const rows = dialog
    ? [
        `╭${'─'.repeat(60)}╮`,
        `│ ? Shell ls ${' '.repeat(47)} │`,
        `│ ● 1. Allow once ${' '.repeat(43)}│`,
        `╰${'─'.repeat(60)}╯`,
      ]
    : [' ? for shortcuts', '─'.repeat(80), '▄'.repeat(80), box, '▀'.repeat(80), ' ~/work'];
  process.stdout.write(`\x1b]0;${title}\x07\x1b[H\x1b[2J${rows.join('\r\n')}`);
}

play({ turnMs: 5000, draw, pasted: () => mode !== 'loses-paste' });
