/**
 * Puts bots on other computers into the registry: they live as long as their computer says so, over restarts of this one. Owns their rows; must not
 * know panes, HTTP or how a bot is reached.
 */

import type { HarnessName } from '../../../contracts/factory/agent.ts';
import type { Migration, Tx } from '../../../kit/store/store.ts';
import type { Shown } from '../../agents/model.ts';
import type { Placement, RemoteRef, Seat } from '../../agents/placement.ts';
import type { Member, Registry } from '../../agents/registry.ts';
import type { Base } from '../../base/base.ts';
import type { RemoteBot } from './bot.ts';

export const remoteMigrations: readonly Migration[] = [
  {
    area: 'factory-remote',
    number: 1,
    name: 'bots on other computers',
    sql: `
CREATE TABLE factory_remote (
  agent_id TEXT PRIMARY KEY REFERENCES factory_agent (id),
  computer_id TEXT NOT NULL,
  computer_name TEXT NOT NULL,
  session TEXT NOT NULL,
  harness TEXT
) STRICT;
`,
  },
];

const remotePlacement: Placement = {
  via: { atOnce: 'peer', waiting: 'peer' },
  inTerminal: true,
  inPaneHere: false,
  isLocal: false,
  followsTeam: false,
  keepsConversation: false,
  // A thread of this computer is not there on another.
  answersByVerb: false,
  takesTickets: false,
  shows: null,
  holdsMode: false,
  unenforceable: 'It runs on another computer.',
};

export type AttachRemote = (
  agent: { readonly address: string; readonly shown: Shown },
  ref: RemoteRef,
  events: { onSession(session: string): void; onGone(reason: string): void; readonly fresh: boolean },
) => RemoteBot;

interface Remoting {
  /** Takes up the bots that an earlier run started elsewhere. Once the registry has started. */
  start(): Promise<void>;
  /** The bot was started there. */
  begin(agentId: string, ref: RemoteRef): Promise<void>;
}

export function createRemoting({
  attach,
  store,
  registry,
  log,
}: Pick<Base, 'store' | 'log'> & {
  readonly attach: AttachRemote;
  readonly registry: Pick<Registry, 'known' | 'place'>;
}): Remoting {
  /** Written in the background; a crash loses only what is reported again. */
  const behind = (what: string, write: (tx: Tx) => void) => {
    store.write(write).catch((error: unknown) => log.warn(`${what} could not be written.`, { error: String(error) }));
  };

  const place = (member: Member, ref: RemoteRef, fresh: boolean): { bot: RemoteBot; seat: Seat } => {
    const { id, address } = member;
    let now = ref;
    const end = (reason: string) => {
      if (!seat.isTaken()) return;
      behind(`The end of ${address}`, (tx) => removeRemote(tx, id));
      seat.end(reason);
    };
    const bot = attach(member, ref, {
      fresh,
      onSession(session) {
        if (!seat.isTaken()) return;
        const moved = { ...ref, session };
        now = moved;
        behind(`The pane of ${address}`, (tx) => saveRemote(tx, id, moved));
        seat.show(bot.state());
      },
      onGone: end,
    });
    const seat = registry.place(id, {
      ...bot,
      placement: remotePlacement,
      ref: () => now,
      async cancelWork(why) {
        await bot.interrupt(why);
        return false;
      },
      async stop() {
        const stopped = await bot.stop();
        end(stopped ? 'stopped' : `Gantry no longer controls it; it may still run on ${now.computerName}`);
        return stopped;
      },
    });
    return { bot, seat };
  };

  return {
    async start() {
      for (const { agentId, ref } of await store.read((tx) => readRemotes(tx))) {
        const member = registry.known(agentId);
        if (member !== null && !member.live) place(member, ref, false);
      }
    },
    async begin(agentId, ref) {
      const member = registry.known(agentId);
      if (member === null) throw new Error(`Agent ${agentId} is not in the registry.`);
      const { bot, seat } = place(member, ref, true);
      await store.write((tx) => saveRemote(tx, agentId, ref));
      seat.show(bot.state());
      seat.openGate();
      // The stream reports it, too; where it is not open yet this is the first report.
      await bot.look().catch(() => {});
    },
  };
}

interface RemoteRow {
  agent_id: string;
  computer_id: string;
  computer_name: string;
  session: string;
  harness: HarnessName | null;
}

function readRemotes(tx: Pick<Tx, 'all'>): { agentId: string; ref: RemoteRef }[] {
  return tx.all<RemoteRow>('SELECT * FROM factory_remote').map((row) => ({
    agentId: row.agent_id,
    ref: { computerId: row.computer_id, computerName: row.computer_name, session: row.session, harness: row.harness },
  }));
}

function saveRemote(tx: Tx, agentId: string, ref: RemoteRef): void {
  tx.run(
    `INSERT INTO factory_remote (agent_id, computer_id, computer_name, session, harness) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (agent_id) DO UPDATE SET computer_id = excluded.computer_id, computer_name = excluded.computer_name,
       session = excluded.session, harness = excluded.harness`,
    agentId,
    ref.computerId,
    ref.computerName,
    ref.session,
    ref.harness,
  );
}

function removeRemote(tx: Tx, agentId: string): void {
  tx.run('DELETE FROM factory_remote WHERE agent_id = ?', agentId);
}
