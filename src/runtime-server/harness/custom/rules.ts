/**
 * Signals that an unknown program may still send: shell marks, progress, a spinner in its title, and common ways to draw a question. Data only.
 * Without any of these the driver relies only on output.
 */
import type { Condition, Ruleset, ScreenRule } from '../judge/rules.ts';

const anyLive = ['starting', 'idle', 'working', 'needs_you'] as const;

/** Before the first letter of a row in a box. */
const edge = '^[\\s│┃|║]*';
const pointer = '[❯›>▶►➜→»●◉]';
const cursorOnChoice: Condition = { region: 'bottom', rows: 16, regex: `${edge}${pointer}\\s*\\d{1,2}[.):]\\s+\\S` };
/** The words above the choices, nearer than any earlier text. */
const question: Condition = {
  region: 'bottom',
  rows: 24,
  regex: `${edge}(?<what>[^\\s│┃|║].{2,200}\\?)[\\s│┃|║]*(?:\\n.*){0,3}?\\n${edge.slice(1)}${pointer}\\s*\\d{1,2}[.):]`,
};
const otherChoice: Condition = { region: 'bottom', rows: 16, regex: `${edge}\\d{1,2}[.):]\\s+\\S` };

/** A question holds every message: Enter would answer it. */
const dialog = (
  id: string,
  priority: number,
  when: readonly Condition[],
  reason: string,
  rest: { readonly setup?: true } = {},
): ScreenRule => ({
  id: `custom.dialog.${id}`,
  source: 'screen',
  priority,
  when,
  claim: { state: 'needs_you', reason, ...rest },
  from: anyLive,
  // A row of a list that is being printed may look like one for a moment.
  holdMs: 200,
});

export const customRules: Ruleset = {
  harness: 'custom',
  version: 'custom/1',
  covers: null,
  authority: 'osc',
  unclearAfterMs: null,
  interrupt: { keys: ['C-c'] },
  screen: [
    dialog(
      'trust',
      98,
      [
        {
          region: 'bottom',
          rows: 24,
          regex:
            '([Dd]o you trust|[Tt]rust (this|the|these) (folder|directory|workspace|project|repository|files|authors|contents)).*',
        },
        {
          region: 'bottom',
          rows: 16,
          regex: `${edge}${pointer}?\\s*(\\d{1,2}[.):]\\s+)?(Yes|No|Trust|Don.t trust|Proceed|Continue|Exit)\\b`,
        },
      ],
      'asks whether the folder is trusted',
      { setup: true },
    ),
    dialog('asks', 96, [question, cursorOnChoice, otherChoice], 'asks: {what}'),
    dialog('choice', 94, [cursorOnChoice, otherChoice], 'a dialog waits for an answer'),
    dialog(
      'yes-no',
      92,
      [
        {
          region: 'last',
          regex:
            '(?<what>\\S.*?)\\s*([\\[(]\\s*([yY]|[yY]es|YES)\\s*[/|]\\s*([nN]|[nN]o|NO)(\\s*[/|][^)]{1,40})?\\s*[\\])]|\\b[yY]/[nN]\\b)\\s*[:?>]?\\s*$',
        },
      ],
      'asks: {what}',
    ),
    dialog(
      'secret',
      90,
      [{ region: 'last', regex: '\\b([Pp]assword|[Pp]assphrase|PASSWORD|PIN)\\b[^:]{0,80}:\\s*$' }],
      'asks for a password',
    ),
    dialog(
      'select',
      88,
      [
        {
          region: 'bottom',
          rows: 4,
          regex:
            '\\b([Ee]nter|ENTER|[Rr]eturn)\\b( key)?\\]? (to )?(select|confirm|continue|accept|approve|choose|proceed)\\b|[↵⏎] (to )?(select|confirm|continue)|[Pp]ress any key',
        },
      ],
      'a dialog waits for an answer',
    ),
    {
      id: 'custom.progress-working',
      source: 'screen',
      priority: 20,
      when: [{ region: 'progress', regex: '^[1-4]\\b' }],
      claim: { state: 'working' },
      from: ['starting', 'idle'],
      holdMs: 100,
    },
    {
      id: 'custom.progress-idle',
      source: 'screen',
      priority: 20,
      when: [{ region: 'progress', regex: '^0\\b' }],
      claim: { state: 'idle' },
      from: ['starting', 'working'],
      holdMs: 400,
    },
    {
      id: 'custom.title-spinner',
      source: 'title',
      priority: 10,
      when: [{ region: 'title', regex: '^[\\u2801-\\u28ff◐◓◑◒] ' }],
      claim: { state: 'working' },
      from: ['starting', 'idle'],
      holdMs: 100,
    },
  ],
  events: [
    { id: 'custom.prompt', source: 'osc', event: 'prompt', claim: { state: 'idle' } },
    { id: 'custom.command', source: 'osc', event: 'command', claim: { state: 'working' } },
    { id: 'custom.answered', source: 'osc', event: 'answered', claim: { state: 'working' }, from: ['needs_you'] },
    {
      id: 'custom.quiet',
      source: 'osc',
      event: 'quiet',
      claim: { state: 'idle', reason: 'quiet; this program does not report its state' },
      from: ['starting', 'working'],
    },
    {
      id: 'custom.printing',
      source: 'osc',
      event: 'printing',
      claim: { state: 'working', reason: 'printing; this program does not report its state' },
      from: ['starting', 'idle'],
    },
  ],
};
