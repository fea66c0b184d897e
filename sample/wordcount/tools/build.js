// Puts the sources into one file without imports, dist/wordcount.js, and checks that it loads.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';

const at = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));

/** Modules in the order in which they need each other. */
const modules = ['words', 'count', 'top'];

const parts = await Promise.all(
  modules.map(async (name) => {
    const source = await readFile(at(`src/${name}.js`), 'utf8');
    return source.replace(/^import .*\n+/gm, '').trim();
  }),
);
const output = `${parts.join('\n\n')}\n`;
await mkdir(at('dist'), { recursive: true });
await writeFile(at('dist/wordcount.js'), output);

const built = await import(`${pathToFileURL(at('dist/wordcount.js')).href}?at=${Date.now()}`);
const missing = ['words', 'countWords', 'topWords'].filter((name) => typeof built[name] !== 'function');
if (missing.length > 0) {
  console.error(`dist/wordcount.js lacks ${missing.join(', ')}`);
  process.exit(1);
}
console.log(`built dist/wordcount.js, ${output.length} bytes`);
