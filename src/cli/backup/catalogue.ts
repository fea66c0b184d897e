/** `gantry backup` and `gantry restore` as data. */
import type { Verb } from '../command.ts';

export const backup: Verb = {
  name: 'backup',
  args: '[file]',
  about: 'Write everything that cannot be made again into one file, while Gantry runs',
  more: 'Databases, settings, keys, recordings, and of each workspace its .gantry (teams, templates, policy, proofs). Not in it: repositories,\nworktrees, what terminals have shown, logs. The file can be read by you alone and holds the keys that open your secrets.\ndocs/operating.md says how to restore it.',
  options: [{ flags: '--without-secrets', about: 'leave keys, tokens and the pairing out' }],
  mutation: true,
  load: () => import('./backup.ts').then((m) => m.backup),
};

export const restore: Verb = {
  name: 'restore',
  args: '<file>',
  about: 'Put a backup in place; what is there is moved aside, never deleted',
  more: 'Gantry must not be running, except for --dry-run. The whole backup is checked before anything is changed. On another computer it is not paired afterwards.',
  options: [{ flags: '--salvage', about: 'of a damaged backup take the parts that are whole' }],
  mutation: true,
  load: () => import('./restore.ts').then((m) => m.restore),
};
