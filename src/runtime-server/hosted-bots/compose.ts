/** Connects hosted bots to bots, sends, worktrees and tools, each through the small interface that it needs. */
import type { HostedMode } from '../../contracts/factory/team-file.ts';
import type { Registry } from '../agents/registry.ts';
import type { Worktrees } from '../agents/worktrees/index.ts';
import type { SendService } from '../messaging/send.ts';
import { readDelivery } from '../messaging/store/deliveries.ts';
import type { Tool, ToolRegistry } from '../tool-server/index.ts';
import { createJail } from '../tool-server/jail.ts';
import type { HostedDeps } from './deps.ts';
import { createHosted, createReportTools, type Hosted } from './index.ts';

export function composeHosted(
  deps: Omit<HostedDeps, 'tools' | 'reply' | 'orderOf' | 'modeOf' | 'envOf' | 'folderOf'> & {
    /** `GANTRY_HOME`, which no bot sees. */
    readonly home: string;
    /** The native tools and these. */
    tools(more: readonly Tool[]): ToolRegistry;
    readonly sends: SendService;
    readonly registry: Pick<Registry, 'find'>;
    readonly worktrees: Worktrees;
    readonly setUp: (address: string) => Promise<unknown>;
    openSecrets(env: Readonly<Record<string, string>>): Promise<Record<string, string>>;
  },
): Hosted {
  const { nodes } = deps;
  const freshName = () => deps.ids.next('tmp');
  const reply: Parameters<typeof createReportTools>[0]['reply'] = async ({ agentId, address }, threadId, text, key) => {
    const name = deps.registry.find(agentId)?.address ?? address;
    const sender = { caller: agentId, surface: 'hosted', name, agentId, inPerson: false };
    await deps.sends.send({ to: `channel:${threadId}`, text, idempotencyKey: key }, sender, undefined);
  };
  const openFile = async (root: string, path: string) => {
    const jail = await createJail({ root, hidden: [deps.home], freshName });
    const { handle } = await jail.open(path);
    return { fd: handle.fd, close: () => handle.close() };
  };
  return createHosted({
    ...deps,
    tools: deps.tools(createReportTools({ nodes, reply, openFile, freshKey: freshName })),
    reply,
    orderOf: readDelivery,
    modeOf: (caller) => modeOf(deps.registry, caller),
    envOf: async ({ env }) => ({ ...env, ...(await deps.openSecrets(env)) }),
    async folderOf({ folder, worktree, team, slug }) {
      if (!worktree) return folder;
      await deps.worktrees.create(folder, team, slug);
      // Where it cannot be moved the bot works on its current state.
      await deps.worktrees.catchUp(folder, team, slug).catch((error: unknown) => {
        deps.log.warn(`The worktree of ${slug}@${team} could not be brought up to date.`, { error: String(error) });
      });
      await deps.setUp(`${slug}@${team}`);
      return deps.worktrees.check(folder, team, slug);
    },
  });
}

/** A bot in a terminal asks its person before it acts; no bot passes on more rights than that. */
function modeOf(registry: Pick<Registry, 'find'>, caller: string): HostedMode {
  const sender = registry.find(caller);
  if (sender === null) return 'ACCEPT_EDITS';
  return sender.placement.holdsMode ? (sender.definition?.permissions ?? 'REQUIRE_APPROVAL') : 'REQUIRE_APPROVAL';
}
