/**
 * Our start file for bash, and the protocol in which that shell reports to us. Signals are `OSC 777;gantry;<nonce>;<signal>`: only the start file
 * knows the nonce, and it is no environment variable, so printed text cannot forge a signal.
 *
 * A message does not come through the keyboard. It lies in a file; one private key makes readline put it into an empty line and report it (`took`),
 * or report that the line holds a person's draft (`draft`). Only then is Enter pressed. So no draft is ever mixed with a message, no pasted control
 * character has an effect, and the shell itself is the witness of what it took. A message that was put there and never entered, because the runtime
 * ended, is no draft: the next one takes its place.
 *
 * The person's own start files are not read: their prompt, traps and key bindings would break the reports. PATH and all other variables come from
 * the environment that Gantry was started in.
 */

/** No terminal sends this; readline knows it by our `bind`. */
export const takeKey = '\x1b[77;77~';

export interface ShellSignal {
  readonly signal: string;
  /** Fields after the signal's name. */
  readonly fields: readonly string[];
}

/** The signal in an OSC 777 payload (`gantry;<nonce>;<signal>;…`), or null when it is not this shell's. */
export function readSignal(text: string, nonce: string): ShellSignal | null {
  const [owner, seenNonce, signal, ...fields] = text.split(';');
  return owner === 'gantry' && nonce !== '' && seenNonce === nonce && signal ? { signal, fields } : null;
}

/** All signals in a stretch of the journal, in order. */
export function signalsIn(bytes: string, nonce: string): ShellSignal[] {
  return [...bytes.matchAll(/\x1b\]777;([^\x07\x1b]*)(?:\x07|\x1b\\)/g)].flatMap(
    (match) => readSignal(match[1] ?? '', nonce) ?? [],
  );
}

/** The prompt up to the place where a command is typed. `directory` is bash's `\W`. */
export function promptText(name: string, directory: string): string {
  return `${name} ${directory} $ `;
}

/** Input of readline (`INPUTRC`): ours, so that a person's vi mode or key changes do not hide our key. */
export const readlineFile = 'set editing-mode emacs\nset enable-bracketed-paste on\nset bell-style none\n';

export function startFile({
  name,
  nonce,
  messageFile,
  firstCommand,
}: {
  /** `slug@team`, already known to be `[a-z0-9_-]+@[a-z0-9_-]+`. */
  readonly name: string;
  readonly nonce: string;
  /** The file in which a message lies: its id on the first line, then the text. */
  readonly messageFile: string;
  /** Runs before the first prompt. */
  readonly firstCommand: string | null;
}): string {
  const osc = `\\e]777;gantry;${nonce}`;
  return `# Written by Gantry for one start of this bot; changes are lost.
set +o history +H
unset HISTFILE INPUTRC
shopt -s interactive_comments checkwinsize
__gantry_count=0
__gantry_status=0
__gantry_put=
__gantry_prompt() {
  __gantry_status=$?
  __gantry_put=
  __gantry_count=$((__gantry_count + 1))
  # What a program that was killed left behind: reports of mouse, focus and keys would be typed into the line; the prompt would
  # stand on the program's screen, in its colours, without a cursor. Leaving the alternate screen restores a cursor, so ours is
  # saved first: on the ordinary screen it stays where it is. The soft reset moves nothing.
  printf '\\e[?1000l\\e[?1002l\\e[?1003l\\e[?1006l\\e[?1016l\\e[?1004l\\e[<99u\\e[>4;0m\\e[?2026l'
  printf '\\e7\\e[?1049l\\e[!p'
  printf '\\e]133;D;%s\\a\\e]133;A\\a' "$__gantry_status"
  return $__gantry_status
}
__gantry_take() {
  local id text only=
  { IFS= read -r id; IFS= read -r -d '' text; } 2>/dev/null < ${quote(messageFile)}
  [[ -n $id ]] || return 0
  # "=id": nothing is put anywhere, only said whether the text stands in the line.
  if [[ $id == =* ]]; then
    id=\${id#=}
  elif [[ -z $READLINE_LINE || $READLINE_LINE == "$__gantry_put" ]]; then
    READLINE_LINE=$text
    __gantry_put=$text
    READLINE_POINT=\${#text}
  fi
  if [[ $READLINE_LINE == "$text" ]]; then
    printf '${osc};took;%s\\a' "$id"
  else
    printf '${osc};draft;%s\\a' "$id"
  fi
}
PROMPT_COMMAND=__gantry_prompt
PS0='${osc};start\\a\\e]133;C\\a'
PS1='${name} \\W $ \\[${osc};ready;\${__gantry_count};\${__gantry_status};\\W\\a\\e]133;B\\a\\]'
PS2='\\[${osc};more\\a\\]> '
bind -x '"${takeKey.replace('\x1b', '\\e')}": __gantry_take'
${firstCommand === null ? '' : `printf '${osc};start\\a'\neval ${quote(firstCommand)}\n`}`;
}

/** One word for bash, whatever is in it. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
