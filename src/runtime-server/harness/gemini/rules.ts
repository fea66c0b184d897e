/**
 * What Gemini CLI's title and screen mean, recorded with 0.61.0. Data only. The title is the authority: it has one sign each for
 * ready, working and a question. The screen shows what is asked, and decides where a person has switched the title off. The whole
 * screen is repainted for a spinner, so idle must hold for a while.
 */
import type { FolderChoice } from '../folder-question.ts';
import type { Condition, Ruleset, ScreenRule } from '../judge/rules.ts';

const anyLive = ['starting', 'idle', 'working', 'needs_you', 'blocked'] as const;
const signs = '^[◇✦✋⏲]';
const composer: Condition = { region: 'bottom', rows: 8, regex: '^ [>!*] ' };
const spinner = '^ ?[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] .*\\(esc to cancel';
/** A dialog is a box with a chosen first row. */
const chosen = '^ ?│ +● (?:\\d+\\. )?\\S';

const setup = (id: string, regex: string, reason: string): ScreenRule => ({
  id: `gemini.setup.${id}`,
  source: 'screen',
  priority: 100,
  when: [
    { region: 'bottom', rows: 24, regex },
    { region: 'last', regex: '^ ?╰─' },
  ],
  claim: { state: 'needs_you', reason, setup: true },
  // Its title reads "Ready" behind such a screen.
  from: ['starting', 'idle', 'needs_you'],
  holdMs: 200,
});

/** A turn that ended with a message in place of an answer, right above the composer. */
const failed =
  '^✕ (?<what>.+)(?:\\n {2}.+){0,6}(?:\\nℹ This request failed.*(?:\\n {2}.+){0,3})?\\n(?:.* \\? for shortcuts|─{20,})';

const ready = (
  id: string,
  priority: number,
  holdMs: number,
  when: readonly Condition[],
  reason?: string,
): ScreenRule => ({
  id: `gemini.idle.${id}`,
  source: 'title',
  priority,
  when: [...when, composer, { region: 'bottom', rows: 24, not: spinner }],
  claim: { state: 'idle', ...(reason !== undefined && { reason }) },
  from: ['starting', 'working', 'needs_you', 'blocked'],
  holdMs,
  // A provider's refusal may be temporary: a blocked bot retries after a quarter of an hour. Gemini CLI shows its composer before it asks its first
  // questions and before it reads input.
  holdFrom: { starting: 2500, blocked: 15 * 60_000 },
});

const screen: readonly ScreenRule[] = [
  setup('trust', '^ ?│ Do you trust the files in this folder\\?', 'asks whether the folder is trusted'),
  setup('sign-in', '^ ?│ .*How would you like to authenticate', 'asks to sign in'),
  setup('api-key', '^ ?│ Enter Gemini API Key', 'asks for an API key'),
  setup('signing-in', '^ ?│ .*Waiting for (?:auth|authentication)', 'waits for the sign-in'),
  {
    id: 'gemini.setup.restarts',
    source: 'screen',
    priority: 100,
    when: [{ region: 'last', regex: '^ ?Gemini CLI is restarting' }],
    claim: { state: 'starting', reason: 'restarts after its first questions' },
    from: ['starting', 'idle', 'needs_you'],
    holdMs: 100,
  },
  {
    id: 'gemini.limit.until',
    source: 'screen',
    priority: 96,
    when: [
      { region: 'bottom', rows: 24, regex: '^ ?│ +(?<what>Usage limit reached for .+?) *│$' },
      { region: 'bottom', rows: 24, regex: '^ ?│ +(?<until>Access resets at .+?) *│$' },
    ],
    claim: { state: 'blocked', reason: 'usage limit: {what} {until}' },
    from: ['idle', 'working', 'needs_you'],
    holdMs: 200,
  },
  {
    id: 'gemini.limit',
    source: 'screen',
    priority: 95,
    when: [{ region: 'bottom', rows: 24, regex: '^ ?│ +(?<what>Usage limit reached for .+?) *│$' }],
    claim: { state: 'blocked', reason: 'usage limit: {what}' },
    from: ['idle', 'working', 'needs_you'],
    holdMs: 200,
  },
  {
    id: 'gemini.dialog.permission',
    source: 'title',
    priority: 92,
    when: [
      { region: 'title', regex: '^✋' },
      { region: 'bottom', rows: 40, regex: '^ ?│ \\? (?<what>\\S.*?) *│$' },
    ],
    claim: { state: 'needs_you', reason: 'asks: {what}' },
    from: anyLive,
    holdMs: 100,
  },
  {
    id: 'gemini.dialog.title',
    source: 'title',
    priority: 90,
    when: [{ region: 'title', regex: '^✋' }],
    claim: { state: 'needs_you', reason: 'a dialog waits for an answer' },
    from: anyLive,
    // Its text is drawn within a moment of the title.
    holdMs: 400,
  },
  {
    id: 'gemini.dialog.asks',
    source: 'screen',
    priority: 88,
    when: [
      { region: 'bottom', rows: 40, regex: '^ ?│ \\? (?<what>\\S.*?) *│$' },
      { region: 'bottom', rows: 10, regex: chosen },
      { region: 'last', regex: '^ ?╰─' },
    ],
    claim: { state: 'needs_you', reason: 'asks: {what}' },
    from: anyLive,
    holdMs: 300,
  },
  {
    id: 'gemini.dialog.choice',
    source: 'screen',
    priority: 86,
    when: [
      { region: 'bottom', rows: 14, regex: chosen },
      { region: 'last', regex: '^ ?╰─' },
    ],
    claim: { state: 'needs_you', reason: 'a dialog waits for an answer' },
    from: anyLive,
    holdMs: 400,
  },
  {
    id: 'gemini.working.title',
    source: 'title',
    priority: 70,
    when: [{ region: 'title', regex: '^[✦⏲]' }],
    claim: { state: 'working' },
    from: anyLive,
    holdMs: 150,
  },
  {
    id: 'gemini.working.row',
    source: 'screen',
    priority: 65,
    when: [
      { region: 'title', not: signs },
      { region: 'bottom', rows: 16, regex: spinner },
    ],
    claim: { state: 'working' },
    from: anyLive,
    holdMs: 250,
  },
  ready(
    'failed',
    56,
    700,
    [
      { region: 'title', regex: '^◇' },
      { region: 'bottom', rows: 24, regex: failed },
    ],
    'the last turn failed: {what}',
  ),
  ready('title', 55, 600, [{ region: 'title', regex: '^◇' }]),
  ready('composer', 50, 1500, [{ region: 'title', not: signs }]),
];

export const geminiRules: Ruleset = {
  harness: 'gemini',
  version: 'gemini/0.61.0',
  covers: { from: '0.61.0', below: '0.62.0' },
  authority: 'screen',
  unclearAfterMs: 2500,
  interrupt: { keys: ['Escape'] },
  screen,
  events: [],
};

/** Stand in an empty composer, in grey. */
export const ghostTexts: readonly RegExp[] = [/^Type your message or @path\/to\/file$/u, /^Press .+ (mode|to edit)/u];

/** Said while it still connects to tool servers: its composer empties, and the turn begins when it is ready. */
export const keepsPrompts = (rows: readonly string[]): boolean =>
  rows.some((row) => /^ℹ Initializing\.\.\. Prompts will be queued/u.test(row));

/** The rule of its question whether it may work in its folder, and the choice there that the cursor is on. "Don't trust" ends nothing. */
export const trustRule = 'gemini.setup.trust';
export function trustChoice(rows: readonly string[]): FolderChoice | null {
  const row = rows.findLast((one) => /^ ?│ +● /u.test(one)) ?? '';
  if (/● 1\. Trust folder \(.*\) *│ *$/u.test(row)) return 'yes';
  return /● (?:2\. Trust parent folder \(.*\)|3\. Don't trust) *│ *$/u.test(row) ? 'other' : null;
}
