/** Connects bots over ACP to starts, worktrees, sandboxes, secrets and sends, each through the small interface that it needs. */

import { readFile } from 'node:fs/promises';
import type { McpServer } from '@agentclientprotocol/sdk';
import { mcpServer } from '../../contracts/tool-server/mcp.ts';
import { programCommand } from '../../kit/process/programs.ts';
import type { BotCaps } from '../agents/bot-caps.ts';
import type { BotHomes, BotTokens } from '../agents/bot-homes.ts';
import type { BotSandboxes } from '../agents/bot-sandboxes.ts';
import type { Registry } from '../agents/registry.ts';
import { specOf } from '../agents/team-plan.ts';
import type { Worktrees } from '../agents/worktrees/index.ts';
import { knownAgentOf } from '../harness/acp/known-agents.ts';
import type { BotPaths, BotSpec, Harnesses } from '../harness/harness.ts';
import type { SendService } from '../messaging/send.ts';
import { readDelivery } from '../messaging/store/deliveries.ts';
import type { BotSecrets } from '../vault/vault.ts';
import type { AcpDeps, Prepared } from './deps.ts';
import { type AcpBots, createAcpBots } from './index.ts';
import { followAcpTeams } from './placement.ts';

export function composeAcp(
  deps: Omit<AcpDeps, 'prepare' | 'threadOf' | 'reply'> & {
    readonly harnesses: Pick<Harnesses, 'prepare'>;
    readonly homes: BotHomes;
    readonly tokens: Pick<BotTokens, 'mint'>;
    readonly secrets: BotSecrets;
    readonly sandboxes: Pick<BotSandboxes, 'check' | 'confine' | 'tightened' | 'wanted'>;
    readonly follow: BotCaps['follow'];
    readonly worktrees: Pick<Worktrees, 'check' | 'create'>;
    readonly setUp: (address: string) => Promise<unknown>;
    readonly registry: Pick<Registry, 'find' | 'place' | 'onDefined'>;
    readonly sends: SendService;
  },
): AcpBots {
  const { registry, homes } = deps;

  async function prepare(given: BotSpec): Promise<Prepared> {
    const address = `${given.slug}@${given.team}`;
    const isInWorktree = registry.find(given.agentId)?.definition?.worktree === true;
    if (isInWorktree) {
      await deps.worktrees.create(given.cwd, given.team, given.slug);
      await deps.setUp(address);
    }
    const cwd = isInWorktree ? await deps.worktrees.check(given.cwd, given.team, given.slug) : given.cwd;
    const spec = deps.sandboxes.tightened({ ...given, cwd });
    deps.sandboxes.check(spec);
    const paths = await homes.open(spec.agentId);
    const launch = await deps.harnesses.prepare(spec, paths);
    const secrets = await deps.secrets.given(spec);
    const token = await deps.tokens.mint(spec.agentId);
    await homes.writeToken(spec.agentId, token);
    const whole = {
      ...launch,
      command: [...programCommand('acp-inside'), ...launch.command] as const,
      program: launch.command[0],
      env: { ...launch.env, ...secrets },
    };
    const placed = await deps.sandboxes.confine(spec, whole, paths);
    const tools = await toolServer(paths, token);
    return {
      command: placed.command,
      env: placed.env,
      cwd: placed.cwd,
      mcpServers: ({ http }) => (http ? tools : []),
      signIns: (knownAgentOf(spec.command)?.signIns ?? [])
        .filter(({ variable }) => (whole.env[variable] ?? '') !== '')
        .map(({ method }) => method),
      asksIn: knownAgentOf(spec.command)?.asksIn ?? null,
      missingIsEmpty: knownAgentOf(spec.command)?.missingIsEmpty ?? false,
      held: (pid) => {
        const caps = spec.sandbox?.caps;
        return caps === undefined
          ? () => {}
          : deps.follow({ agentId: spec.agentId, pid, caps, disk: placed.disk ?? null });
      },
      close: async () => placed.closeNetwork?.(),
    };
  }

  const bots = createAcpBots({
    ...deps,
    prepare,
    threadOf: (tx, deliveryId) => readDelivery(tx, deliveryId)?.threadId ?? null,
    async reply(agentId, threadId, text, key) {
      const name = registry.find(agentId)?.address ?? agentId;
      const sender = { caller: agentId, surface: 'acp', name, agentId, inPerson: false };
      await deps.sends.send({ to: `channel:${threadId}`, text, idempotencyKey: key }, sender, undefined);
    },
  });
  followAcpTeams({
    attach: bots.attach,
    registry,
    specOf(member, team, bot) {
      const wanted = deps.sandboxes.wanted();
      const sandbox = bot.sandbox ?? (wanted === 'none' ? null : { mode: wanted, ...bot.inSandbox });
      return specOf(member.id, team, { bot, harness: bot.harnesses[0] ?? 'acp', sandbox, account: null }, bot.cwd);
    },
  });
  return bots;
}

/** Gantry's tools for this bot, with its token. None until the engine has published its port. */
async function toolServer({ urlFile }: BotPaths, token: string): Promise<McpServer[]> {
  const url = await readFile(urlFile, 'utf8').then(
    (text) => text.trim(),
    () => '',
  );
  if (!url.startsWith('http')) return [];
  const headers = [{ name: 'Authorization', value: `Bearer ${token}` }];
  return [{ type: 'http', name: 'gantry', url: `${url}${mcpServer.path}?names=safe`, headers }];
}
