/** What a person reads while their computer is paired. Pure. */

import { skewWords } from '../../contracts/link/knows.ts';
import type { LocalPairing } from '../../contracts/link/local-pairing.ts';
import { clockTime, inCell } from '../words.ts';

/** Where to go and what to type. */
export function codeLines(pairing: LocalPairing): string[] {
  const { userCode = '', verificationUri = '', expiresAt = '' } = pairing;
  return [
    `  Open   ${inCell(verificationUri)}`,
    '         in any browser, on any computer or phone, and sign in there',
    `  Code   ${inCell(userCode)}   type it there`,
    `         valid until ${clockTime(expiresAt)}`,
  ];
}

/** A clock that is off is worked around, and told: what it shows and writes is wrong all the same. */
function clockLine({ clockBehindMs }: LocalPairing): string[] {
  const skew = skewWords(clockBehindMs === undefined ? undefined : -clockBehindMs);
  return skew === null ? [] : [`  Clock     ${skew} its cloud's: set the time of this computer`];
}

export function statusLines(pairing: LocalPairing, names: { readonly gantry: string }): string[] {
  const clock = clockLine(pairing);
  const problem = pairing.problem === undefined ? [] : [inCell(pairing.problem)];
  if (pairing.state === 'waiting')
    return [`Waiting for your approval at ${pairing.cloudUrl}.`, '', ...codeLines(pairing), ...clock];
  if (pairing.state === 'unpaired') {
    return ['This computer is not paired.', ...problem, `Pair it: ${names.gantry} pair <cloud address>`];
  }
  const { cloudUrl, user, computerId, link } = pairing;
  const state = link === undefined ? [] : [`  Link      ${link.linked ? 'up' : 'down'} since ${clockTime(link.since)}`];
  const isRefused = link?.linked === false && problem.length > 0;
  return [
    isRefused ? 'This computer is paired, but its link is down.' : 'This computer is paired.',
    '',
    `  Cloud     ${cloudUrl}`,
    `  Person    ${inCell(user?.name ?? '')} (${inCell(user?.id ?? '')})`,
    `  Computer  ${computerId}`,
    ...state,
    ...clock,
    ...problem,
  ];
}
