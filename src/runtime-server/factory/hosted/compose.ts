/** Joins hosted bots to the rest of the factory: sends, nodes, worktrees, records. Knows each by the little that it needs. */
import type { HostedMode } from '../../../contracts/factory/team-file.ts';
import { createJail } from '../../tool-server/jail.ts';
import type { FactoryDeps } from '../deps.ts';
import { kindOf } from '../member.ts';
import type { Registry } from '../registry.ts';
import type { SendService } from '../send.ts';
import { readDelivery } from '../store/deliveries.ts';
import type { Workflows } from '../workflows/index.ts';
import type { Worktrees } from '../worktrees/index.ts';
import type { AgentRuns, NodeWork } from './deps.ts';
import { createHosted, createReportTools, type Hosted } from './index.ts';

export interface HostedFactoryDeps extends FactoryDeps {
  readonly sends: () => SendService;
  readonly workflows: () => Workflows;
  readonly registry: () => Registry;
  readonly worktrees: Worktrees;
  readonly setUp: (address: string) => Promise<unknown>;
  readonly runs: AgentRuns;
  openSecrets(env: Readonly<Record<string, string>>): Promise<Record<string, string>>;
}

export function composeHosted(deps: HostedFactoryDeps): Hosted {
  const nodes = nodeWork(deps.workflows, (address) => deps.registry().find(address)?.id ?? address);
  const freshName = () => deps.ids.next('tmp');
  const reply: Parameters<typeof createReportTools>[0]['reply'] = async ({ agentId, address }, threadId, text, key) => {
    const name = deps.registry().find(agentId)?.address ?? address;
    const sender = { caller: agentId, surface: 'hosted', name, agentId, inPerson: false };
    await deps.sends().send({ to: `channel:${threadId}`, text, idempotencyKey: key }, sender, undefined);
  };
  const openFile = async (root: string, path: string) => {
    const jail = await createJail({ root, hidden: [deps.home], freshName });
    const { handle } = await jail.open(path);
    return { fd: handle.fd, close: () => handle.close() };
  };
  return createHosted({
    ...deps,
    models: deps.hosted.models,
    tools: deps.hosted.tools(createReportTools({ nodes, reply, openFile, freshKey: freshName })),
    nodes,
    reply,
    orderOf: readDelivery,
    modeOf: (caller) => modeOf(deps.registry(), caller),
    envOf: async ({ env }) => ({ ...env, ...(await deps.openSecrets(env)) }),
    async folderOf({ folder, worktree, team, slug }) {
      if (!worktree) return folder;
      await deps.worktrees.create(folder, team, slug);
      // Where it cannot be moved it works on what it has.
      await deps.worktrees.catchUp(folder, team, slug).catch((error: unknown) => {
        deps.log.warn(`The worktree of ${slug}@${team} could not be brought up to date.`, { error: String(error) });
      });
      await deps.setUp(`${slug}@${team}`);
      return deps.worktrees.check(folder, team, slug);
    },
  });
}

/** A bot in a terminal asks its person before it acts; nobody lends another bot more than that. */
function modeOf(registry: Registry, caller: string): HostedMode {
  const sender = registry.find(caller);
  if (sender === null) return 'ACCEPT_EDITS';
  return kindOf(sender) === 'hosted' ? (sender.definition?.permissions ?? 'REQUIRE_APPROVAL') : 'REQUIRE_APPROVAL';
}

async function* oneChunk(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}

function nodeWork(workflows: () => Workflows, idOf: (address: string) => string): NodeWork {
  const by = (address: string) => ({ actor: idOf(address), surface: 'hosted', address });
  return {
    async duty({ dagId, nodeId }, address) {
      const { card } = await workflows().pages.node(dagId, nodeId);
      if (card.status === 'checking' && card.cause === 'reviewing') return card.assignee === address ? null : 'review';
      return card.assignee === address ? 'work' : null;
    },
    async progress(node, address, text) {
      await workflows().verbs.progress(node, by(address), text);
    },
    async done(node, address, given) {
      await workflows().verbs.done(node, by(address), given);
    },
    async fail(node, address, reason) {
      await workflows().verbs.fail(node, by(address), reason);
    },
    async prove(node, address, { line, name, mime, content }) {
      const parts = (async function* () {
        yield { name: 'line', filename: null, type: null, body: oneChunk(line) };
        yield { name: 'file', filename: name, type: mime, body: content };
      })();
      const done = await workflows().proofs.upload(node, by(address), parts);
      if (!('receiptId' in done)) throw new Error('A proof was answered as a dry run.');
      return { receiptId: done.receiptId };
    },
  };
}
