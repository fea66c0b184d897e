/**
 * The description of the opt-in for carriers: generated, never taken from the form. There is one way to opt in: the person saw the page and texts
 * first. Pure.
 */
import type { CheckedForm } from './form.ts';

interface Links {
  /** The page that shows how to opt in: the business's own, or the hosted one. */
  readonly optInUrl: string;
  readonly termsUrl: string;
  readonly privacyUrl: string;
}

/** The limit of a toll-free verification; a campaign's is 2048. */
export const maxTollFreeFlowLength = 500;

/** `origin` of this cloud, without a slash at the end. */
export function linksOf(
  form: Pick<CheckedForm, 'optInPageUrl' | 'termsUrl' | 'privacyUrl'>,
  numberId: string,
  origin: string,
): Links {
  const hosted = `${origin}/sms/${numberId}`;
  return {
    optInUrl: form.optInPageUrl || hosted,
    termsUrl: form.termsUrl || `${hosted}#terms`,
    privacyUrl: form.privacyUrl || `${hosted}#privacy`,
  };
}

export function messageFlowOf(e164: string, { optInUrl, termsUrl, privacyUrl }: Links): string {
  return [
    `There is one way to opt in: people see ${e164} on ${optInUrl}, which tells the program, and text the number first.`,
    'Nobody else is texted.',
    'The page says: message frequency varies, msg & data rates may apply, STOP ends the texts, START resumes them, HELP gets help.',
    `Terms: ${termsUrl} Privacy: ${privacyUrl}`,
  ].join(' ');
}
