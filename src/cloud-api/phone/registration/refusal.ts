/** Explains a refusal of the carrier for the form: sentences, and the field that mends each. Pure. */
import type { CarrierFault } from '../carrier/port.ts';
import { withoutEins } from './ein.ts';
import { fieldOf } from './filing.ts';
import type { Problem } from './form.ts';

/** Carriers give the reasons for a failed campaign in prose. In this order: the first match counts. */
const subjects: readonly (readonly [RegExp, string])[] = [
  [/sample|message content/i, 'sampleMessages'],
  [/privacy/i, 'privacyUrl'],
  [/terms/i, 'termsUrl'],
  [/opt[- ]?in|call[- ]to[- ]action|message flow|\bCTA\b/i, 'optInPageUrl'],
  [/web ?site|\burl\b/i, 'website'],
  [/description/i, 'description'],
  [/use ?case/i, 'useCase'],
  [/\bein\b|tax id/i, 'ein'],
  [/address|street|postal/i, 'street'],
  [/legal name|company name|business name/i, 'legalName'],
];

/** These reasons lie outside a campaign's own fields: correcting it changes nothing, an appeal has it reviewed again. */
const outside = /web ?site|privacy|terms|page .*(?:not|cannot)|not (?:reachable|accessible|live)/i;

export const liesOutside = (reason: string) => outside.test(reason);

export function problemOf(text: string): Problem {
  const clean = withoutEins(text);
  return { field: subjects.find(([words]) => words.test(clean))?.[1] ?? null, text: clean };
}

export function problemsOfFault(fault: CarrierFault): Problem[] {
  const text = withoutEins(fault.message);
  const fields = [...new Set(fault.fields.map(fieldOf))].filter((field) => field !== null);
  return fields.length === 0 ? [problemOf(text)] : fields.map((field) => ({ field, text }));
}

export function problemsOfBrand(
  problems: readonly { readonly fields: readonly string[]; readonly text: string }[],
): Problem[] {
  const known = problems.flatMap(({ fields, text }) => {
    const clean = withoutEins(text);
    const named = [...new Set(fields.map(fieldOf))].filter((field) => field !== null);
    return named.length === 0 ? [problemOf(clean)] : named.map((field) => ({ field, text: clean }));
  });
  if (known.length > 0) return known;
  return [{ field: null, text: 'The carriers’ registry could not confirm the business and did not say why.' }];
}

/** In one line, each sentence once. */
export const sentencesOf = (problems: readonly Problem[]) => [...new Set(problems.map(({ text }) => text))].join(' ');
