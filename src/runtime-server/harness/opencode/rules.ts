/**
 * What opencode's server and screen mean, recorded with 1.18.33. Data only. Its server is the authority: the driver folds its events into levels
 * (`level.*`), because `busy` comes several times a turn and `idle` twice after an interrupt. Where the server cannot be read the screen decides,
 * after holds longer than the server's delay.
 */
import type { EventRule, Ruleset, ScreenRule } from '../judge/rules.ts';

const anyLive = ['starting', 'idle', 'working', 'needs_you', 'blocked'] as const;

/** Longer than the server takes to report the same. */
const behindServerMs = 1500;
/** Its server reports when a question has ended; a screen that does not show the question's conversation does not. */
const afterQuestionMs = 30_000;

const screen: readonly ScreenRule[] = [
  {
    id: 'opencode.dialog.command',
    source: 'screen',
    priority: 90,
    when: [
      { region: 'bottom', rows: 24, contains: '△ Permission required' },
      { region: 'bottom', rows: 24, regex: '^\\s*┃\\s+[$] (?<what>\\S.*)$' },
      { region: 'bottom', rows: 6, regex: 'Allow once +Allow always +Reject' },
    ],
    claim: { state: 'needs_you', reason: 'asks to run: {what}' },
    from: anyLive,
    holdMs: 400,
  },
  {
    id: 'opencode.dialog.permission',
    source: 'screen',
    priority: 85,
    when: [
      { region: 'bottom', rows: 24, contains: '△ Permission required' },
      { region: 'bottom', rows: 6, regex: 'Allow once +Allow always +Reject' },
    ],
    claim: { state: 'needs_you', reason: 'asks for permission' },
    from: anyLive,
    holdMs: 400,
  },
  {
    id: 'opencode.working.row',
    source: 'screen',
    priority: 70,
    when: [{ region: 'last', regex: '^\\s*\\S+\\s+esc (again to )?interrupt' }],
    claim: { state: 'working' },
    from: anyLive,
    holdMs: 400,
    holdFrom: { idle: behindServerMs, needs_you: afterQuestionMs, blocked: behindServerMs },
  },
  {
    id: 'opencode.idle.composer',
    source: 'screen',
    priority: 50,
    when: [
      { region: 'bottom', rows: 8, regex: '^\\s*╹▀{20,}' },
      { region: 'bottom', rows: 8, contains: 'ctrl+p commands' },
      { region: 'bottom', rows: 8, not: 'esc (again to )?interrupt' },
    ],
    claim: { state: 'idle' },
    from: ['starting', 'working', 'needs_you', 'blocked'],
    holdMs: behindServerMs,
    // The first turn of a start may be seconds away from its message. A provider's refusal may be temporary: a blocked bot retries after a quarter
    // of an hour.
    holdFrom: { starting: 300, working: 10_000, needs_you: afterQuestionMs, blocked: 15 * 60_000 },
  },
];

const level = (name: string, claim: EventRule['claim']): EventRule => ({
  id: `opencode.server.${name}`,
  source: 'hook',
  event: `level.${name}`,
  claim,
});

const events: readonly EventRule[] = [
  level('working', { state: 'working' }),
  level('retry', { state: 'working', reason: 'its provider refuses; {message} · attempt {attempt}' }),
  level('idle', { state: 'idle' }),
  level('failed', { state: 'idle', reason: 'the last turn failed: {message}' }),
  level('sign-in', { state: 'needs_you', reason: 'must be signed in: {message}', setup: true }),
  level('limit', { state: 'blocked', reason: 'usage limit: {message}' }),
  level('asks', { state: 'needs_you', reason: '{words}' }),
];

export const opencodeRules: Ruleset = {
  harness: 'opencode',
  version: 'opencode/1.18.33',
  covers: { from: '1.18.0', below: '1.19.0' },
  authority: 'hook',
  // Messages go to its server: an unknown dialog blocks none of them.
  unclearAfterMs: null,
  // Asked for a second time before it ends the turn; used where its server does not answer.
  interrupt: { keys: ['Escape', 'Escape'], apartMs: 600 },
  screen,
  events,
};

/** Words of a provider that a limit of the account is reached, not that it was asked too fast. */
export const limitWords =
  /(usage|weekly|monthly|daily|plan|5-hour) limit|insufficient_quota|quota|credit balance|out of credit/i;
