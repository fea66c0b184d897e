/** `gantry backup` and `gantry restore` as data. */
import type { Verb } from '../command.ts';

export const backup: Verb = {
  name: 'backup',
  args: '[file]',
  about: 'Back up everything that cannot be recreated to one file, while Gantry runs',
  more: 'It has databases, settings, keys, recordings, and the .gantry of each workspace (teams, templates, policy, proofs). It leaves out\nrepositories, worktrees, terminal output and logs. Only you can read the file; it has the keys that open your secrets.\ndocs/operating.md says how to restore it.',
  options: [{ flags: '--without-secrets', about: 'leave keys, tokens and the pairing out' }],
  mutation: true,
  load: () => import('./backup.ts').then((m) => m.backup),
};

export const restore: Verb = {
  name: 'restore',
  args: '<file>',
  about: 'Restore a backup; existing data is moved aside, never deleted',
  more: 'Gantry must not be running, except for --dry-run. The whole backup is checked before anything is changed. On another computer, pair it again afterwards.',
  options: [{ flags: '--salvage', about: 'restore the intact parts of a damaged backup' }],
  mutation: true,
  load: () => import('./restore.ts').then((m) => m.restore),
};
