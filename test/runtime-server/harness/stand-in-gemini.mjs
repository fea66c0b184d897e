/**
 * Draws what Gemini CLI draws around its composer, sets its title, and takes pastes and Enter as it does. `STAND_IN` names one
 * misbehaviour, or is `trust`: it asks first whether it may work in its folder. For tests that need a certain moment; the real program has a job of its own.
 */
import { mode, play } from './stand-in-composer.mjs';

/** The choice that the cursor is on; null once it was made. */
let trust = mode === 'trust' ? 0 : null;
const choices = ['Trust folder (work)', 'Trust parent folder (user)', "Don't trust"];

function drawTrust() {
  const row = (text) => ` │ ${text.padEnd(60)} │`;
  const rows = [
    ` ╭${'─'.repeat(62)}╮`,
    row('Do you trust the files in this folder?'),
    row(''),
    ...choices.map((words, at) => row(`${trust === at ? '●' : ' '} ${at + 1}. ${words}`)),
    ` ╰${'─'.repeat(62)}╯`,
  ];
  process.stdout.write(`\x1b[H\x1b[2J${rows.join('\r\n')}`);
}

/** What stands for a paste of more than five lines, or five hundred characters. */
let marker = null;

/** What it says of a prompt that it keeps until it can begin. */
let kept = [];

function draw({ composer, working, dialog }) {
  if (trust !== null) return drawTrust();
  const title = dialog ? '✋  Action Required (work)' : working ? '✦  Working… (work)' : '◇  Ready (work)';
  const box =
    composer === ''
      ? ' >   Type your message or @path/to/file'
      : ` > ${marker ?? composer.replaceAll('\n', '\r\n   ')}`;
  const rows = dialog
    ? [
        `╭${'─'.repeat(60)}╮`,
        `│ ? Shell ls ${' '.repeat(47)} │`,
        `│ ● 1. Allow once ${' '.repeat(43)}│`,
        `╰${'─'.repeat(60)}╯`,
      ]
    : [...kept, ' ? for shortcuts', '─'.repeat(80), '▄'.repeat(80), box, '▀'.repeat(80), ' ~/work'];
  process.stdout.write(`\x1b]0;${title}\x07\x1b[H\x1b[2J${rows.join('\r\n')}`);
}

function taken(key) {
  if (trust === null) return false;
  if (key === '\x1b[B' || key === '\x1bOB') trust = Math.min(trust + 1, choices.length - 1);
  if (key === '\x1b[A' || key === '\x1bOA') trust = Math.max(trust - 1, 0);
  if (key === '\r') trust = null;
  return true;
}

play({
  turnMs: 5000,
  draw,
  taken,
  pasted(text) {
    const lines = text.split('\n').length;
    marker =
      lines > 5 ? `[Pasted Text: ${lines} lines]` : text.length > 500 ? `[Pasted Text: ${text.length} chars]` : null;
    return mode !== 'loses-paste';
  },
  submitted() {
    marker = null;
    if (mode === 'keeps-prompts') kept = ['ℹ Initializing... Prompts will be queued.'];
  },
});
