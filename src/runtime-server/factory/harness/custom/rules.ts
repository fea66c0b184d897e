/**
 * What a program of which nothing is known may still say: shell marks, progress, a spinner in its title (factory.md 2.2).
 * Data only. Without any of these the driver goes by output alone.
 */
import type { Ruleset } from '../judge/rules.ts';

export const customRules: Ruleset = {
  harness: 'custom',
  version: 'custom/1',
  covers: null,
  authority: 'osc',
  unclearAfterMs: null,
  screen: [
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
