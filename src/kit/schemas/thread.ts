/** The thread in which other people's schemas are compiled and applied, one request at a time. Must not know who asks. */
import { parentPort } from 'node:worker_threads';
import { createCheck } from './check.ts';
import type { FromThread, ToThread } from './messages.ts';

const port = parentPort;
if (port === null) throw new Error('schema-checker runs as a thread.');
const tell = (message: FromThread) => port.postMessage(message);
const begin = () => {
  const { user, system } = process.threadCpuUsage();
  tell({ kind: 'begun', spentMs: (user + system) / 1000 });
};
const check = createCheck(begin);

port.on('message', (asked: ToThread) => tell({ kind: 'done', ...check(asked) }));
