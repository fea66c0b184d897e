/**
 * Draws what Claude Code draws around its composer and takes pastes and Enter as it does; calls no hooks. `STAND_IN` names
 * one misbehaviour; Ctrl-O opens a permission dialog that `1` answers, Ctrl-T begins or ends a turn. For delivery tests that need a certain moment; the real program has a job of its own.
 */
import { appendFileSync } from 'node:fs';

const mode = process.env.STAND_IN ?? '';
const rule = '─'.repeat(100);
let composer = '';
let shown = null;
let working = false;
let dialog = false;
let ghost = mode === 'ghost';
let enters = 0;

function draw() {
  const text = shown ?? composer;
  const box =
    text !== ''
      ? `❯\u00a0${text.replaceAll('\n', '\r\n  ')}`
      : ghost
        ? '❯ \x1b[2mResend your message to try again\x1b[0m'
        : '❯\u00a0';
  const rows = dialog
    ? [rule, ' Bash command', ' Do you want to proceed?', ' ❯ 1. Yes', '   2. No', ' Esc to cancel · Tab to amend']
    : [rule, box, rule, `  ⏸ manual mode on · ${working ? 'esc to interrupt' : '? for shortcuts'}`];
  process.stdout.write(`\x1b]0;${working ? '◐' : '✳'} Claude Code\x07\x1b[H\x1b[2J${rows.join('\r\n')}`);
}

function submit() {
  enters += 1;
  if (mode === 'deaf' || (mode === 'drop-first-enter' && enters === 1)) return;
  if (process.env.TRANSCRIPT) {
    const message = { role: 'user', content: composer };
    appendFileSync(process.env.TRANSCRIPT, `${JSON.stringify({ type: 'user', message })}\n`);
  }
  composer = '';
  shown = null;
  ghost = false;
  if (mode === 'no-turn') return;
  working = true;
  // Longer than the two seconds that a witness is waited for before the composer is believed.
  setTimeout(() => {
    working = false;
    draw();
  }, 6000);
}

process.stdin.setRawMode(true);
process.stdout.write('\x1b[?2004h');
draw();
let input = '';
process.stdin.on('data', (data) => {
  input += data;
  for (;;) {
    const paste = /^\x1b\[200~(.*?)\x1b\[201~/s.exec(input);
    if (paste) {
      input = input.slice(paste[0].length);
      if (mode === 'dialog-on-paste') dialog = true;
      else if (mode !== 'blind') {
        composer += paste[1];
        const lines = paste[1].split('\n').length;
        shown = lines >= 6 ? `[Pasted text #1 +${lines - 1} lines]` : null;
      }
    } else if (input.startsWith('\x1b[200~') || input === '') break;
    else {
      const key = input[0];
      input = input.slice(1);
      if (key === '\r') submit();
      else if (key === '\x15') composer = '';
      else if (key === '\x03') process.exit(0);
      else if (key === '\x0f') dialog = true;
      else if (key === '\x14') working = !working;
      else if (dialog && key === '1') dialog = false;
      else if (key === '\x04') process.exit(7);
      else composer += key;
    }
  }
  draw();
});
