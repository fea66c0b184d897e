/** The words of `gantry accounts`. */
import type { Part } from '../command.ts';
import { plain } from '../plain.ts';

export const accounts: Part = {
  name: 'accounts',
  about: 'Several sign-ins of an agent program, each with a name',
  verbs: [
    plain('listAccounts', {
      name: 'ls',
      about: 'List accounts: whether each is signed in, its usage limit, and the bots that use it',
      load: () => import('./accounts.ts').then((m) => m.list),
    }),
    plain('addAccount', {
      name: 'add',
      args: '<program> <account>',
      about: 'Add an account and sign in to it with the program’s own sign-in',
      more: 'The sign-in runs in a terminal of the team sign-in and, where there is one, is shown in yours; Ctrl-] leaves it running.\nA bot uses the account that its team file names: account: work, or accounts: [work, private].',
      load: () => import('./accounts.ts').then((m) => m.add),
    }),
    plain('signInAccount', {
      name: 'sign-in',
      args: '<program> <account>',
      about: 'Sign in to an account again',
      load: () => import('./accounts.ts').then((m) => m.signIn),
    }),
    plain('removeAccount', {
      name: 'remove',
      args: '<program> <account>',
      about: 'Remove an account with its folder; refused while a bot uses it',
      load: () => import('./accounts.ts').then((m) => m.remove),
    }),
  ],
};
