/**
 * Bots on other computers in the registry: they live as long as their computer says so, over restarts of this one. Changes entries and
 * their rows; must not know panes, HTTP or how a bot is reached.
 */
import type { HarnessName } from '../../../contracts/factory/agent.ts';
import type { Migration, Store, Tx } from '../../../kit/store/store.ts';
import type { HarnessBot } from '../harness/harness.ts';
import type { Shown } from '../model.ts';
import type { RemoteBot, RemoteRef } from './bot.ts';

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

/** What of an agent's entry this needs. */
export interface RemotingEntry {
  id: string;
  address: string;
  live: boolean;
  shown: Shown;
  remote: RemoteRef | null;
  remoteBot: RemoteBot | null;
  bot: HarnessBot | null;
  release: () => void;
}

export type AttachRemote = (
  agent: { readonly id: string; readonly address: string; readonly shown: Shown },
  ref: RemoteRef,
  events: { onSession(session: string): void; onGone(reason: string): void; readonly fresh: boolean },
) => RemoteBot;

export interface RemotingDeps<Entry> {
  readonly attach: AttachRemote;
  readonly store: Store;
  readonly find: (agentId: string) => Entry | null;
  readonly show: (entry: Entry, shown: Shown) => void;
  readonly openGate: (entry: Entry) => void;
  /** Writes behind; what is lost by a crash is learned anew. */
  readonly behind: (what: string, written: Promise<unknown>) => void;
  readonly now: () => number;
}

export interface Remoting<Entry> {
  /** Takes up the bots that an earlier run started elsewhere. */
  start(): Promise<void>;
  begin(entry: Entry, ref: RemoteRef): Promise<void>;
  /** Ends the bot there; false: it is let go of, and may run on. */
  stop(entry: Entry): Promise<boolean>;
}

export function createRemoting<Entry extends RemotingEntry>(deps: RemotingDeps<Entry>): Remoting<Entry> {
  const { store } = deps;

  const attach = (entry: Entry, ref: RemoteRef, fresh: boolean) => {
    entry.release();
    const bot = deps.attach(entry, ref, {
      fresh,
      onSession(session) {
        if (entry.remoteBot !== bot) return;
        entry.remote = { ...ref, session };
        const moved = entry.remote;
        deps.behind(
          `The pane of ${entry.address}`,
          store.write((tx) => saveRemote(tx, entry.id, moved)),
        );
        deps.show(entry, bot.state());
      },
      onGone(reason) {
        if (entry.remoteBot === bot) end(entry, reason);
      },
    });
    entry.live = true;
    entry.remote = ref;
    entry.bot = bot;
    entry.remoteBot = bot;
    const offState = bot.onState((state) => deps.show(entry, state));
    const offGate = bot.onGate(() => deps.openGate(entry));
    entry.release = () => {
      offState();
      offGate();
      bot.close();
      entry.bot = null;
      entry.remoteBot = null;
      entry.release = () => {};
    };
    return bot;
  };

  const end = (entry: Entry, reason: string) => {
    entry.release();
    entry.live = false;
    entry.remote = null;
    deps.behind(
      `The end of ${entry.address}`,
      store.write((tx) => removeRemote(tx, entry.id)),
    );
    deps.show(entry, { state: 'offline', reason, since: deps.now() });
  };

  return {
    async start() {
      for (const { agentId, ref } of await store.read((tx) => readRemotes(tx))) {
        const entry = deps.find(agentId);
        if (entry !== null && !entry.live) attach(entry, ref, false);
      }
    },
    async begin(entry, ref) {
      const bot = attach(entry, ref, true);
      await store.write((tx) => saveRemote(tx, entry.id, ref));
      deps.show(entry, bot.state());
      deps.openGate(entry);
      // The stream says it, too; where it is not up yet this is the first that is known.
      await bot.look().catch(() => {});
    },
    async stop(entry) {
      const stopped = (await entry.remoteBot?.stop()) ?? true;
      const name = entry.remote?.computerName;
      if (entry.remote !== null) end(entry, stopped ? 'stopped' : `Gantry let go of it; it may still run on ${name}`);
      return stopped;
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
