/**
 * `queue-driver.ts <origin> <key> <workers> <number>`: workers of the queue that do nothing with their tasks, as lean as they can be. Reads
 * `create <n> <word>` and `cycle <n> <word>` from stdin; answers `done <word>`.
 */
import { createInterface } from 'node:readline';
import { createCaller } from '../bench/http.ts';

const [origin = '', key = '', workers = '1', number = '0'] = process.argv.slice(2);
const caller = createCaller(origin, key);

async function cycle(worker: string): Promise<void> {
  await caller.call('POST', '/beta/work', { payload: { command: 'true' } });
  const { task } = await caller.call<{ task: { id: string } | null }>('GET', `/beta/work/queue?worker_id=${worker}`);
  if (task === null) throw new Error('Nothing was leased.');
  await caller.call('POST', `/beta/work/${task.id}/ack`, { worker_id: worker, result: { exit_code: 0 } });
}

process.stdout.write('ready\n');
for await (const line of createInterface({ input: process.stdin })) {
  const [command, count, word] = line.split(' ');
  let left = Number(count);
  await Promise.all(
    Array.from({ length: Number(workers) }, async (_, lane) => {
      while (left > 0) {
        left -= 1;
        if (command === 'create') await caller.call('POST', '/beta/work', { payload: { command: 'true' } });
        else await cycle(`w${number}-${lane}`);
      }
    }),
  );
  process.stdout.write(`done ${word}\n`);
}
