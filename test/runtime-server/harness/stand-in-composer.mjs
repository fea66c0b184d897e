/**
 * What stand-ins of programs with a composer have in common: it takes pastes, keys and Enter, a turn goes on for a while, Ctrl-O opens a
 * dialog that `1` or Enter answers, Ctrl-T begins or ends a turn. `STAND_IN` names one misbehaviour. What all of it looks like is each one's own.
 * `STAND_IN_WORK` names a module whose `work(prompt, turn)` carries out each prompt; a turn lasts until its promise is over.
 */
export const work = process.env.STAND_IN_WORK ? (await import(process.env.STAND_IN_WORK)).work : undefined;
export const modes = (process.env.STAND_IN ?? '').split(' ');
export const [mode] = modes;

/** Longer than a turn is waited for where nothing says that the prompt is kept. */
const keptMs = 6000;

/** One turn, as the work in it sees it. `show`: draws its question, or takes it away again. */
export function createTurn(show) {
  const { promise: interrupted, resolve: interrupt } = Promise.withResolvers();
  const turn = {
    interrupted,
    interrupt,
    /** Answers the question that is drawn. */
    answer: null,
    /** Whether the person said yes, in the pane or by `elsewhere`. */
    async ask(elsewhere = new Promise(() => {})) {
      const { promise, resolve } = Promise.withResolvers();
      turn.answer = resolve;
      show(true);
      const allowed = await Promise.race([promise, elsewhere]);
      turn.answer = null;
      show(false);
      return allowed;
    },
  };
  return turn;
}

/**
 * `turnMs`: longer than a witness is waited for before the composer is believed. `pasted` and `submitted` see what is taken, before it is;
 * `pasted` answers false where it is lost. `taken` sees each key first, and answers true where it was for another screen, or the key that it
 * means to this one.
 */
export function play({ turnMs, draw, pasted = () => true, submitted = () => {}, taken = () => false }) {
  const state = { composer: '', working: false, dialog: false };
  let enters = 0;
  let turn = null;

  function show(dialog) {
    state.dialog = dialog;
    draw(state);
  }

  function submit() {
    enters += 1;
    if (mode === 'deaf' || (mode === 'drop-first-enter' && enters === 1)) return;
    submitted(state);
    turn = createTurn(show);
    const worked = work?.(state.composer, turn);
    state.composer = '';
    if (mode === 'no-turn') return;
    if (mode === 'keeps-prompts') setTimeout(begin, keptMs, worked);
    else begin(worked);
  }

  function begin(worked) {
    state.working = true;
    draw(state);
    const over = () => {
      state.working = false;
      draw(state);
    };
    if (worked === undefined) setTimeout(over, turnMs);
    else worked.then(over, over);
  }

  function answer(allowed) {
    state.dialog = false;
    turn?.answer?.(allowed);
  }

  function pressEscape() {
    if (turn?.answer) answer(false);
    else if (mode !== 'no-escape') {
      state.working = false;
      turn?.interrupt();
    }
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
    if (state.dialog && (key === '1' || key === '\r')) answer(true);
    else if (key === '\r') submit();
    else if (key === '\x15') clearRow(state);
    else if (key === '\x1b') pressEscape();
    else if (key === '\x03') process.exit(0);
    else if (key === '\x04') process.exit(7);
    else if (key === '\x0f') state.dialog = true;
    else if (key === '\x14') state.working = !state.working;
    else state.composer += key;
  }

  process.stdin.setRawMode(true);
  process.stdin.setEncoding('utf8');
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
        const meant = taken(key);
        const pressed = typeof meant === 'string' ? meant : key;
        if (meant !== true && pressed.length === 1) press(pressed);
        input = input.slice(key.length);
      }
    }
    draw(state);
  });
}
