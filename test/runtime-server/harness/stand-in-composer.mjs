/**
 * What stand-ins of programs with a composer have in common: it takes pastes, keys and Enter, a turn goes on for a while, Ctrl-O opens a
 * dialog that `1` answers, Ctrl-T begins or ends a turn. `STAND_IN` names one misbehaviour. What all of it looks like is each one's own.
 */
export const modes = (process.env.STAND_IN ?? '').split(' ');
export const [mode] = modes;

/**
 * `turnMs`: longer than a witness is waited for before the composer is believed. `pasted` and `submitted` see what is taken, before it is;
 * `pasted` answers false where it is lost.
 * `submitted` may answer a promise: then the turn lasts until it is over. `taken` sees each key first, and answers true where it was for another
 * screen.
 */
export function play({ turnMs, draw, pasted = () => true, submitted = () => {}, taken = () => false }) {
  const state = { composer: '', working: false, dialog: false };
  let enters = 0;

  function submit() {
    enters += 1;
    if (mode === 'deaf' || (mode === 'drop-first-enter' && enters === 1)) return;
    const turn = submitted(state);
    state.composer = '';
    if (mode === 'no-turn') return;
    state.working = true;
    const over = () => {
      state.working = false;
      draw(state);
    };
    if (turn === undefined) setTimeout(over, turnMs);
    else turn.then(over, over);
  }

  /** As all of them do: the row that the cursor is in, then the line break before it. */
  function clearRow(state) {
    if (modes.includes('keeps')) return;
    const rows = state.composer.split('\n');
    if (rows.at(-1) === '') rows.pop();
    else rows[rows.length - 1] = '';
    state.composer = rows.join('\n');
  }

  function press(key) {
    if (key === '\r') submit();
    else if (key === '\x15') clearRow(state);
    else if (key === '\x1b') {
      if (mode !== 'no-escape') state.working = false;
    } else if (key === '\x03') process.exit(0);
    else if (key === '\x04') process.exit(7);
    else if (key === '\x0f') state.dialog = true;
    else if (key === '\x14') state.working = !state.working;
    else if (state.dialog && key === '1') state.dialog = false;
    else state.composer += key;
  }

  process.stdin.setRawMode(true);
  process.stdout.write('\x1b[?2004h');
  draw(state);
  let input = '';
  process.stdin.on('data', (data) => {
    input += data;
    for (;;) {
      const paste = /^\x1b\[200~(.*?)\x1b\[201~/s.exec(input);
      if (paste) {
        input = input.slice(paste[0].length);
        if (mode === 'dialog-on-paste') state.dialog = true;
        else if (pasted(paste[1])) state.composer += paste[1];
      } else if (input.startsWith('\x1b[200~') || input === '') break;
      else {
        // Arrows and their like move a cursor that nobody sees.
        const key = /^\x1b\[[\d;]*[A-Z~]/.exec(input)?.[0] ?? input[0];
        if (!taken(key) && key.length === 1) press(key);
        input = input.slice(key.length);
      }
    }
    draw(state);
  });
}
