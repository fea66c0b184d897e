/** Explains why a text did not arrive, in words that say what to do. Pure. */

const words: Readonly<Record<string, string>> = {
  '40001': 'That is a landline, which cannot receive texts.',
  '40002': 'The carrier flagged it as spam. Reword it, without links that look like advertising.',
  '40003': 'The carrier flagged it as spam and blocks this number for now. Write to fewer people, in other words.',
  '40006': 'Their carrier refused it. Nothing can be done from here.',
  '40008': 'It could not be delivered: the phone may be off or out of reach.',
  '40009': 'Its content is not allowed by their carrier.',
  '40010': 'The number is not registered for texting there yet. See its registration.',
  '40011': 'Too many texts at once for this registration.',
  '40012': 'Their carrier does not accept this kind of text.',
  '40014': 'It waited too long at the carrier and was dropped.',
  '40016': 'The registration’s limit of texts per minute was reached.',
  '40017': 'Their carrier (AT&T) flagged it as spam. Reword it.',
  '40018': 'The registration’s limit of texts per day was reached.',
  '40019': 'The carrier did not accept the data that came with it.',
  '40020': 'The carrier saw artificial traffic and blocks this destination for 24 hours.',
  '40300': 'They said STOP to the carrier. They have to send START first.',
  '40301': 'The carrier does not accept this kind of text from this number.',
  '40302': 'It has more parts than the carrier allows.',
  '40305': 'The number is not set up for texts at the carrier.',
  '40309': 'Texts to that country are not allowed.',
  '40310': 'The carrier does not know that number.',
  '40312': 'The number’s profile is turned off at the carrier.',
  '40314': 'Texting is turned off for the carrier account.',
  '40315': 'The carrier suspended the number because too many of its texts were refused.',
  '40318': 'The carrier’s queue for this number is full.',
  '40319': 'The carrier does not accept this kind of text from this number.',
  '40320': 'The number is not ready at the carrier yet.',
  '40322': 'The carrier refused its content.',
  '40328': 'It is too long.',
  '40329': 'The toll-free number is not verified yet. See its registration.',
  '40330': 'The toll-free number is not set up for texts yet.',
  '40331': 'No destination is allowed for this number.',
  '40333': 'The carrier’s spending limit was reached.',
  '10009': 'The carrier does not accept the key of this Gantry.',
  '10011': 'Too many requests at once.',
  '20012': 'The carrier account has too little money.',
  '20100': 'The carrier account has too little money.',
};

/** `said`: the carrier's own words, for codes not listed here. */
export function deliveryReason(code: string, said: string): string {
  const known = words[code];
  if (known !== undefined) return `${known} (${code})`;
  return code === '' ? said : `${said.replace(/\.?$/, '.')} (${code})`;
}

/** It may be sent a little later. */
export const isRate = (code: string): boolean => code === '10011' || code === '40318' || code === '429';
