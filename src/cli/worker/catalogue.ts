/** The words of `gantry worker`. */
import type { Verb } from '../command.ts';

export const worker: Verb = {
  name: 'worker',
  stays: true,
  about: 'Run the commands of tasks in the work queue, in a sandbox where possible',
  more: 'The command of a task is its payload.command. GANTRY_URL and GANTRY_KEY_FILE are the same as --url and --key-file. The first\nCtrl-C lets it finish its tasks and take no new ones; the second ends it at once and says what it gave up. See docs/work-queue.md.',
  options: [
    { flags: '--url <url>', about: 'address of the queue, such as https://gantry.example' },
    { flags: '--key-file <file>', about: 'file with an API key that has the scope work' },
    { flags: '--name <name>', about: 'name of the worker (default: the host name and a random suffix)' },
    { flags: '--concurrency <n>', about: 'tasks at the same time, 1 to 256 (default 1)' },
    { flags: '--labels <list>', about: 'what this worker has, such as gpu=a100,zone=eu, for tasks that ask for it' },
    { flags: '--drain', about: 'end once the queue is empty and its tasks are done' },
    { flags: '--spool <folder>', about: 'keeps results while the queue is away (default: run/worker in GANTRY_HOME)' },
    { flags: '--metrics <port>', about: 'answer figures for Prometheus at this port of 127.0.0.1' },
    { flags: '--network', about: 'let commands in the sandbox reach the network' },
    { flags: '--no-sandbox', about: 'run commands as you, with your files and your network' },
  ],
  load: () => import('./worker.ts').then((m) => m.worker),
};
