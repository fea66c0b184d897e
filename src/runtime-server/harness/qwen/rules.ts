/**
 * What Qwen Code's event file, title and screen mean, recorded with 0.24.4. Data only. The events report when a turn begins and what is asked. No
 * event reports a turn's end, an interrupt or a "No" in the pane: there title and screen decide. It repaints whole screens and lacks its status row
 * for a moment, so idle must hold.
 */
import type { EventRule, Ruleset, ScreenRule } from '../judge/rules.ts';

const anyLive = ['starting', 'idle', 'working', 'needs_you', 'blocked'] as const;
/** The event of a question comes before its dialog is drawn. */
const afterQuestion = { needs_you: 900 } as const;

const setup = (id: string, regex: string, reason: string): ScreenRule => ({
  id: `qwen.setup.${id}`,
  source: 'screen',
  priority: 100,
  when: [
    { region: 'bottom', rows: 40, regex },
    { region: 'box', not: '^>' },
  ],
  claim: { state: 'needs_you', reason, setup: true },
  from: ['starting', 'needs_you'],
  holdMs: 300,
});

const screen: readonly ScreenRule[] = [
  setup('sign-in', '(How would you like to authenticate|Select Authentication Method|Get started)', 'asks to sign in'),
  // Boxes of its set-up: a title in the first row, choices under a pointer, no composer.
  setup(
    'provider',
    '^ *│ (Connect a Provider|.+ · (Access Method|Step \\d+/\\d+ · .+?)|Enter to select, ↑↓ to navigate.*?) *│$',
    'asks to sign in: no provider is set up',
  ),
  setup('trust', 'Do you trust (this|the files in this) folder', 'asks whether the folder is trusted'),
  {
    id: 'qwen.dialog.permission',
    source: 'screen',
    priority: 90,
    when: [
      { region: 'bottom', rows: 24, regex: '^\\s*(?<what>(Allow|Apply|Do you want to) .*\\?)\\s*[│█]?\\s*$' },
      { region: 'bottom', rows: 16, regex: '^\\s*› \\d+\\. ' },
    ],
    claim: { state: 'needs_you', reason: 'asks: {what}' },
    from: anyLive,
    holdMs: 200,
  },
  {
    id: 'qwen.dialog.title',
    source: 'title',
    priority: 85,
    when: [{ region: 'title', regex: '^✳\\ufe0e? ' }],
    claim: { state: 'needs_you', reason: 'waits for an answer' },
    from: anyLive,
    holdMs: 400,
  },
  {
    id: 'qwen.working.retry',
    source: 'screen',
    priority: 80,
    when: [{ region: 'bottom', rows: 14, regex: '(?<what>Retrying in \\d+\\S* .*attempt \\d+/\\d+)' }],
    claim: { state: 'working', reason: 'its provider refuses; {what}' },
    from: anyLive,
    holdMs: 400,
    holdFrom: afterQuestion,
  },
  {
    id: 'qwen.working.row',
    source: 'screen',
    priority: 70,
    when: [{ region: 'bottom', rows: 14, regex: '\\(.*esc to cancel\\)' }],
    claim: { state: 'working' },
    from: anyLive,
    holdMs: 250,
    holdFrom: afterQuestion,
  },
  {
    id: 'qwen.working.title',
    source: 'title',
    priority: 60,
    when: [{ region: 'title', regex: '^◐\\ufe0e? ' }],
    claim: { state: 'working' },
    from: anyLive,
    holdMs: 250,
    holdFrom: afterQuestion,
  },
  {
    id: 'qwen.idle.composer',
    source: 'screen',
    // Its title follows the screen late.
    priority: 65,
    when: [
      { region: 'box', regex: '^[>!]' },
      { region: 'below_box', not: 'Enter to steer' },
    ],
    claim: { state: 'idle' },
    from: ['starting', 'working', 'needs_you', 'blocked'],
    // A turn is visible soon after its event; between tool calls the row is gone for a repaint.
    holdMs: 900,
    // A provider's refusal may be temporary: a blocked bot retries after a quarter of an hour.
    holdFrom: { starting: 500, blocked: 15 * 60_000 },
  },
];

const said = (name: string, claim: EventRule['claim']): EventRule => ({
  id: `qwen.event.${name}`,
  source: 'hook',
  event: name,
  claim,
});

const events: readonly EventRule[] = [
  said('attached', null),
  said('working', { state: 'working' }),
  said('asks', { state: 'needs_you', reason: '{words}' }),
];

export const qwenRules: Ruleset = {
  harness: 'qwen',
  version: 'qwen/0.24.4',
  covers: { from: '0.24.0', below: '0.25.0' },
  authority: 'hook',
  unclearAfterMs: 2500,
  interrupt: { keys: ['Escape'] },
  screen,
  events,
};
