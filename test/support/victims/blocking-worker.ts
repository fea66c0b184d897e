/** `blocking-worker.ts <url> <key> <ms>`: a worker whose one job blocks its thread for so long. */
import { startWorker } from '../../../src/programs/worker/worker.ts';

const [url = '', key = '', ms = '0'] = process.argv.slice(2);
const worker = startWorker({
  url,
  key,
  workerId: 'blocking',
  untilEmpty: true,
  random: () => 0,
  async run() {
    process.stdout.write('blocking\n');
    await new Promise((resolve) => setTimeout(resolve, 50));
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(ms));
    return 'done';
  },
});
await worker.ended;
