/** The words of `gantry worker`. */
import type { Verb } from '../command.ts';

export const worker: Verb = {
  name: 'worker',
  stays: true,
  about: 'Run the commands of tasks in the work queue, in a sandbox where possible',
  more: 'The command of a task is its payload.command. GANTRY_URL, GANTRY_KEY_FILE, GANTRY_WORKER_DOCKER and\nGANTRY_WORKER_KUBERNETES are the same as --url, --key-file, --docker and --kubernetes. The first Ctrl-C lets it finish its tasks and take no new ones; the second ends\nit at once and says what it gave up. See docs/work-queue.md.',
  options: [
    { flags: '--url <url>', about: 'address of the queue, such as https://gantry.example' },
    { flags: '--key-file <file>', about: 'file with an API key that has the scope work' },
    { flags: '--name <name>', about: 'name of the worker (default: the host name and a random suffix)' },
    { flags: '--concurrency <n>', about: 'tasks at the same time, 1 to 256 (default 1)' },
    { flags: '--labels <list>', about: 'what this worker has, such as gpu=a100,zone=eu, for tasks that ask for it' },
    { flags: '--drain', about: 'end once the queue is empty and its tasks are done' },
    { flags: '--spool <folder>', about: 'keeps results while the queue is away (default: run/worker in GANTRY_HOME)' },
    { flags: '--metrics <port>', about: 'answer figures for Prometheus at this port of 127.0.0.1' },
    { flags: '--network', about: 'let commands in the sandbox or a container reach the network' },
    { flags: '--no-sandbox', about: 'run commands as you, with your files and your network' },
    { flags: '--docker <socket>', about: 'run tasks with an image in containers of the engine at this Unix socket' },
    { flags: '--kubernetes <namespace>', about: 'run every task as a Job in this namespace of a Kubernetes cluster' },
    { flags: '--task-image <image>', about: 'with --kubernetes: the image of tasks that name none' },
    {
      flags: '--images <list>',
      about: 'which images may run, by their beginnings, such as ghcr.io/acme,alpine (default: any)',
    },
    { flags: '--pull <when>', about: 'pull images missing, always or never (default missing)' },
    { flags: '--max-image <MiB>', about: 'largest image, unpacked (default 10240)' },
    { flags: '--task-memory <MiB>', about: 'memory of a container, with the files that it writes (default 2048)' },
    { flags: '--task-cpus <n>', about: 'processors of a container, such as 0.5 (default 1)' },
    { flags: '--task-processes <n>', about: 'processes of a container (default 512)' },
  ],
  load: () => import('./worker.ts').then((m) => m.worker),
};
