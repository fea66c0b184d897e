/** Tells a bot, and its step, that a report was refused for which no verb of it waits any more. Must not know spools. */
import type { TakerDeps } from './deps.ts';
import { markTold, type ReportRow } from './store.ts';

export function createRefusals(
  deps: Pick<TakerDeps, 'store' | 'clock' | 'log' | 'tellBot' | 'note'> & { readonly signal: AbortSignal },
) {
  const { store, clock, signal } = deps;
  let telling = false;

  return {
    /** Those that were taken so long ago, milliseconds: a verb waits no longer. Apart from the sweeps: a message may take seconds to arrive. */
    async tell(since: number): Promise<void> {
      if (telling) return;
      telling = true;
      await tellRefused(since).finally(() => {
        telling = false;
      });
    },
  };

  async function tellRefused(since: number): Promise<void> {
    const rows = await store.read((tx) =>
      tx.all<ReportRow>(
        'SELECT * FROM bot_report WHERE told_at IS NULL AND taken_at <= ? ORDER BY taken_at, id LIMIT 100',
        clock.now() - since,
      ),
    );
    for (const row of rows) {
      if (signal.aborted) return;
      const what = verbs[row.op] ?? row.op;
      const about = row.node_id === null ? '' : ` about the step ${row.node_id}`;
      const text = `Gantry was away when you reported \`${what}\`${about}. It was refused when it was delivered: ${row.why}`;
      try {
        // First what may fail, as when the bot's queue is full: a message with this key goes out once, a note is written each time.
        await deps.tellBot(row.agent_id, text, `report:${row.id}`);
        if (row.dag_id !== null && row.node_id !== null) {
          const step = { dagId: row.dag_id, nodeId: row.node_id };
          await deps.note(step, `a kept report (${what}) was refused: ${row.why}`);
        }
        await store.write((tx) => markTold(tx, row.agent_id, row.id, clock.now()));
      } catch (error) {
        if (signal.aborted) return;
        deps.log.warn('A bot did not get the message that its report was refused.', {
          id: row.id,
          error: String(error),
        });
      }
    }
  }
}

/** Operations by the verbs that a bot knows. */
const verbs: Readonly<Record<string, string>> = {
  progressNode: 'progress',
  doneNode: 'done',
  failNode: 'fail',
  uploadProof: 'proof',
  sendMessage: 'reply',
  sendMail: 'mail',
  draftPlan: 'plan draft',
  refinePlan: 'plan refine',
  discardPlan: 'plan discard',
  releaseLease: 'lease release',
};
