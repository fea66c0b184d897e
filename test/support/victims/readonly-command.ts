/** `readonly-command.ts <line>`: runs one command as a task, and says as one line of JSON how it ended, and what was left behind. */
import { commandRunner } from '../../../src/programs/worker/command.ts';
import { findSandbox } from '../../../src/programs/worker/sandbox.ts';
import type { LeasedTask } from '../../../src/programs/worker/worker.ts';

const [command = ''] = process.argv.slice(2);
const sandbox = await findSandbox({ wanted: false, network: false, path: process.env.PATH ?? '' });
const left: string[] = [];
const run = commandRunner(sandbox, (why) => left.push(why));
const task = { id: 'task_1', payload: { command }, env: {}, sandbox_image: null };
const leased = { task, lease: { fence: 1, attempt: 1 }, signal: new AbortController().signal } as unknown as LeasedTask;
const ended = await run(leased).then(
  (result) => ({ result }),
  (error: unknown) => ({ error: String(error) }),
);
console.log(JSON.stringify({ ...ended, left }));
