/**
 * What Copilot's hooks and screen mean, recorded with 1.0.102. Data only. Hooks are the authority for the beginning of a turn and for questions. The
 * screen decides when a turn is over: the hook of its end comes before that, and a message sent then would join the turn. The row under the composer
 * says whether a turn goes on; a dialog is a box with its keys in the last row but one.
 */
import type { FolderChoice } from '../folder-question.ts';
import type { Condition, EventRule, Ruleset, ScreenRule } from '../judge/rules.ts';

const anyLive = ['starting', 'idle', 'working', 'needs_you', 'blocked'] as const;

const turnRow = '(?:^ ?[◉◎○●] |esc esc |esc again to interrupt)';
/** The keys of a dialog, in the last row of its box. */
const keys = '^│ .*(?:to navigate|enter to \\w+).*│\\n╰─+╯$';
const choice = '^│ ❯ (?:\\d+\\. )?\\S';
/** The end of its composer: a line, or the edge of a shade where the terminal tells its colours. A row or two follow. */
const composerEnd = '^(?:─{20,}|╹[▄▀]{20,}) *┃?$';
const composer: Condition = { region: 'bottom', rows: 3, regex: composerEnd };
const atRest: Condition = { region: 'bottom', rows: 2, not: turnRow };

const dialog = (id: string, priority: number, regex: string, reason: string): ScreenRule => ({
  id: `copilot.dialog.${id}`,
  source: 'screen',
  priority,
  when: [
    { region: 'bottom', rows: 40, regex },
    { region: 'bottom', rows: 4, regex: keys },
  ],
  claim: { state: 'needs_you', reason },
  from: anyLive,
  holdMs: 150,
});

const setup = (id: string, regex: string, reason: string): ScreenRule => ({
  id: `copilot.setup.${id}`,
  source: 'screen',
  priority: 100,
  when: [
    { region: 'bottom', rows: 40, regex },
    { region: 'bottom', rows: 3, not: composerEnd },
  ],
  claim: { state: 'needs_you', reason, setup: true },
  from: ['starting', 'idle', 'needs_you'],
  holdMs: 200,
});

const idle = (
  id: string,
  priority: number,
  when: readonly Condition[],
  claim: ScreenRule['claim'] = { state: 'idle' },
): ScreenRule => ({
  id: `copilot.${id}`,
  source: 'screen',
  priority,
  when: [composer, atRest, ...when],
  claim,
  from: ['starting', 'working', 'needs_you', 'blocked'],
  // Between two steps of a turn the row is gone for a repaint.
  holdMs: 700,
  // A provider's refusal may be temporary: a blocked bot retries after a quarter of an hour. Copilot shows its composer before it asks about its folder.
  holdFrom: { starting: 1500, blocked: 15 * 60_000 },
});

/** The message of a turn that ended with one, right above the composer and the row with its folder. A screen that scrolls has a bar at its edge. */
const failed = (words: string): Condition => ({
  region: 'bottom',
  rows: 12,
  regex: `^ ✗ (?<what>${words}.*?) *┃?(?:\\n(?: {3}\\S.*| +┃)){0,6}\\n .*\\n(?:─{20,}|╻[▄▀]{20,})`,
});
const limits =
  "(?:You've (?:hit|reached|used) .*(?:limit|quota|credits)|.*(?:quota exceeded|exceeded your .*(?:quota|limit)|usage limit|session limit))";

const screen: readonly ScreenRule[] = [
  {
    ...setup('trust', '^│ Do you trust the files in this folder\\?', 'asks whether the folder is trusted'),
    beforeHooks: true,
  },
  setup(
    'sign-in',
    '(?:Please use /login to sign in|run /login|No authentication information found|Select the account|one-time code)',
    'asks to sign in',
  ),
  dialog('permission', 92, '^│ (?<what>Do you want to .+?\\?) *│$', 'asks: {what}'),
  dialog('choice', 85, choice, 'a dialog waits for an answer'),
  {
    id: 'copilot.working.row',
    source: 'screen',
    priority: 70,
    when: [composer, { region: 'bottom', rows: 2, regex: turnRow }],
    claim: { state: 'working' },
    // At its start it shows such a row while it loads.
    from: ['idle', 'working', 'needs_you', 'blocked'],
    holdMs: 250,
    // The question is known before its dialog is drawn, and a turn has ended before its row goes.
    holdFrom: { needs_you: 700, idle: 2000 },
  },
  idle('limit', 60, [failed(limits)], { state: 'blocked', reason: 'usage limit: {what}' }),
  idle('idle.failed', 55, [failed('')], { state: 'idle', reason: 'the last turn failed: {what}' }),
  idle('idle.composer', 50, []),
];

const events: readonly EventRule[] = [
  { id: 'copilot.hook.submitted', source: 'hook', event: 'UserPromptSubmit', claim: { state: 'working' } },
  {
    id: 'copilot.hook.permission',
    source: 'hook',
    event: 'Notification',
    where: { notification_type: '^permission_prompt$' },
    claim: { state: 'needs_you', reason: 'asks: {message}' },
  },
  {
    id: 'copilot.hook.elicitation',
    source: 'hook',
    event: 'Notification',
    where: { notification_type: '^elicitation_dialog$' },
    claim: { state: 'needs_you', reason: 'asks for input: {message}' },
  },
  { id: 'copilot.hook.notification', source: 'hook', event: 'Notification', claim: null },
];

/** Hook events that the adapter asks for: exactly those that a rule reads. */
export const copilotHookEvents: readonly string[] = [...new Set(events.map(({ event }) => event))];

/** Its question as its transcript has it, with all that it would do. */
const asks: EventRule = {
  id: 'copilot.transcript.asks',
  source: 'hook',
  event: 'asks',
  claim: { state: 'needs_you', reason: '{words}' },
};

export const copilotRules: Ruleset = {
  harness: 'copilot',
  version: 'copilot/1.0.102',
  covers: { from: '1.0.102', below: '1.1.0' },
  authority: 'hook',
  unclearAfterMs: 1500,
  // One Ctrl-C ends a turn and leaves a draft alone; Escape takes two, and early in a turn takes the prompt back.
  interrupt: { keys: ['C-c'] },
  screen,
  events: [...events, asks],
};

/** The rule of its question whether it may work in its folder. "Yes, and remember" is the yes: the other one is asked again at each start. */
export const trustRule = 'copilot.setup.trust';
export function trustChoice(rows: readonly string[]): FolderChoice | null {
  const row = chosenRow(rows);
  if (/^2\. Yes, and remember this folder\b/u.test(row)) return 'yes';
  if (/^3\. No\b/u.test(row)) return 'no';
  return /^1\. Yes$/u.test(row) ? 'other' : null;
}

/** The rule of its question whether it may do something. */
export const permissionRule = 'copilot.dialog.permission';
export function permissionChoice(rows: readonly string[]): FolderChoice | null {
  const row = chosenRow(rows);
  if (row === '1. Yes') return 'yes';
  if (/^\d+\. No\b/u.test(row)) return 'no';
  const number = /^\d+(?=\. )/u.exec(row)?.[0];
  return number === undefined ? null : `other ${number}`;
}

/** Its "No" wants to hear what to do instead, and takes no Enter without words. */
export const wantsWords = (rows: readonly string[]): boolean =>
  /tell Copilot what to do differently/u.test(chosenRow(rows));

function chosenRow(rows: readonly string[]): string {
  const row = rows.findLast((one) => /^│ ❯ /u.test(one)) ?? '';
  return row.replace(/^│ ❯ /u, '').replace(/ *│$/u, '').trim();
}
