/**
 * The thread that watches the conversion program from inside: ends it when its parent is gone, or when it takes too much memory, buffers included,
 * which V8's own cap does not count. It is text, because a thread needs a separate program.
 */
import { largestProcess } from './limits.ts';
import { lastWords } from './protocol.ts';

const everyMs = 100;

export const watchSource = `
const { workerData } = require('node:worker_threads');
const { writeSync } = require('node:fs');
const end = (words) => {
  try { writeSync(2, words + '\\n'); } catch {}
  process.kill(process.pid, 'SIGKILL');
};
setInterval(() => {
  if (process.memoryUsage.rss() > ${largestProcess}) end(${JSON.stringify(lastWords.memory)});
  if (process.ppid !== workerData.parent) end(${JSON.stringify(lastWords.orphan)});
}, ${everyMs});
`;
