/**
 * A number's answers to STOP, START and HELP, in the same words as are filed with the carriers: 20 to 320 characters of GSM-7 (255 for HELP), so that
 * no carrier refuses them. Pure.
 */
import type { RegistrationForm } from '../../../contracts/phone/registration.ts';

export interface Replies {
  readonly stop: string;
  readonly start: string;
  readonly help: string;
}

/** The keywords of a number. The carriers get the same ones. */
export const keywords = {
  stop: ['STOP', 'STOPALL', 'UNSUBSCRIBE', 'CANCEL', 'END', 'QUIT'],
  start: ['START', 'UNSTOP'],
  help: ['HELP'],
} as const;

/** Limit of a name in a text; a longer one would push out the required words. */
const maxNameLength = 50;
const maxContactLength = 80;

/** `form`: of its registration, if it has one. */
export function repliesOf(number: { readonly e164: string }, form: RegistrationForm | null): Replies {
  const name = gsm7(form?.brandName ?? form?.legalName ?? '', maxNameLength) || number.e164;
  const contact =
    gsm7(form?.contactEmail ?? form?.contactPhone ?? form?.website ?? '', maxContactLength) || number.e164;
  return {
    stop: `${name}: You have opted out and get no more texts from this number. Reply START to get texts again.`,
    start: `${name}: You get texts from this number. Msg frequency varies. Msg & data rates may apply. Reply HELP for help, STOP to opt out.`,
    help: `${name}: This number answers people who text it first. Help: ${contact}. Msg & data rates may apply. Reply STOP to opt out.`,
  };
}

/** Only letters that count once in GSM-7; removes unknown accents and characters without an equivalent. */
const notGsm7 = /[^ !"#$%&'()*+,\-./0-9:;<=>?@A-Z_a-zÄÅÆÇÉÑÖØÜßàäåæèéìñòöøùü]/gu;

function gsm7(text: string, maxLength: number): string {
  return text
    .replace(/[‘’]/g, "'")
    .replace(/[“”]/g, '"')
    .replace(/[–—]/g, '-')
    .replace(notGsm7, (mark) => mark.normalize('NFKD').replace(notGsm7, ''))
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, maxLength)
    .trim();
}
