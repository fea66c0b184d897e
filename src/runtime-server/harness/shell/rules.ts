/** What our bash reports about itself by private OSC (see `start-file.ts`). Data only. */
import type { Ruleset } from '../judge/rules.ts';

export const shellRules: Ruleset = {
  harness: 'shell',
  version: 'shell/1',
  // PS0 and READLINE_LINE as we use them: bash 4.4.
  covers: { from: '4.4', below: '6' },
  authority: 'osc',
  unclearAfterMs: null,
  interrupt: { keys: ['C-c'] },
  screen: [],
  events: [
    { id: 'shell.ready', source: 'osc', event: 'ready', where: { status: '^0$' }, claim: { state: 'idle' } },
    {
      id: 'shell.ready-after-failure',
      source: 'osc',
      event: 'ready',
      claim: { state: 'idle', reason: 'the last command ended with exit code {status}' },
    },
    { id: 'shell.start', source: 'osc', event: 'start', claim: { state: 'working' } },
    {
      id: 'shell.more',
      source: 'osc',
      event: 'more',
      claim: { state: 'needs_you', reason: 'the shell waits for the rest of an unfinished command' },
    },
    { id: 'shell.took', source: 'osc', event: 'took', claim: null },
    { id: 'shell.draft', source: 'osc', event: 'draft', claim: null },
  ],
};
