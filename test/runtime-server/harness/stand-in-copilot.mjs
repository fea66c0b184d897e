/**
 * Draws what Copilot draws around its composer and takes pastes, keys and Enter as it does; calls no hooks. `STAND_IN` names one misbehaviour, or is
 * `trust`: it asks first whether it may work in its folder. Its dialog has a cursor, and its "No" wants words. With `ASKED` its transcript says what
 * the dialog of Ctrl-O is about. For tests that need a certain moment; the real program has a job of its own.
 */
import { appendFileSync, mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { mode, modes, play } from './stand-in-composer.mjs';

const width = 118;
const tallest = 18;
let last = { composer: '', working: false, dialog: false };
/** The choice that the cursor is on; null once it was made. */
let trust = modes.includes('trust') ? 0 : null;
const trustChoices = ['Yes', 'Yes, and remember this folder for future sessions', 'No (Esc)'];
let choice = 0;
let words = '';
/** What stands for a paste of more than ten lines. */
let marker = null;
let asked = 0;

/** One line of its transcript about the question that it asks. */
function write(type, data) {
  if (!process.env.ASKED) return;
  const given = process.argv.find((word) => /^--(?:session-id|resume)=/.test(word)) ?? '';
  const home = process.env.COPILOT_HOME ?? join(homedir(), '.copilot');
  const folder = join(home, 'session-state', given.slice(given.indexOf('=') + 1));
  mkdirSync(folder, { recursive: true });
  const line = { type, data: { requestId: `request_${asked}`, ...data }, timestamp: new Date().toISOString() };
  appendFileSync(join(folder, 'events.jsonl'), `${JSON.stringify(line)}\n`);
}

function box(...rows) {
  const lines = rows.map((row) => `│ ${row.padEnd(width - 2)} │`);
  return [`╭${'─'.repeat(width)}╮`, ...lines, `╰${'─'.repeat(width)}╯`];
}

function drawDialog(title, question, choices, at) {
  const keys = '↑/↓ to navigate · enter to select · esc to cancel';
  const rows = choices.map((text, index) => `${index === at ? '❯' : ' '} ${index + 1}. ${text}`);
  return box(title, '─'.repeat(100), '', question, '', ...rows, '', keys);
}

function drawComposer({ composer, working }) {
  const lines = (marker ?? composer).split('\n').flatMap((line) => line.match(/.{1,110}/gsu) ?? ['']);
  const shown = lines.slice(-tallest).map((line) => `┃ ${line}`);
  const [top, end] = [`╻${'▄'.repeat(width + 1)}`, `╹${'▀'.repeat(width + 1)}`];
  const row = working ? ' ◉ Working · 75 B esc esc interrupt' : ' ← open sidebar · Interactive · Manual Approval';
  return [' ~/work', top, ...shown, end, row];
}

function draw(state) {
  if (state.dialog && !last.dialog) begin();
  last = { ...state, state };
  const rows =
    trust !== null
      ? drawDialog('Confirm folder trust', 'Do you trust the files in this folder?', trustChoices, trust)
      : state.dialog
        ? drawDialog(
            process.env.ASKED ?? 'touch made && ls',
            'Do you want to run this command?',
            ['Yes', "Yes, and don't ask again", words || 'No, and tell Copilot what to do differently (Esc to stop)'],
            choice,
          )
        : drawComposer(state);
  process.stdout.write(`\x1b]0;GitHub Copilot\x07\x1b[H\x1b[2J${rows.join('\r\n')}`);
}

function begin() {
  choice = 0;
  words = '';
  asked += 1;
  write('permission.requested', { permissionRequest: { kind: 'shell', fullCommandText: process.env.ASKED } });
}

function moved(at, key, count) {
  if (key === '\x1b[B' || key === '\x1bOB') return Math.min(at + 1, count - 1);
  return key === '\x1b[A' || key === '\x1bOA' ? Math.max(at - 1, 0) : at;
}

function takenByTrust(key) {
  trust = moved(trust, key, trustChoices.length);
  if (key !== '\r') return true;
  if (trust === 2) process.exit(1);
  trust = null;
  return true;
}

function takenByDialog(key) {
  choice = moved(choice, key, 3);
  if (key === '\x1b') {
    write('permission.completed', { result: { kind: 'cancelled' } });
    last.state.dialog = false;
    return false;
  }
  if (key !== '\r') return true;
  if (mode === 'deaf-dialog') return true;
  if (choice < 2) {
    write('permission.completed', { result: { kind: 'approved' } });
    return false;
  }
  // Without words its "No" takes no Enter.
  if (words === '') return true;
  write('permission.completed', { result: { kind: 'denied-interactively-by-user', feedback: words } });
  last.state.dialog = false;
  return '\x1b';
}

play({
  turnMs: 5000,
  draw,
  taken(key) {
    if (trust !== null) return takenByTrust(key);
    if (last.dialog) return takenByDialog(key);
    // Its Ctrl-C ends a turn; without one nothing happens until it is pressed again.
    if (key === '\x03') return last.working ? '\x1b' : true;
    if (key === '\x1b') return true;
    const { state } = last;
    if (key === '\x15') {
      state.composer = marker === null ? state.composer.replace(/[^\n]*$/u, '') : '';
      marker = null;
      return true;
    }
    if (key !== '\x7f') return false;
    state.composer = state.composer.slice(0, -1);
    return true;
  },
  pasted(text) {
    if (last.dialog) {
      if (choice === 2) words = text;
      return false;
    }
    const lines = text.split('\n').length;
    // What the real one does with a paste of more than 20 KiB.
    if (Buffer.byteLength(text) > 20 * 1024) marker = '[Saved pasted content to workspace (20.0 KB) id=1]';
    else if (lines > 10) marker = `[Paste #1 - ${lines} lines]`;
    return mode !== 'loses-paste';
  },
  submitted() {
    marker = null;
  },
});
