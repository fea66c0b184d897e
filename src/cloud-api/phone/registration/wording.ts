/**
 * Words in a form that carriers refuse: link shorteners, Social Security numbers, a company form in a sole proprietor's name; and those that they
 * often refuse. Pure.
 */

/** Their links hide their targets; carriers refuse every campaign that has one. */
const shorteners = [
  'bit.ly',
  'bitly.com',
  'bl.ink',
  'buff.ly',
  'cutt.ly',
  'goo.gl',
  'is.gd',
  'j.mp',
  'lnkd.in',
  'ow.ly',
  'rb.gy',
  'rebrand.ly',
  's.id',
  'short.gy',
  'short.io',
  'shorturl.at',
  'soo.gd',
  't.co',
  't.ly',
  'tiny.cc',
  'tinyurl.com',
  'trib.al',
  'v.gd',
];
const shortener = new RegExp(
  `(?<![\\w.@-])(?<![^/]/)(?:www\\.)?(${shorteners.map((host) => host.replace('.', '\\.')).join('|')})(?![\\w-]|\\.\\w)`,
  'i',
);

/** The host of a link shortener in `text`; null: none. */
export function shortenerIn(text: string): string | null {
  return shortener.exec(text)?.[1]?.toLowerCase() ?? null;
}

/** A Social Security number as people write it. Nine digits in a row may be an EIN. */
const ssn = /(?<!\d)(?!000|666|9\d\d)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?!\d)/;

export function hasSsn(text: string): boolean {
  return ssn.test(text);
}

const company = /(?:^|[\s,])(L\.?L\.?C|Inc|Incorporated|Corp|Corporation|Ltd|Limited|L\.?L\.?P|PLLC)\.?(?=$|[\s,])/i;

/** A company form in a name, which a sole proprietor does not have; null: none. */
export function companyFormIn(name: string): string | null {
  return company.exec(name)?.[1] ?? null;
}

/** SHAFT, and the subjects that carriers treat alike: some refuse them outright, others allow them behind an age gate. */
const risky: readonly (readonly [string, RegExp])[] = [
  ['sex', /\b(?:sex(?:y|ual)?|porn\w*|adult (?:content|entertainment)|escorts?|erotic\w*)\b/i],
  ['hate', /\b(?:hate|nazis?|white power)\b/i],
  ['alcohol', /\b(?:alcohol\w*|beers?|wines?|whiske?y|vodka|liquors?|brewer(?:y|ies)|happy hour)\b/i],
  ['firearms', /\b(?:firearms?|guns?|rifles?|pistols?|ammo|ammunition)\b/i],
  ['tobacco', /\b(?:tobacco|cigar(?:ette)?s?|vap(?:e|es|ing)|nicotine|hookah)\b/i],
  ['cannabis', /\b(?:cannabis|marijuana|weed|cbd|thc|dispensar(?:y|ies)|kratom)\b/i],
  ['gambling', /\b(?:gambl\w*|casinos?|betting|sportsbook|poker|slots|lotter(?:y|ies))\b/i],
  ['lending', /\b(?:payday|cash advance|debt (?:relief|collection)|loan offers?|credit repair)\b/i],
];

/** Which of those subjects `text` mentions, with the word that matched. */
export function riskyIn(text: string): readonly { readonly subject: string; readonly word: string }[] {
  return risky.flatMap(([subject, words]) => {
    const word = words.exec(text)?.[0];
    return word === undefined ? [] : [{ subject, word }];
  });
}
