/** `keeping-worker.ts <url> <key> <spool>`: a worker whose jobs end at once. Says each thing that happens. */
import { openSpool } from '../../../src/programs/worker/spool.ts';
import { startWorker } from '../../../src/programs/worker/worker.ts';

const [url = '', key = '', folder = ''] = process.argv.slice(2);
await startWorker({
  url,
  key,
  workerId: 'w1',
  random: () => 0,
  waitSeconds: 0,
  spool: openSpool(folder, { key }),
  run: async ({ task }) => ({ of: task.id }),
  tell: (event) => console.log(event.kind),
}).ended;
