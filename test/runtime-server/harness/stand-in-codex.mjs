/**
 * Draws what Codex draws around its composer, sends its status, and takes pastes and Enter as it does; calls no hooks. `STAND_IN` names one
 * misbehaviour; Ctrl-O opens a permission dialog that `1` answers. For tests that need a certain moment; the real program has a job of its own.
 */
const mode = process.env.STAND_IN ?? '';
let composer = '';
let working = false;
let dialog = false;
let enters = 0;
let told = '';

function draw() {
  const title = dialog ? '[ ! ] Action Required | work' : working ? '⠋ work' : 'work';
  const status = dialog ? 'Waiting' : working ? 'Working' : 'Idle';
  const box = composer === '' ? '› \x1b[2mAsk Codex to do anything\x1b[0m' : `› ${composer.replaceAll('\n', '\r\n  ')}`;
  const rows = dialog
    ? [
        '  Would you like to run the following command?',
        '',
        '  $ ls',
        '',
        '› 1. Yes',
        '  2. No',
        '',
        '  Press enter to confirm or esc to cancel',
      ]
    : [...(working ? ['• Working (1s • esc to interrupt)', ''] : []), box, '', '  model default · ~/work'];
  process.stdout.write(`\x1b]0;${title}\x07\x1b[H\x1b[2J${rows.join('\r\n')}`);
  if (status === told) return;
  told = status;
  process.stdout.write(`\x1b]21337;status=${status};indicator=#00d75f;status-color=;detail=\x1b\\`);
}

function submit() {
  enters += 1;
  if (mode === 'deaf' || (mode === 'drop-first-enter' && enters === 1)) return;
  composer = '';
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
      else composer += paste[1];
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
      else composer += key;
    }
  }
  draw();
});
