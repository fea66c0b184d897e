/** A program that serves a child and waits to be killed: `served-runtime.ts <file for the pid> <argv…>`. */
import { writeFileSync } from 'node:fs';
import { startServedProcess } from '../../../src/kit/process/served-process.ts';

const [file, ...command] = process.argv.slice(2) as [string, string, ...string[]];
const child = await startServedProcess({ command: command as [string, ...string[]] });
writeFileSync(file, String(child.pid));
setInterval(() => {}, 1000);
