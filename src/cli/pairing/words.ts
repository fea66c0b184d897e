/** What a person reads while their computer is paired. Pure. */
import type { LocalPairing } from '../../contracts/link/local-pairing.ts';
import { clockTime, harmless } from '../words.ts';

/** Where to go and what to type. What the cloud sent is shown harmless. */
export function codeLines(pairing: LocalPairing): string[] {
  const { userCode = '', verificationUri = '', verificationUriComplete = '', expiresAt = '' } = pairing;
  return [
    `  Open   ${harmless(verificationUriComplete)}`,
    '         in any browser, on any computer or phone, and sign in there',
    `  Code   ${harmless(userCode)}   compare it with what the page shows, or type it at ${harmless(verificationUri)}`,
    `         good until ${clockTime(expiresAt)}`,
  ];
}

export function statusLines(pairing: LocalPairing, names: { readonly gantry: string }): string[] {
  const problem = pairing.problem === undefined ? [] : [harmless(pairing.problem)];
  if (pairing.state === 'waiting') return [`Waiting to be let in at ${pairing.cloudUrl}.`, '', ...codeLines(pairing)];
  if (pairing.state === 'unpaired') {
    return ['This computer is not paired.', ...problem, `Pair it: ${names.gantry} pair <address of a cloud>`];
  }
  const { cloudUrl, user, computerId, link } = pairing;
  const state = link === undefined ? [] : [`  Link      ${link.linked ? 'up' : 'down'} since ${clockTime(link.since)}`];
  return [
    'This computer is paired.',
    '',
    `  Cloud     ${cloudUrl}`,
    `  Person    ${harmless(user?.name ?? '')} (${harmless(user?.id ?? '')})`,
    `  Computer  ${computerId}`,
    ...state,
    ...problem,
  ];
}
