/**
 * Removes secrets and control characters from text for a log. This is the second safeguard: the first is that only named fields are logged at all.
 * Pure.
 */

const shapes: readonly [RegExp, string][] = [
  [/\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{8,}/gi, '$1 [secret]'],
  // JSON Web Tokens.
  [/\beyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]*/g, '[secret]'],
  // Prefixed keys of common vendors, and our own.
  [
    /\b(sk|pk|rk|whsec|ghp|gho|ghs|ghu|github_pat|xox[abprs]|glpat|npm|gantry|AIza|AKIA)[-_]?[A-Za-z0-9_-]{16,}/g,
    '[secret]',
  ],
  // Values of parameters and members with telling names, in URLs, JSON and prose.
  [
    /((?:api[-_]?key|access[-_]?key|token|secret|password|passwd|authorization|cookie|code|sig|signature)["']?\s*[=:]\s*["']?)[^\s"'&,;}]{6,}/gi,
    '$1[secret]',
  ],
  // Telephone numbers keep their last four digits.
  [/\+\d{4,11}(\d{4})\b/g, '+…$1'],
];

// C0 except tab, DEL, C1, bidirectional controls: they would act on the terminal of the log's reader.
const controls = /[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** `known`: secrets in use, removed at any place. */
export function scrub(text: string, known: readonly string[] = []): string {
  let clean = text.replace(controls, ' ');
  for (const secret of known) {
    if (secret.length >= 8) clean = clean.replaceAll(secret, '[secret]');
  }
  for (const [shape, instead] of shapes) clean = clean.replace(shape, instead);
  return clean;
}
