/** The pages that identity shows: what went wrong, and what to do next. */
import { plainPage } from '../../kit/http/plain-page.ts';

export function spentCodePage(openCommand: string): string {
  return plainPage('This sign-in link no longer works', [
    'It was already used, or it is older than ten minutes. Each link works once.',
    `To get a new link, press Enter in the terminal where Gantry runs, or run \`${openCommand}\`.`,
  ]);
}

export function failedSignInPage(title: string, sentences: readonly string[]): string {
  return plainPage(title, sentences, { href: '/login', text: 'Sign in again' });
}

/** For the sign-in routes that this mode lacks: one-time addresses in a cloud of many, provider sign-in in one person's Gantry. */
export function otherWayPage(mode: 'embedded' | 'headless'): string {
  if (mode === 'headless') {
    return plainPage('Sign in to this Gantry', ['One-time links only open a Gantry on your own computer.'], {
      href: '/login',
      text: 'Sign in',
    });
  }
  return plainPage('This Gantry has no sign-in', [
    'It belongs to one person on one computer.',
    'To get in, press Enter in the terminal where Gantry runs, and open the new link.',
  ]);
}
