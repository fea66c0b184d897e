/** A page of a heading and a few sentences, for use before the web interface exists. */

export const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'cache-control': 'no-store',
  'cross-origin-resource-policy': 'same-origin',
} as const;

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (mark) => `&#${mark.charCodeAt(0)};`);
}

/** A page of one heading, a few paragraphs and perhaps a link; `code` in backticks is set as code. Texts are ours, values are escaped. */
export function plainPage(
  title: string,
  paragraphs: readonly string[],
  link?: { readonly href: string; readonly text: string },
): string {
  const text = paragraphs
    .map((paragraph) => `<p>${escapeHtml(paragraph).replace(/`([^`]+)`/g, '<code>$1</code>')}</p>`)
    .concat(link === undefined ? [] : `<p><a href="${escapeHtml(link.href)}">${escapeHtml(link.text)}</a></p>`)
    .join('\n');
  return page(title, text);
}

/** The same page around `html`, whose values the caller has escaped. */
export function page(title: string, html: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} · Gantry</title>
<style>
:root { color-scheme: light dark; background: canvas; color: canvastext; }
body { font: 14px/1.5 system-ui, sans-serif; margin: 12vh auto; max-width: 34rem; padding: 0 1.5rem; }
h1 { font-size: 1.25rem; }
code { font: 13px ui-monospace, monospace; padding: 0.1rem 0.3rem; border: 1px solid; border-radius: 4px; }
input, button { box-sizing: border-box; font: inherit; font-size: 16px; min-height: 44px; padding: 0 0.75rem; width: 100%; }
input[type='checkbox'] { min-height: 0; height: 24px; margin: 0 0.5rem 0 0; padding: 0; vertical-align: middle; width: 24px; }
body:has(table) { margin-block: 6vh; max-width: 52rem; }
h2 { font-size: 1rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; }
th, td { padding: 0.4rem 0.75rem 0.4rem 0; text-align: start; vertical-align: top; }
tr { border-bottom: 1px solid color-mix(in srgb, currentcolor 25%, transparent); }
td code { border: 0; padding: 0; overflow-wrap: anywhere; }
body:has(table) p code { white-space: nowrap; }
@media (max-width: 40rem) {
  thead { display: none; }
  tr { display: block; padding: 0.5rem 0; }
  td { display: block; padding: 0; }
}
</style>
</head>
<body>
<main>
<h1>${escapeHtml(title)}</h1>
${html}
</main>
</body>
</html>
`;
}
