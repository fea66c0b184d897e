/** A tool server on stdin and stdout: `stdio.ts <behaviour> [file for its pid]`. */
import { appendFileSync, writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { createBehaviour, type Json } from './behave.ts';

const [kind = 'usual', file] = process.argv.slice(2);
if (file !== undefined) appendFileSync(file, `${process.pid}\n`);
if (kind === 'dies-at-once') {
  writeSync(2, 'The configuration is missing.\n');
  process.exit(3);
}
const behave = createBehaviour(kind, {
  send: (message) => process.stdout.write(`${JSON.stringify(message)}\n`),
  raw: (text) => process.stdout.write(text),
  die: (code) => {
    writeSync(2, 'I am dying.\n');
    process.exit(code);
  },
});
// One that does not care that nobody writes to it any more.
if (kind === 'stays') setInterval(() => {}, 1000);
createInterface({ input: process.stdin }).on('line', (line) => behave(JSON.parse(line) as Json));
