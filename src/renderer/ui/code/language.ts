/** The language of a file by its name, as `colours.ts` calls it. Pure. */

const byEnding: Readonly<Record<string, string>> = {
  c: 'c',
  h: 'c',
  cc: 'cpp',
  cpp: 'cpp',
  cxx: 'cpp',
  hpp: 'cpp',
  cs: 'csharp',
  css: 'css',
  diff: 'diff',
  patch: 'diff',
  go: 'go',
  html: 'html',
  htm: 'html',
  ini: 'ini',
  cfg: 'ini',
  java: 'java',
  js: 'javascript',
  mjs: 'javascript',
  cjs: 'javascript',
  json: 'json',
  jsonc: 'json',
  jsx: 'jsx',
  kt: 'kotlin',
  kts: 'kotlin',
  lua: 'lua',
  mk: 'make',
  md: 'markdown',
  mdx: 'markdown',
  php: 'php',
  py: 'python',
  rb: 'ruby',
  rs: 'rust',
  scss: 'scss',
  sh: 'shell',
  bash: 'shell',
  zsh: 'shell',
  sql: 'sql',
  swift: 'swift',
  toml: 'toml',
  tsx: 'tsx',
  ts: 'typescript',
  mts: 'typescript',
  cts: 'typescript',
  xml: 'xml',
  svg: 'xml',
  yml: 'yaml',
  yaml: 'yaml',
};

const byName: Readonly<Record<string, string>> = {
  dockerfile: 'docker',
  makefile: 'make',
  gemfile: 'ruby',
  rakefile: 'ruby',
  '.bashrc': 'shell',
  '.zshrc': 'shell',
  '.profile': 'shell',
};

/** Null: shown without colours. */
export function languageOf(path: string): string | null {
  const name = (path.split('/').at(-1) ?? '').toLowerCase();
  if (Object.hasOwn(byName, name)) return byName[name] ?? null;
  const ending = /\.([^.]+)$/.exec(name)?.[1] ?? '';
  return Object.hasOwn(byEnding, ending) ? (byEnding[ending] ?? null) : null;
}
