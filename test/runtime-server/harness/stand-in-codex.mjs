/**
 * Draws what Codex draws around its composer, sends its status, and takes pastes and Enter as it does; calls no hooks. `STAND_IN` names one
 * misbehaviour; Ctrl-O opens a permission dialog that `1` answers. For tests that need a certain moment; the real program has a job of its own.
 */
import { play } from './stand-in-composer.mjs';

let told = '';

function draw({ composer, working, dialog }) {
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

play({ turnMs: 6000, draw });
