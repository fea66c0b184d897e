/**
 * Draws what Claude Code draws around its composer and takes pastes and Enter as it does; calls no hooks. `STAND_IN` names one misbehaviour;
 * with `trust` it asks first whether it may work in its folder. There it loses the first key with `loses-key` and the first Enter with
 * `loses-enter`; with `blinks` it shows nothing for a moment before it draws the other choice; with `slow` it needs 3 s for each key while others
 * wait, and then asks about a server of tools. Ctrl-O opens a permission dialog that `1` answers, Ctrl-T begins or ends a turn. For delivery tests
 * that need a certain moment; the real program has a job of its own.
 */
import { appendFileSync } from 'node:fs';
import { mode, modes, play } from './stand-in-composer.mjs';

let last = null;
let shown = null;
let ghost = mode === 'ghost';
/** The choice under the cursor of the question whether it may work here; null: it does not ask. */
let trust = modes.includes('trust') ? 'no' : null;
let blinks = modes.includes('blinks');
let losesKey = modes.includes('loses-key');
let losesEnter = modes.includes('loses-enter');
const slow = modes.includes('slow');
/** The choice under the cursor of its question about a server of tools; null: it does not ask. */
let server = slow ? 'use' : null;

function drawTrust() {
  const choice = (name, words) => ` ${trust === name ? '❯' : ' '} ${words}`;
  const rows = [
    ' Accessing workspace:',
    ` ${process.cwd()}`,
    ' Quick safety check: Is this a project you created or one you trust?',
    choice('no', 'No, exit'),
    choice('yes', 'Yes, I trust this folder'),
    ' Enter to confirm · Esc to cancel',
  ];
  process.stdout.write(`\x1b[H\x1b[2J${rows.join('\r\n')}`);
}

function drawServer() {
  const choice = (name, words) => ` ${server === name ? '❯' : ' '} ${words}`;
  const rows = [
    ' New MCP server found in .mcp.json: other',
    choice('use', '1. Use this MCP server'),
    choice('skip', '2. Continue without it'),
    ' Enter to confirm · Esc to cancel',
  ];
  process.stdout.write(`\x1b[H\x1b[2J${rows.join('\r\n')}`);
}

function draw(state) {
  last = state;
  if (trust === 'yes' && blinks) {
    blinks = false;
    process.stdout.write('\x1b[H\x1b[2J');
    setTimeout(() => draw(last), 400);
    return;
  }
  if (trust !== null) return drawTrust();
  if (server !== null) return drawServer();
  const { composer, working, dialog } = state;
  const rule = '─'.repeat(Math.min(process.stdout.columns ?? 100, 100));
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

// As the real program does: what a narrower terminal makes of the old drawing is no composer.
process.stdout.on('resize', () => last !== null && draw(last));

play({
  turnMs: 6000,
  draw,
  taken(key) {
    if (trust === null && server !== null) {
      if (key === '\x1b[B' || key === '\x1bOB') server = 'skip';
      else if (key === '\r') server = null;
      return true;
    }
    if (trust === null) return false;
    // The whole program stands still, so that keys wait in the terminal.
    if (slow) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3000);
    if (losesKey) losesKey = false;
    else if (key === '\r' && losesEnter) losesEnter = false;
    else if (key === '\x1b[B' || key === '\x1bOB') trust = 'yes';
    else if (key === '\r' && trust === 'no') process.exit(0);
    else if (key === '\r') trust = null;
    return true;
  },
  pasted(text) {
    if (mode === 'blind') return false;
    const lines = text.split('\n').length;
    shown = lines >= 6 ? `[Pasted text #1 +${lines - 1} lines]` : text.length > 800 ? '[Pasted text #1]' : null;
    return true;
  },
  submitted({ composer }) {
    if (process.env.TRANSCRIPT) {
      const message = { role: 'user', content: composer };
      appendFileSync(process.env.TRANSCRIPT, `${JSON.stringify({ type: 'user', message })}\n`);
    }
    shown = null;
    ghost = false;
  },
});
