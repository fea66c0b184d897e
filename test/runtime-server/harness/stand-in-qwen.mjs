/**
 * Draws Qwen Code's composer and dialog and speaks through its two files as the real one does. `STAND_IN` names a fault: `deaf` reads no
 * lines, `wordless` submits and says nothing of it. A line on stdin is written into the events as it is; `idle` and `dialog` draw. With
 * `STAND_IN_WORK` keys go into its composer, and each prompt is carried out (see `stand-in-composer.mjs`).
 */
import { appendFileSync, readFileSync, statSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { createTurn, work } from './stand-in-composer.mjs';

const mode = process.env.STAND_IN ?? '';
const after = (flag) => process.argv[process.argv.indexOf(flag) + 1];
const [input, events] = [after('--input-file'), after('--json-file')];
const rule = '─'.repeat(100);
let read = statSync(input).size;
let draft = '';
let now = 'idle';
let turn = null;

const rows = {
  idle: [rule, '>   Type your message or @path/to/file', rule, '  ⏸ Ask permissions (shift + tab to cycle)'],
  working: [
    '  ⠏ A joke... (0s · esc to cancel)',
    rule,
    '>   Type your message',
    rule,
    '  Enter to steer · Ctrl+Q to queue',
  ],
  dialog: [" Allow execution of: 'ls'?", '', ' › 1. Yes, allow once', '   4. No, suggest changes (esc)'],
};
const placeholder = /Type your message.*/;
function draw(which) {
  now = which;
  const shown = rows[which].map((row) => (draft === '' ? row : row.replace(placeholder, draft)));
  process.stdout.write(`\x1b]0;Qwen - p\x07\x1b[H\x1b[2J${shown.join('\r\n')}`);
}
const say = (line) => appendFileSync(events, `${typeof line === 'string' ? line : JSON.stringify(line)}\n`);

function take(line) {
  if (line.type === 'submit') {
    draw('working');
    if (mode !== 'wordless') say({ type: 'user', message: { content: [{ type: 'text', text: line.text }] } });
    if (work) begin(line.text);
  } else if (line.type === 'confirmation_response') {
    draw('working');
    say({ type: 'control_response', response: { subtype: 'success', request_id: line.request_id } });
    turn?.answer?.(line.allowed);
  }
}

function begin(prompt) {
  turn = createTurn((asks) => draw(asks ? 'dialog' : 'working'));
  work(prompt, turn).finally(() => draw('idle'));
}

/** A person's keys in its composer or dialog. */
function press(key) {
  if (turn?.answer) turn.answer(key !== '\x1b');
  else if (key === '\x1b') turn?.interrupt();
  else if (key === '\x15') draft = '';
  else if (key >= ' ') draft += key;
  draw(now);
}

draw('idle');
process.stdin.setRawMode?.(true);
setInterval(() => {
  const { size } = statSync(input);
  if (size === read || mode === 'deaf') return;
  const lines = readFileSync(input).subarray(read).toString('utf8').trim().split('\n');
  read = size;
  for (const line of lines) take(JSON.parse(line));
}, 50);
if (work) process.stdin.on('data', (keys) => [...String(keys)].forEach(press));
else createInterface({ input: process.stdin }).on('line', (line) => (rows[line] ? draw(line) : say(line)));
