/**
 * Ready work in order: commands for a free slot, nodes for their bot. Only in memory; an entry may be stale, so its taker checks the node again.
 * Must not know what a turn means.
 */
export type Turn = 'run' | 'verify' | 'review';

interface Waiting {
  readonly dagId: string;
  readonly nodeId: string;
  readonly turn: Turn;
}

export interface Queues {
  /** For a slot. */
  addCommand(waiting: Waiting): void;
  firstCommand(): Waiting | undefined;
  takeCommand(): Waiting | undefined;
  /** For a bot, by its address. */
  addFor(address: string, waiting: Waiting): void;
  firstFor(address: string): Waiting | undefined;
  takeFor(address: string): Waiting | undefined;
  /** Bots that something waits for. */
  bots(): string[];
}

export function createQueues(): Queues {
  const commands = createQueue();
  const bots = new Map<string, ReturnType<typeof createQueue>>();
  return {
    addCommand: commands.add,
    firstCommand: commands.first,
    takeCommand: commands.take,
    addFor(address, waiting) {
      const queue = bots.get(address) ?? createQueue();
      bots.set(address, queue);
      queue.add(waiting);
    },
    firstFor: (address) => bots.get(address)?.first(),
    takeFor(address) {
      const queue = bots.get(address);
      const taken = queue?.take();
      if (queue?.first() === undefined) bots.delete(address);
      return taken;
    },
    bots: () => [...bots.keys()],
  };
}

/** A list with a moving head: taking the first of thousands costs nothing. */
function createQueue() {
  let items: Waiting[] = [];
  let head = 0;
  return {
    add(waiting: Waiting) {
      items.push(waiting);
    },
    first: (): Waiting | undefined => items[head],
    take(): Waiting | undefined {
      const taken = items[head];
      if (taken === undefined) return undefined;
      head += 1;
      if (head > 1000 && head * 2 > items.length) {
        items = items.slice(head);
        head = 0;
      }
      return taken;
    },
  };
}
