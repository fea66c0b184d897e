/**
 * Adapters that are broken in one way each, for the test that the kit would see it. A twin changes what the rest of Gantry gets of an adapter, and
 * nothing else.
 */
import type { HarnessBot, Harnesses, Outgoing } from '../../../src/runtime-server/harness/harness.ts';
import type { RowName } from './rows.ts';

interface Twin {
  /** What it does. */
  readonly name: string;
  /** The one row that has to fail. */
  readonly breaks: RowName;
  readonly change: (harnesses: Harnesses) => Harnesses;
}

const ofBot =
  (wrap: (bot: HarnessBot) => Partial<HarnessBot>) =>
  (harnesses: Harnesses): Harnesses => ({
    ...harnesses,
    attach(spec, paneId) {
      const bot = harnesses.attach(spec, paneId);
      return { ...bot, ...wrap(bot) };
    },
  });

const ofMessage = (change: (message: Outgoing) => Partial<Outgoing>) =>
  ofBot((bot) => ({ deliver: (message) => bot.deliver({ ...message, ...change(message) }) }));

const ofText = (change: (text: string) => string) => ofMessage(({ text }) => ({ text: change(text) }));

const gateOpens = (bot: HarnessBot): Promise<void> =>
  new Promise((resolve) => {
    if (bot.gate().open) return resolve();
    const stop = bot.onGate(() => {
      stop();
      resolve();
    });
  });

export const twins: readonly Twin[] = [
  {
    name: 'tells nobody that it works',
    breaks: 'states',
    change: ofBot((bot) => ({
      onState: (listener) =>
        bot.onState((state) => {
          if (state.state !== 'working') listener(state);
        }),
    })),
  },
  {
    name: 'loses what its submit hook says',
    breaks: 'witness',
    change: ofBot((bot) => ({
      hook: (event, payload, signal) =>
        bot.hook(event, event === 'UserPromptSubmit' ? { ...payload, prompt: '' } : payload, signal),
    })),
  },
  {
    name: 'gives a message twice that was held before',
    breaks: 'ten while busy',
    change: ofBot((bot) => {
      const held = new Set<string>();
      return {
        async deliver(message) {
          const result = await bot.deliver(message);
          if (result.state === 'held') held.add(message.deliveryId);
          else if (held.delete(message.deliveryId)) {
            await gateOpens(bot);
            await bot.deliver(message);
          }
          return result;
        },
      };
    }),
  },
  {
    name: 'says that a message was taken while a question stood',
    breaks: 'dialog holds',
    change: ofBot((bot) => ({
      async deliver(message) {
        const asks = bot.state().state === 'needs_you';
        const result = await bot.deliver(message);
        return asks ? { state: 'verified', evidence: 'composer' } : result;
      },
    })),
  },
  {
    name: 'presses no key, and says that the turn has ended',
    breaks: 'interrupt',
    change: ofBot(() => ({ interrupt: async () => ({ ended: true, keys: ['Escape'] }) })),
  },
  {
    name: 'forgets which conversation it had',
    breaks: 'resume',
    change: (harnesses) => ({
      ...harnesses,
      prepare: (spec, paths) => harnesses.prepare({ ...spec, resume: false }, paths),
    }),
  },
  {
    name: 'does not read its transcripts',
    breaks: 'usage',
    change: (harnesses) => ({ ...harnesses, usage: async () => null }),
  },
  { name: 'eats what joins emoji', breaks: 'unicode', change: ofText((text) => text.replaceAll('\u200d', '')) },
  { name: 'composes characters', breaks: 'unicode', change: ofText((text) => text.normalize('NFC')) },
  { name: 'cuts at 16 kB', breaks: '20 kB', change: ofText((text) => text.slice(0, 16 * 1024)) },
  { name: 'joins lines', breaks: 'multi-line', change: ofText((text) => text.replaceAll('\n', ' ')) },
  { name: 'leaves out the line of the sender', breaks: 'command signs', change: ofMessage(() => ({ raw: true })) },
  {
    name: 'clears a draft that is in its way',
    breaks: 'draft',
    change: ofBot((bot) => ({
      async deliver(message) {
        const gate = bot.gate();
        if (!gate.open && gate.why === 'draft') {
          await bot.input({ keys: ['C-u'] });
          await gateOpens(bot);
        }
        return bot.deliver(message);
      },
    })),
  },
];
