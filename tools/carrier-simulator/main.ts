/** The simulated carrier as a program (protocol.ts): started by `gantry start --demo-phone`, ends with the process that started it. */
import { createInterface } from 'node:readline';
import type { SimulatorAsked, SimulatorSaid } from './protocol.ts';
import { createSimulator } from './simulator.ts';

async function main(): Promise<void> {
  const lines = createInterface({ input: process.stdin });
  const ended = new Promise<void>((resolve) => lines.once('close', resolve));
  const line = await Promise.race([
    new Promise<string>((resolve) => lines.once('line', resolve)),
    ended.then(() => null),
  ]);
  if (line === null) throw new Error('carrier-simulator: one line of JSON is missing on stdin');
  const { file, port, apiKey, webhookUrl } = JSON.parse(line) as SimulatorAsked;
  const simulator = await createSimulator({ file, port, apiKey, webhookUrl });
  const said: SimulatorSaid = { url: simulator.url, origin: simulator.origin, publicKey: simulator.publicKey };
  process.stdout.write(`${JSON.stringify(said)}\n`);
  await ended;
  await simulator.close();
}

// A terminal's Ctrl-C goes to the whole group: the parent process decides when we end.
process.on('SIGINT', () => {});
main().then(
  () => process.exit(0),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  },
);
