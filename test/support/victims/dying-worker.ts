/** `dying-worker.ts <url> <key> <name>`: a worker that each of its jobs kills. */
import { startWorker } from '../../../src/programs/worker/worker.ts';

const [url = '', key = '', workerId = ''] = process.argv.slice(2);
await startWorker({
  url,
  key,
  workerId,
  random: () => 0,
  waitSeconds: 0,
  async run() {
    process.kill(process.pid, 'SIGKILL');
  },
}).ended;
