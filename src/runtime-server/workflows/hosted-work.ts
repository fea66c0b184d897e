/** The verbs of a run for hosted bots: the same that bots in panes call. */
import type { NodeWork } from '../hosted-bots/deps.ts';
import type { Workflows } from './index.ts';

async function* oneChunk(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

export function hostedWork(
  workflows: Pick<Workflows, 'pages' | 'verbs' | 'proofs' | 'budgets'>,
  idOf: (address: string) => string,
): NodeWork {
  const by = (address: string) => ({ actor: idOf(address), surface: 'hosted', address });
  return {
    async duty({ dagId, nodeId }, address) {
      const { card } = await workflows.pages.node(dagId, nodeId);
      if (card.status === 'checking' && card.cause === 'reviewing') return card.assignee === address ? null : 'review';
      return card.assignee === address ? 'work' : null;
    },
    mayAsk: (node) => workflows.budgets.mayAsk(node),
    async progress(node, address, text) {
      await workflows.verbs.progress(node, by(address), text);
    },
    async done(node, address, given) {
      await workflows.verbs.done(node, by(address), given);
    },
    async fail(node, address, reason) {
      await workflows.verbs.fail(node, by(address), reason);
    },
    async prove(node, address, { line, name, mime, content }) {
      const parts = (async function* () {
        yield { name: 'line', filename: null, type: null, body: oneChunk(line) };
        yield { name: 'file', filename: name, type: mime, body: content };
      })();
      const done = await workflows.proofs.upload(node, by(address), parts);
      if (!('receiptId' in done)) throw new Error('A proof was answered as a dry run.');
      return { receiptId: done.receiptId };
    },
  };
}
