/**
 * Draws what Codex draws around its composer, sends its status, and takes pastes and Enter as it does; calls no hooks. `STAND_IN` names one
 * misbehaviour, or is `trust`: it asks first whether it may work in its folder. Ctrl-O opens a permission dialog that `1` answers. For tests that need a certain moment; the real program has a job of its own.
 */
import { mode, play } from './stand-in-composer.mjs';

let told = '';
/** The choice that the cursor is on; null once it was made. */
let trust = mode === 'trust' ? 1 : null;
/** What stands for a paste of more than a thousand characters. */
let marker = null;

/**
 * As an emulator shows what the program thinks two columns wide and the emulator one: the column behind an emoji keeps what stood there
 * before, and of one that is joined from several only some are left.
 */
const shown = (text) => text.replaceAll('👩‍👩‍👧‍👦', '👩‍👩‍👧‍').replaceAll('✅ ', '✅d').replaceAll('⚠️', '⚠️ ');

function drawTrust() {
  const choice = (at, words) => `${trust === at ? '›' : ' '} ${at}. ${words}`;
  const rows = [
    '  Folder access',
    '  /home/user/project',
    '',
    '  Trust this folder? Codex can read, edit, and run files here, subject to your permission settings.',
    '',
    choice(1, 'Trust and continue'),
    choice(2, 'Back to Agent Command Center'),
    '',
    '  enter continue · esc back',
  ];
  process.stdout.write(`\x1b[H\x1b[2J${rows.join('\r\n')}`);
}

function draw({ composer, working, dialog }) {
  if (trust !== null) return drawTrust();
  const title = dialog ? '[ ! ] Action Required | work' : working ? '⠋ work' : 'work';
  const status = dialog ? 'Waiting' : working ? 'Working' : 'Idle';
  const box =
    composer === ''
      ? '› \x1b[2mAsk Codex to do anything\x1b[0m'
      : `› ${marker ?? shown(mode === 'garbles' ? composer.replaceAll('hello', 'h3ll0') : composer).replaceAll('\n', '\r\n  ')}`;
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

play({
  turnMs: 6000,
  draw,
  taken(key) {
    if (trust === null) return false;
    if (key === '\x1b[B' || key === '\x1bOB') trust = 2;
    if (key === '\x1b[A' || key === '\x1bOA') trust = 1;
    // The second choice opens a list of its own, which nobody recorded.
    if (key === '\r' && trust === 1) trust = null;
    return true;
  },
  pasted(text) {
    marker = text.length > 1000 ? `[Pasted Content ${text.length} chars]` : null;
    return true;
  },
  submitted() {
    marker = null;
  },
});
