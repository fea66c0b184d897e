/** Colours of code, line by line. Loaded with the first file that has them, and of the languages only the one that it is in. */
import { createCssVariablesTheme, createHighlighterCore, type LanguageRegistration } from 'shiki/core';
import { createJavaScriptRegexEngine } from 'shiki/engine/javascript';

export interface Coloured {
  readonly text: string;
  /** Of CSS; null for the usual one. */
  readonly colour: string | null;
}

/** The theme of the page decides which colours these are (styles.css). */
const prefix = '--code-';
const theme = createCssVariablesTheme({ name: 'page', variablePrefix: prefix, fontStyle: false });
/** Lines that are coloured before the page has its turn. */
const portion = 200;
/** A longer line is machine-made, and takes long. Characters. */
const maxLineLength = 1000;

const languages: Readonly<Record<string, () => Promise<{ default: LanguageRegistration[] }>>> = {
  c: () => import('shiki/langs/c.mjs'),
  cpp: () => import('shiki/langs/cpp.mjs'),
  csharp: () => import('shiki/langs/csharp.mjs'),
  css: () => import('shiki/langs/css.mjs'),
  diff: () => import('shiki/langs/diff.mjs'),
  docker: () => import('shiki/langs/docker.mjs'),
  go: () => import('shiki/langs/go.mjs'),
  html: () => import('shiki/langs/html.mjs'),
  ini: () => import('shiki/langs/ini.mjs'),
  java: () => import('shiki/langs/java.mjs'),
  javascript: () => import('shiki/langs/javascript.mjs'),
  json: () => import('shiki/langs/jsonc.mjs'),
  jsx: () => import('shiki/langs/jsx.mjs'),
  kotlin: () => import('shiki/langs/kotlin.mjs'),
  lua: () => import('shiki/langs/lua.mjs'),
  make: () => import('shiki/langs/make.mjs'),
  markdown: () => import('shiki/langs/markdown.mjs'),
  php: () => import('shiki/langs/php.mjs'),
  python: () => import('shiki/langs/python.mjs'),
  ruby: () => import('shiki/langs/ruby.mjs'),
  rust: () => import('shiki/langs/rust.mjs'),
  scss: () => import('shiki/langs/scss.mjs'),
  shell: () => import('shiki/langs/shellscript.mjs'),
  sql: () => import('shiki/langs/sql.mjs'),
  swift: () => import('shiki/langs/swift.mjs'),
  toml: () => import('shiki/langs/toml.mjs'),
  tsx: () => import('shiki/langs/tsx.mjs'),
  typescript: () => import('shiki/langs/typescript.mjs'),
  xml: () => import('shiki/langs/xml.mjs'),
  yaml: () => import('shiki/langs/yaml.mjs'),
};

/** Passes on the lines in portions, in order, until the last one or until the signal aborts. */
export async function colour(
  text: string,
  language: string,
  tell: (lines: readonly (readonly Coloured[])[]) => void,
  signal: AbortSignal,
): Promise<void> {
  const grammars = (await languages[language]?.())?.default;
  // Its own comes after those that it uses.
  const lang = grammars?.at(-1)?.name;
  if (grammars === undefined || lang === undefined) return;
  const highlighter = await createHighlighterCore({
    themes: [theme],
    langs: grammars,
    engine: createJavaScriptRegexEngine({ forgiving: true }),
  });
  const lines = text.split('\n');
  let grammarState: ReturnType<typeof highlighter.getLastGrammarState> | undefined;
  for (let from = 0; from < lines.length && !signal.aborted; from += portion) {
    const tokens = highlighter.codeToTokensBase(lines.slice(from, from + portion).join('\n'), {
      lang,
      theme: 'page',
      tokenizeMaxLineLength: maxLineLength,
      ...(grammarState === undefined ? {} : { grammarState }),
    });
    grammarState = highlighter.getLastGrammarState(tokens);
    const usual = `var(${prefix}foreground)`;
    tell(
      tokens.map((line) =>
        line.map(({ content, color }) => ({ text: content, colour: color === usual ? null : (color ?? null) })),
      ),
    );
    await new Promise((resolve) => setTimeout(resolve));
  }
  highlighter.dispose();
}
