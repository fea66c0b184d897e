/** The words of `gantry worker`. */
import type { Verb } from '../command.ts';

export const worker: Verb = {
  name: 'worker',
  about: 'Work on tasks of the work queue: run their commands, in a sandbox where there is one',
  more: 'The command of a task is its payload.command. GANTRY_URL and GANTRY_KEY_FILE are the same as --url and --key-file. The first\nCtrl-C lets it finish what it holds and take nothing new; the second ends it at once and says what it gave up. docs/work-queue.md tells the rest.',
  options: [
    { flags: '--url <url>', about: 'where the queue is, such as https://gantry.example' },
    { flags: '--key-file <file>', about: 'file with an API key that has the scope work' },
    { flags: '--name <name>', about: 'what the worker is called (default: this computer and a few letters)' },
    { flags: '--concurrency <n>', about: 'tasks at the same time, 1 to 256 (default 1)' },
    { flags: '--drain', about: 'end once the queue is empty and everything it holds is done' },
    { flags: '--network', about: 'let commands in the sandbox reach the network' },
    { flags: '--no-sandbox', about: 'run commands as you, with your files and your network' },
  ],
  load: () => import('./worker.ts').then((m) => m.worker),
};
