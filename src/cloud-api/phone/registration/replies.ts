/**
 * What a number answers to STOP, START and HELP, in the same words as are filed with the carriers: 20 to 320 characters
 * of GSM-7 (255 for HELP), so that no carrier refuses them. Pure.
 */
import type { RegistrationForm } from '../../../contracts/phone/registration.ts';

export interface Replies {
  readonly stop: string;
  readonly start: string;
  readonly help: string;
}

/** The keywords of a number. The carriers are told the same. */
export const keywords = {
  stop: ['STOP', 'STOPALL', 'UNSUBSCRIBE', 'CANCEL', 'END', 'QUIT'],
  start: ['START', 'UNSTOP'],
  help: ['HELP'],
} as const;

/** Of a name in a text; longer ones would push what must be said out of it. */
const longestName = 50;
const longestContact = 80;

/** `form`: of its registration, where it has one. */
export function repliesOf(number: { readonly e164: string }, form: RegistrationForm | null): Replies {
  const name = gsm7(form?.brandName ?? form?.legalName ?? '', longestName) || number.e164;
  const contact = gsm7(form?.contactEmail ?? form?.contactPhone ?? form?.website ?? '', longestContact) || number.e164;
  return {
    stop: `${name}: You have opted out and get no more texts from this number. Reply START to get texts again.`,
    start: `${name}: You get texts from this number. Msg frequency varies. Msg & data rates may apply. Reply HELP for help, STOP to opt out.`,
    help: `${name}: This number answers people who text it first. Help: ${contact}. Msg & data rates may apply. Reply STOP to opt out.`,
  };
}

/** Of the alphabet's letters that count once; accents that it does not have go, as does what has no letter in it. */
const notGsm7 = /[^ !"#$%&'()*+,\-./0-9:;<=>?@A-Z_a-zÄÅÆÇÉÑÖØÜßàäåæèéìñòöøùü]/gu;

function gsm7(text: string, longest: number): string {
  return text
    .replace(/[‘’]/g, "'")
    .replace(/[“”]/g, '"')
    .replace(/[–—]/g, '-')
    .replace(notGsm7, (mark) => mark.normalize('NFKD').replace(notGsm7, ''))
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, longest)
    .trim();
}
