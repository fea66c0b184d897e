/**
 * Draws what Gemini CLI draws around its composer, sets its title, and takes pastes and Enter as it does. `STAND_IN` names one
 * misbehaviour. For tests that need a certain moment; the real program has a job of its own.
 */
const mode = process.env.STAND_IN ?? '';
let composer = '';
let working = false;
let dialog = false;
let enters = 0;

function draw() {
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

function submit() {
  enters += 1;
  if (mode === 'deaf' || (mode === 'drop-first-enter' && enters === 1)) return;
  composer = '';
  working = true;
  // Longer than a witness is waited for before the composer is believed.
  setTimeout(() => {
    working = false;
    draw();
  }, 5000);
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
      else if (mode !== 'loses-paste') composer += paste[1];
    } else if (input.startsWith('\x1b[200~') || input === '') break;
    else {
      if (input[0] === '\r') submit();
      else composer += input[0];
      input = input.slice(1);
    }
  }
  draw();
});
