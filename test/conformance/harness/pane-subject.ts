/** A bot of the pane harness as a subject of the kit: what its queue, its person and its desk do around it. Must not know what its program is. */
import { type AgentState, type HarnessName, titleOf } from '../../../src/contracts/factory/agent.ts';
import type { DeliverResult, HarnessBot, Outgoing } from '../../../src/runtime-server/harness/harness.ts';
import { programs } from '../../../src/runtime-server/harness/programs.ts';
import { readDialog } from '../../real/scenes.ts';
import type { People } from '../../runtime-server/harness/people.ts';
import { type Counted, type Subject, until } from './subject.ts';

/** What is behind the bot: a stand-in, or the real program with a model server. */
export interface PaneWorld {
  readonly people: Pick<People, 'answer'>;
  /** Prepares, starts and attaches. */
  up(resume: boolean): Promise<HarnessBot>;
  /** kill -9 of the program in its pane. */
  kill(bot: HarnessBot): Promise<void>;
  prompts(): readonly string[];
  together(first: string, second: string): boolean;
  ran(): number;
  usage(): Promise<readonly Counted[]>;
  /** The model has begun to answer, and its words are seen. */
  answering(bot: HarnessBot): boolean;
  /** Its dialogs drop keys at first, as those of real programs. */
  readonly needsReading: boolean;
}

export function createPaneSubject(harness: HarnessName, world: PaneWorld): Subject {
  const { promises } = programs[harness];
  if (promises === undefined) throw new Error(`${titleOf(harness)} promises nothing that a row could play.`);
  let live: HarnessBot | null = null;
  let states: AgentState[] = [];
  let sending: Promise<unknown> = Promise.resolve();
  let count = 0;

  const bot = (): HarnessBot => {
    if (live === null) throw new Error('It was not begun.');
    return live;
  };
  const bottom = () => bot().explain().bottom.join('\n');
  const seen = () => {
    const { steps } = bot().explain();
    const last = steps.slice(-8).map((step) => `${step.source} ${step.rule} ${step.claim}`);
    return [JSON.stringify([bot().state(), bot().gate()]), ...last, bottom()].join('\n');
  };
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

  return {
    name: harness,
    exempt: promises.exempt,
    witness: promises.witness[0],
    async begin({ resume } = { resume: false }) {
      live = await world.up(resume);
      states = [];
      live.onState(({ state }) => states.push(state));
      await quiet();
    },
    async end() {
      if (live === null) return;
      const last = live;
      live = null;
      await world.kill(last);
      last.close();
    },
    async kill() {
      await world.kill(bot());
      await wait('its end', () => ['offline', 'failed'].includes(bot().state().state));
      bot().close();
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
      await wait('words of its model', () => world.answering(bot()));
    },
    interrupt: async () => (await bot().interrupt('the kit asks')).ended,
    async answer() {
      if (promises.asks.answered === 'approval') {
        await wait('an approval', () => bot().explain().approvals.length === 1);
        world.people.answer(String(bot().explain().approvals[0]), 'approve');
        return;
      }
      if (world.needsReading) await readDialog();
      await bot().input({ keys: ['Enter'] });
    },
    ran: world.ran,
    prompts: world.prompts,
    together: world.together,
    usage: world.usage,
    draft: {
      async type(words) {
        await bot().input({ text: words });
        const typing = () => JSON.stringify(bot().gate()).includes('a person is typing');
        await wait('the draft on its screen', () => bottom().includes(words) && !typing());
      },
      stands: (words) => bottom().includes(words),
      clear: () => bot().input({ keys: ['C-u'] }),
    },
  };
}
