/** Stands for a runtime that is killed while its conversion program works on a document without end: prints the program's pid. */
import { createConverter } from '../../../src/runtime-server/tool-server/documents/converter.ts';

const converter = createConverter({
  command: [process.execPath, process.argv[2] as string],
  after: (ms, effect) => {
    const timer = setTimeout(effect, ms);
    return () => clearTimeout(timer);
  },
});
// Brackets without end keep the program's one thread busy for long.
const bytes = Buffer.alloc(40 * 1024 * 1024, '[');
void converter
  .convert(
    { size: bytes.length, chunks: [bytes] },
    { filename: 'a.json', mimeType: '', family: null },
    new AbortController().signal,
  )
  .catch(() => {});
const told = setInterval(() => {
  const [pid] = converter.processes();
  if (pid === undefined) return;
  clearInterval(told);
  process.stdout.write(`${pid}\n`);
}, 10);
setInterval(() => {}, 1000);
