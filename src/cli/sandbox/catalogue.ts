/** The words of `gantry sandbox`. */
import type { Part } from '../command.ts';
import { plain } from '../plain.ts';

export const sandbox: Part = {
  name: 'sandbox',
  about: 'Try what the sandboxes of bots hold',
  verbs: [
    plain('trySandbox', {
      name: 'try',
      args: '<team>',
      about: 'Try from inside what each bot of a team can reach, read, change and spend',
      more: 'A small program runs in each bot’s sandbox, as the bot’s own program would. It opens no file, changes nothing and sends nothing:\nit asks the system what would be allowed, and connects to destinations and hangs up.',
      filled: ['name'],
      load: () => import('./try.ts').then((m) => m.tryOut),
    }),
  ],
};
