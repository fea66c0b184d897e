/**
 * What Codex's terminal signals, hooks, title and screen mean, recorded with 0.169.0 and played with 0.171.0. Data only. The authority is its own
 * status (OSC 21337, which it sends to a terminal named iTerm.app): it also reports an interrupt and a "No". Hooks report earlier that a turn begins, and
 * what is asked; the screen shows dialogs and failures, and decides where the status is missing.
 */
import type { FolderChoice } from '../folder-question.ts';
import type { EventRule, Ruleset, ScreenRule } from '../judge/rules.ts';

const anyLive = ['starting', 'idle', 'working', 'needs_you', 'blocked'] as const;

const spinner = '^[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] ';
const attention = '^\\[ [.!] \\] Action Required';

const setup = (id: string, regex: string, last: string, reason: string): ScreenRule => ({
  id: `codex.setup.${id}`,
  source: 'screen',
  priority: 100,
  when: [
    { region: 'bottom', rows: 40, regex },
    { region: 'last', regex: last },
  ],
  claim: { state: 'needs_you', reason, setup: true },
  // Its status may read "idle" behind such a screen.
  from: ['starting', 'idle', 'needs_you'],
  holdMs: 200,
});

const screen: readonly ScreenRule[] = [
  {
    ...setup('trust', '^ *Trust this folder\\?', '^ *enter continue', 'asks whether the folder is trusted'),
    beforeHooks: true,
  },
  setup('sign-in', '(Choose how you want to use Codex|Finish signing in via)', 'Press e', 'asks to sign in'),
  setup('hooks', '^ *Hooks need review', '^ *enter confirm', 'asks whether its hooks may run'),
  setup('hook-list', '^ *Lifecycle hooks from config', 'esc close', 'shows its list of hooks'),
  setup('update', '^ *(✨ ?)?Update available', 'Press enter to continue', 'asks to be updated'),
  {
    id: 'codex.dialog.run',
    source: 'screen',
    priority: 92,
    when: [
      { region: 'bottom', rows: 30, regex: '^ {2}Would you like to run the following command\\?' },
      { region: 'bottom', rows: 20, regex: '^ {2}\\$ (?<command>\\S.*)' },
      { region: 'last', contains: 'Press enter to confirm' },
    ],
    claim: { state: 'needs_you', reason: 'asks to run: {command}' },
    from: anyLive,
    holdMs: 100,
  },
  {
    id: 'codex.dialog.permission',
    source: 'screen',
    priority: 90,
    when: [
      { region: 'bottom', rows: 30, regex: '^ {2}Would you like to (?<what>.+\\?)' },
      { region: 'last', contains: 'Press enter to confirm' },
    ],
    claim: { state: 'needs_you', reason: 'asks: would you like to {what}' },
    from: anyLive,
    holdMs: 100,
  },
  {
    id: 'codex.dialog.choice',
    source: 'screen',
    priority: 85,
    when: [
      { region: 'bottom', rows: 20, regex: '^ *[›>] \\d+\\. ' },
      { region: 'last', regex: '([Ee]nter (to )?(confirm|continue|select)|esc (to )?(cancel|close|back|skip))' },
    ],
    claim: { state: 'needs_you', reason: 'a dialog waits for an answer' },
    from: anyLive,
    holdMs: 200,
  },
  {
    id: 'codex.dialog.title',
    source: 'title',
    priority: 80,
    when: [{ region: 'title', regex: attention }],
    claim: { state: 'needs_you' },
    from: anyLive,
    holdMs: 200,
  },
  {
    id: 'codex.working.title',
    source: 'title',
    priority: 70,
    when: [{ region: 'title', regex: spinner }],
    claim: { state: 'working' },
    // Not `needs_you`: while a hook asks a person, Codex shows nothing but work.
    from: ['starting', 'idle', 'blocked'],
    holdMs: 250,
  },
  {
    id: 'codex.working.row',
    source: 'screen',
    priority: 65,
    when: [{ region: 'bottom', rows: 8, regex: '^• .+ \\(\\d.* • esc to interrupt\\)' }],
    claim: { state: 'working' },
    from: ['starting', 'idle', 'blocked'],
    holdMs: 250,
  },
  {
    id: 'codex.idle.failed',
    source: 'screen',
    priority: 55,
    when: [
      {
        region: 'bottom',
        rows: 14,
        regex: '^■ (?!Conversation interrupted)(?<what>.+)\\n(?:(?![›•■]).+\\n){0,6}› (?![^]*\\n› )',
      },
      { region: 'title', not: `(${spinner}|${attention})` },
    ],
    claim: { state: 'idle', reason: 'the last turn failed: {what}' },
    from: ['starting', 'idle', 'working', 'needs_you', 'blocked'],
    holdMs: 700,
    holdFrom: { starting: 400, blocked: 15 * 60_000 },
  },
  {
    id: 'codex.idle.composer',
    source: 'screen',
    priority: 50,
    when: [
      { region: 'bottom', rows: 40, regex: '^› ' },
      { region: 'last', regex: '^( {2}|› )' },
      // Before it has a title it shows its composer, but has not asked its first questions yet.
      { region: 'title', regex: '\\S', not: `(${spinner}|${attention})` },
    ],
    claim: { state: 'idle' },
    from: ['starting', 'working', 'needs_you', 'blocked'],
    holdMs: 700,
    // A provider's refusal may be temporary: a blocked bot retries after a quarter of an hour.
    holdFrom: { starting: 400, blocked: 15 * 60_000 },
  },
];

const status = (id: string, word: string, rest: Pick<EventRule, 'claim' | 'from'>): EventRule => ({
  id: `codex.status.${id}`,
  source: 'osc',
  event: '21337',
  where: { text: `(^|;)status=${word}(;|$)` },
  ...rest,
});

const asks = (id: string, tool: string, reason: string): EventRule => ({
  id: `codex.hook.asks-${id}`,
  source: 'hook',
  event: 'PermissionRequest',
  where: { tool_name: tool },
  claim: { state: 'needs_you', reason },
});

const events: readonly EventRule[] = [
  status('working', 'Working', {
    claim: { state: 'working' },
    from: ['starting', 'idle', 'working', 'needs_you', 'blocked'],
  }),
  // The hook reports the question; the status reports only that there is one.
  status('waiting', 'Waiting', { claim: { state: 'needs_you' }, from: anyLive }),
  status('idle', 'Idle', { claim: { state: 'idle' }, from: ['starting', 'working', 'needs_you'] }),
  { id: 'codex.hook.attached', source: 'hook', event: 'SessionStart', claim: null },
  { id: 'codex.hook.submitted', source: 'hook', event: 'UserPromptSubmit', claim: { state: 'working' } },
  asks('run', '^(Bash|shell|exec_command|local_shell)$', 'asks to run: {tool_input.command}'),
  asks('change', '^apply_patch$', 'asks to change {files}'),
  asks('use', '', 'asks to use {tool_name}'),
  // Ends of a turn: the status follows within a moment, once the program is back at its composer.
  { id: 'codex.hook.stop', source: 'hook', event: 'Stop', claim: null },
  { id: 'codex.hook.interrupted', source: 'hook', event: 'Interrupt', claim: null },
];

/** Hook events that the adapter asks for: exactly those that a rule reads. */
export const codexHookEvents: readonly string[] = [
  ...new Set(events.filter(({ source }) => source === 'hook').map(({ event }) => event)),
];

export const codexRules: Ruleset = {
  harness: 'codex',
  version: 'codex/0.171.0',
  covers: { from: '0.169.0', below: '0.172.0' },
  authority: 'osc',
  unclearAfterMs: 1500,
  interrupt: { keys: ['Escape'] },
  screen,
  events,
};

/** Codex's messages when its provider's limit stops it. */
export const limitWords = /(usage limit|limit reached|quota exceeded|out of credits|rate limit reached)/iu;

/** Stands in an empty composer, dimmed. Dimness is the rule; these are the words seen, should a theme not dim them. */
export const ghostTexts: readonly RegExp[] = [/^Ask Codex to do anything$/u];

/** The rule of its question whether it may work in its folder, and the choice there that the cursor is on. Its other choice ends nothing. */
export const trustRule = 'codex.setup.trust';
export function trustChoice(rows: readonly string[]): FolderChoice | null {
  const row = rows.findLast((one) => /^ *› /u.test(one)) ?? '';
  if (/^ *› 1\. Trust and continue *$/u.test(row)) return 'yes';
  return /^ *› 2\. Back to Agent Command Center *$/u.test(row) ? 'other' : null;
}
