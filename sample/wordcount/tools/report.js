// Counts the words of all texts with the built library and writes REPORT.md.
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

const at = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));

let library;
try {
  library = await import('../dist/wordcount.js');
} catch {
  console.log('no build yet, the report waits for it');
  process.exit(0);
}
const { countWords, topWords, words } = library;

const names = (await readdir(at('texts'))).filter((name) => name.endsWith('.txt')).sort();
const texts = await Promise.all(names.map((name) => readFile(at(`texts/${name}`), 'utf8')));
const rows = names.map((name, index) => {
  const counts = countWords(texts[index]);
  return `| ${name} | ${words(texts[index]).length} | ${counts.size} |`;
});
const top = topWords(countWords(texts.join('\n')), 5).map(({ word, count }) => `- ${word}: ${count}`);
const report = `# Words\n\n| text | words | different |\n|---|---|---|\n${rows.join('\n')}\n\nMost frequent:\n${top.join('\n')}\n`;

const before = await readFile(at('REPORT.md'), 'utf8').catch(() => '');
if (before !== report) await writeFile(at('REPORT.md'), report);
console.log(`${before === report ? 'REPORT.md is up to date' : 'wrote REPORT.md'}: ${names.length} texts`);
