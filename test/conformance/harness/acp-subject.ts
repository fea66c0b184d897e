/** A bot over ACP as a subject of the kit: the room of such bots, with a stand-in of an agent. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { AgentState } from '../../../src/contracts/factory/agent.ts';
import { acpProgram } from '../../../src/runtime-server/harness/acp/program.ts';
import type { DeliverResult, Outgoing } from '../../../src/runtime-server/harness/harness.ts';
import { type AcpBench, openAcpBench } from '../../support/acp-bench.ts';
import { notesIn } from './stand-in-subject.ts';
import { type Subject, until } from './subject.ts';

/** What is behind the agent. */
interface AcpWorld {
  readonly bench: AcpBench;
  prompts(): readonly string[];
  together(first: string, second: string): boolean;
  ran(): number;
}

function createAcpSubject({ bench, prompts, together, ran }: AcpWorld): Subject {
  const { promises } = acpProgram;
  const { bot } = bench;
  let states: AgentState[] = [];
  let sending: Promise<unknown> = Promise.resolve();
  let count = 0;

  const seen = () => JSON.stringify([bot().state(), bot().gate(), ...bot().explain().steps.slice(-4)]);
  const wait = (what: string, condition: () => boolean, ms?: number) =>
    until(what, condition, { seen, ...(ms !== undefined && { ms }) });
  const quiet = () => wait('an open gate', () => bot().gate().open, 60_000);

  function message(words: string): Outgoing {
    count += 1;
    const deliveryId = `delivery_${Date.now()}_${count}`;
    return { deliveryId, senderLine: 'From owner', text: words, replyLine: null, raw: false };
  }

  /** As the queue does it: what is held is offered again once the gate is open. */
  async function deliver(outgoing: Outgoing): Promise<DeliverResult> {
    for (;;) {
      const result = await bot().deliver(outgoing);
      if (result.state !== 'held') return result;
      await quiet();
    }
  }

  function follow(): void {
    states = [];
    bot().onState(({ state }) => states.push(state));
  }

  return {
    name: 'acp',
    exempt: promises.exempt,
    witness: promises.witness[0],
    async begin() {
      follow();
      await quiet();
    },
    // The next one to begin is this one, taken up anew.
    end: () => bench.restart(),
    async kill() {
      const before = Number(bench.pid());
      process.kill(before, 'SIGKILL');
      await wait('its end', () => bench.pid() !== before);
    },
    quiet,
    send(words) {
      const sent = sending.then(() => deliver(message(words)));
      sending = sent.catch(() => undefined);
      return sent;
    },
    offer: (words) => bot().deliver(message(words)),
    state: () => bot().state().state,
    states: () => states,
    async atWork() {
      await wait('a turn', () => bot().state().state === 'working');
      await until('words of its model', async () => (await bench.entries()).at(-1)?.kind === 'text', { seen });
    },
    interrupt: async () => (await bot().interrupt('the kit asks')).ended,
    async answer() {
      await wait('an approval', () => bot().explain().approvals.length === 1);
      bench.people.answer(String(bot().explain().approvals[0]), 'approve');
    },
    ran,
    prompts,
    together,
    usage: async () => [],
  };
}

export async function openAcpStandIn(): Promise<{ readonly subject: Subject; close(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-acp-kit-'));
  const log = join(folder, 'stand-in.jsonl');
  const program = fileURLToPath(new URL('./stand-ins/acp.mjs', import.meta.url));
  const bench = await openAcpBench({ name: `${process.execPath} ${program}`, env: { STAND_IN_LOG: log } });
  const notes = () => notesIn(log);
  const sessionOf = (words: string) => notes().findLast(({ prompt }) => prompt?.includes(words))?.session;
  const subject = createAcpSubject({
    bench,
    prompts: () => notes().flatMap(({ prompt }) => prompt ?? []),
    together: (first, second) => sessionOf(first) !== undefined && sessionOf(first) === sessionOf(second),
    ran: () => notes().filter(({ ran }) => ran).length,
  });
  return {
    subject,
    async close() {
      await bench.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
