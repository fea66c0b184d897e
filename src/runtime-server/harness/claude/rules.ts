/**
 * What Claude Code's hooks, title and screen mean, recorded with 2.1.329 and played with 2.1.332. Data only. Hooks are the authority. They do not report
 * an interrupt, a refused or answered dialog, or anything before the first prompt: there the screen decides, on the edges named in `from` and after its
 * hold time.
 */
import type { EventRule, Ruleset, ScreenRule } from '../judge/rules.ts';

/** A dialog may come up over anything; the hook that announces it may be late or lost. */
const anyLive = ['starting', 'idle', 'working', 'needs_you', 'blocked'] as const;

/** The hook of a question comes before its dialog is drawn: the turn's row stays for a moment. */
const afterQuestion = { needs_you: 700 } as const;

const setup = (id: string, regex: string, reason: string): ScreenRule => ({
  id: `claude.setup.${id}`,
  source: 'screen',
  priority: 100,
  // Behind a composer these words are only talked about.
  when: [
    { region: 'bottom', rows: 40, regex },
    { region: 'box', not: '^❯' },
  ],
  claim: { state: 'needs_you', reason, setup: true },
  from: ['starting', 'needs_you'],
  holdMs: 200,
});

/** A choice of a list as the whole row, with or without the cursor and a number before it. */
const choiceRow = (words: string) => `^ *(?:❯ )?(?:\\d+\\. )?${words} *$`;
const trustRows = [choiceRow('No, exit'), choiceRow('Yes, I trust this folder')];

const screen: readonly ScreenRule[] = [
  setup('text-style', '^ ?Choose the (text style|theme)', 'first start: asks for a text style'),
  setup('security', '^ ?Security notes:', 'first start: security notes wait to be read'),
  {
    // Both choices, one below the other: a command that contains these words is no question about the folder.
    ...setup(
      'trust',
      `${trustRows.join('\\n')}|${trustRows.toReversed().join('\\n')}`,
      'asks whether the folder is trusted',
    ),
    beforeHooks: true,
  },
  setup('sign-in', '(Select login method|Paste code here if prompted|Browser didn.t open\\?)', 'asks to sign in'),
  setup('api-key', 'Do you want to use this API key\\?', 'asks whether to use the API key of the environment'),
  setup('network', '(Unable to connect to Anthropic services|Failed to connect to \\S+)', 'cannot reach its service'),
  setup('update', 'Claude Code (needs|requires) an? update|needs to be updated', 'asks to be updated'),
  {
    id: 'claude.dialog.permission',
    source: 'screen',
    priority: 90,
    when: [
      { region: 'bottom', rows: 20, regex: '^ ?Do you want to (?<what>.+\\?)' },
      { region: 'bottom', rows: 8, regex: '^ ?❯ \\d+\\. ' },
      { region: 'last', contains: 'Esc to cancel' },
    ],
    claim: { state: 'needs_you', reason: 'asks: do you want to {what}' },
    from: anyLive,
    holdMs: 100,
  },
  {
    id: 'claude.dialog.choice',
    source: 'screen',
    priority: 85,
    when: [
      { region: 'bottom', rows: 20, regex: '^ ?❯ (\\d+\\. )?(?<choice>\\S.*)' },
      { region: 'last', regex: '(Enter to (select|confirm)|Esc to cancel)' },
    ],
    claim: { state: 'needs_you', reason: 'a dialog waits for an answer' },
    from: anyLive,
    holdMs: 200,
  },
  {
    id: 'claude.working.retry',
    source: 'screen',
    priority: 80,
    when: [
      { region: 'below_box', contains: 'esc to interrupt' },
      { region: 'above_box', rows: 4, regex: '^[·✢✳✶✻✽] (?<what>.+ · retrying in .+ · attempt \\d+/\\d+)' },
    ],
    claim: { state: 'working', reason: 'its provider refuses; {what}' },
    from: anyLive,
    holdMs: 200,
    holdFrom: afterQuestion,
  },
  {
    id: 'claude.working.row',
    source: 'screen',
    priority: 70,
    when: [{ region: 'below_box', contains: 'esc to interrupt' }],
    claim: { state: 'working' },
    from: anyLive,
    holdMs: 250,
    holdFrom: afterQuestion,
  },
  {
    id: 'claude.working.title',
    source: 'title',
    priority: 60,
    when: [{ region: 'title', regex: '^[◐◑] ' }],
    claim: { state: 'working' },
    from: anyLive,
    holdMs: 250,
    holdFrom: afterQuestion,
  },
  {
    id: 'claude.idle.composer',
    source: 'screen',
    priority: 50,
    when: [
      { region: 'box', regex: '^❯' },
      { region: 'below_box', not: 'esc to interrupt' },
    ],
    claim: { state: 'idle' },
    from: ['starting', 'working', 'needs_you', 'blocked'],
    // A turn is visible at most 130 ms after Enter; between tool calls the row is gone for a repaint.
    holdMs: 700,
    // A provider's refusal may be temporary: a blocked bot retries after a quarter of an hour.
    holdFrom: { starting: 400, blocked: 15 * 60_000 },
  },
];

const asks = (id: string, tool: string, reason: string): EventRule => ({
  id: `claude.hook.asks-${id}`,
  source: 'hook',
  event: 'PermissionRequest',
  where: { tool_name: tool },
  claim: { state: 'needs_you', reason },
});

const events: readonly EventRule[] = [
  { id: 'claude.hook.attached', source: 'hook', event: 'SessionStart', claim: null },
  { id: 'claude.hook.submitted', source: 'hook', event: 'UserPromptSubmit', claim: { state: 'working' } },
  asks('run', '^Bash$', 'asks to run: {tool_input.command}'),
  asks('change', '^(Edit|MultiEdit|Write|NotebookEdit)$', 'asks to change {tool_input.file_path}'),
  asks('fetch', '^WebFetch$', 'asks to fetch {tool_input.url}'),
  asks('plan', '^ExitPlanMode$', 'asks to approve its plan'),
  asks('question', '^AskUserQuestion$', 'asks a question'),
  asks('use', '', 'asks to use {tool_name}'),
  {
    id: 'claude.hook.elicitation',
    source: 'hook',
    event: 'Notification',
    where: { notification_type: '^elicitation_dialog$' },
    claim: { state: 'needs_you', reason: 'asks for input: {message}' },
  },
  { id: 'claude.hook.notification', source: 'hook', event: 'Notification', claim: null },
  { id: 'claude.hook.stop', source: 'hook', event: 'Stop', claim: { state: 'idle' } },
  {
    id: 'claude.hook.failed-sign-in',
    source: 'hook',
    event: 'StopFailure',
    where: { error: '^(authentication|oauth)' },
    claim: { state: 'needs_you', reason: 'must be signed in: {last_assistant_message}', setup: true },
  },
  {
    id: 'claude.hook.failed-billing',
    source: 'hook',
    event: 'StopFailure',
    where: { error: '^billing' },
    claim: { state: 'blocked', reason: '{last_assistant_message}' },
  },
  {
    id: 'claude.hook.failed-limit',
    source: 'hook',
    event: 'StopFailure',
    where: {
      last_assistant_message:
        '(usage|session|weekly|opus|5-hour|your) limit|limit reached|credit balance|out of (credit|(extra )?usage)',
    },
    claim: { state: 'blocked', reason: 'usage limit: {last_assistant_message}' },
  },
  {
    id: 'claude.hook.failed',
    source: 'hook',
    event: 'StopFailure',
    claim: { state: 'idle', reason: 'the last turn failed: {last_assistant_message}' },
  },
  { id: 'claude.hook.compact', source: 'hook', event: 'PreCompact', claim: null },
  { id: 'claude.hook.ended', source: 'hook', event: 'SessionEnd', claim: null },
];

/** Hook events that the adapter asks for: exactly those that a rule reads. */
export const claudeHookEvents: readonly string[] = [...new Set(events.map((rule) => rule.event))];

export const claudeRules: Ruleset = {
  harness: 'claude',
  version: 'claude/2.1.332',
  covers: { from: '2.1.300', below: '2.2.0' },
  authority: 'hook',
  unclearAfterMs: 1500,
  interrupt: { keys: ['Escape'] },
  screen,
  events,
};

/** The rule of its question whether it may work in its folder, and the choice there that the cursor is on. It begins on "No, exit". */
export const trustRule = 'claude.setup.trust';
export function trustChoice(rows: readonly string[]): 'yes' | 'no' | null {
  const row = rows.findLast((one) => /^\s*❯ /u.test(one)) ?? '';
  if (/❯ (\d+\. )?Yes, I trust this folder\s*$/u.test(row)) return 'yes';
  return /❯ (\d+\. )?No, exit\s*$/u.test(row) ? 'no' : null;
}

/** Dim text in an empty composer. Dimness is the rule; these are the texts seen, in case a theme does not dim them. */
export const ghostTexts: readonly RegExp[] = [
  /^Press up to edit queued messages$/u,
  /^Resend your message to try again$/u,
  /^Try ".*"$/u,
];
