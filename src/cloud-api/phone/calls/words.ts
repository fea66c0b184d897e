/** The sentences spoken on a call: who speaks, for whom, and that it is a machine. Pure. */
import type { CallRow, TransferEnding } from './model.ts';

/** Limit of a name or purpose that is read out. */
const maxLength = 200;

const plain = (text: string) => text.replace(/\s+/g, ' ').trim().slice(0, maxLength);

/** `+12025550123` digit by digit, as nobody follows a number of eleven places. */
const spokenNumber = (e164: string): string => e164.replace(/\D/g, '').split('').join(' ');

export interface Speaker {
  readonly botName: string | null;
  /** The registered business or person; null: none yet. */
  readonly brand: string | null;
}

function introduction({ botName, brand }: Speaker): string {
  const name = botName === null || plain(botName) === '' ? null : plain(botName);
  const of = brand === null || plain(brand) === '' ? '' : ` of ${plain(brand)}`;
  return name === null ? `This is an automated assistant${of}` : `This is ${name}, an automated assistant${of}`;
}

/** The first words of a call in either direction. */
export function greeting(
  { direction, purpose, ours }: Pick<CallRow, 'direction' | 'purpose' | 'ours'>,
  by: Speaker,
): string {
  const why =
    direction === 'out' && purpose !== null && purpose !== '' ? ` I am calling about: ${plain(purpose)}.` : '';
  const where = direction === 'out' ? `this number, ${spokenNumber(ours)},` : 'this number';
  return `Hello. ${introduction(by)}.${why} I answer by text message: please text ${where} and I will write back. Text STOP to be contacted no more.`;
}

/** Asks for the code on the page of an invite. */
export const codeDigits = 6;

/** To someone who agreed on an invite's page and now calls to prove that the phone is theirs. */
export function askForCode(by: Speaker): string {
  return `Hello. ${introduction(by)}. To agree to calls from this number, enter the six digits that the page shows you.`;
}

export const codeHeard = {
  right: 'Thank you. You agreed to be called from this number. Text STOP to it to end that.',
  wrong: 'That is not the code on the page. Please enter its six digits.',
  unvouched: 'Your carrier does not vouch for the number you call from. Please text the code to this number instead.',
} as const;

/** To the target of a transfer. */
export function question({ peer, purpose }: Pick<CallRow, 'peer' | 'purpose'>, by: Speaker): string {
  const who = /^\+\d+$/.test(peer) ? spokenNumber(peer) : 'Somebody without a number';
  const why =
    purpose === null || purpose === ''
      ? 'They called and would like to speak to you.'
      : `It is about: ${plain(purpose)}.`;
  return `${introduction(by)}. I have a call for you from ${who}. ${why} Press 1 to take it, or 2 to decline.`;
}

/** To someone who comes back from hold because nobody took the call. */
export const comeBack: Readonly<Record<TransferEnding, string>> = {
  declined: 'Thank you for waiting. They cannot take your call right now.',
  no_answer: 'Thank you for waiting. Nobody is answering.',
  busy: 'Thank you for waiting. The line is busy.',
  voicemail: 'Thank you for waiting. I only reached voicemail.',
  failed: 'Thank you for waiting. I could not connect you.',
  stopped: 'Thank you for waiting. I am not allowed to call them.',
};
