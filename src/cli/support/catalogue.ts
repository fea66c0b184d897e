/** The words of `gantry support`. */
import type { Part } from '../command.ts';

export const support: Part = {
  name: 'support',
  about: 'Collect what helps to find a fault',
  verbs: [
    {
      name: 'bundle',
      about: 'Write versions, checks, counts and logs into one text file to read and send',
      more: 'The file has no secrets, prompts, messages, phone numbers or e-mail addresses; ids are shortened. Gantry sends it nowhere:\nread it, then attach it yourself. Works also while Gantry is stopped. docs/operating.md says what is in it.',
      options: [
        {
          flags: '--out <file>',
          about: 'where to write it; - prints it (default: gantry-support-<time>.txt in this folder)',
        },
      ],
      load: () => import('./bundle.ts').then((m) => m.bundle),
    },
  ],
};
