/** Applies one preset to a team file: the final settings of each bot. Pure; must not know what is installed or runs. */
import type { AgentBinding, HarnessName } from '../../../contracts/factory/agent.ts';
import {
  defaultNetworkPresets,
  type HostedMode,
  strictestSandbox,
  type TeamFile,
  type TeamFileBot,
} from '../../../contracts/factory/team-file.ts';
import { capNames } from '../../../kit/sandbox/caps.ts';
import { acpCommand } from '../../harness/acp/known-agents.ts';
import type { BotCaps, BotNetwork, BotSandbox } from '../../harness/harness.ts';
import { resolveCwd } from './read.ts';

export interface ResolvedBot {
  readonly slug: string;
  readonly name: string;
  readonly role: string | null;
  readonly binding: AgentBinding;
  /** In order of preference; the first that is installed is taken. Empty unless the binding is `terminal`. */
  readonly harnesses: readonly HarnessName[];
  readonly model: string | null;
  readonly machine: string | null;
  readonly command: string | null;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly worktree: boolean;
  /** Null: its worktree needs no set-up, or it has none. */
  readonly setup: { readonly command: string | null; readonly copy: readonly string[] } | null;
  /** Null: none is wanted here, or it has no terminal. */
  readonly sandbox: BotSandbox | null;
  /** What it sees and may use if a sandbox is wanted elsewhere. */
  readonly inSandbox: Omit<BotSandbox, 'mode'>;
  /** Sign-ins of its program, in the order in which it takes them; empty: its person's own. */
  readonly accounts: readonly string[];
  /** It may go on with one that is paid by use where the first is a subscription. */
  readonly accountsMayCost: boolean;
  /** For a hosted bot. */
  readonly permissions: HostedMode;
  readonly limits: NonNullable<TeamFileBot['limits']>;
}

export interface ResolvedTeam {
  readonly name: string;
  readonly preset: string | null;
  readonly presets: readonly string[];
  readonly bots: readonly ResolvedBot[];
  readonly edges: readonly { kind: 'delegates_to' | 'checks' | 'directs'; from: string; to: string }[];
  readonly culture: string | null;
}

/** `preset` null: the file's default, or no preset. The preset must exist. */
export function resolveTeam(
  team: { name: string; file: TeamFile; culture: string | null },
  preset: string | null,
  around: { workspace: string; userHome: string },
): ResolvedTeam {
  const { file } = team;
  const chosen = preset ?? file.default_preset ?? null;
  const overrides = (chosen === null ? undefined : file.presets?.[chosen]?.bots) ?? {};
  const bots = file.bots.map((base): ResolvedBot => {
    const override = overrides[base.bot] ?? {};
    const bot = { ...base, ...override, env: { ...base.env, ...override.env } };
    // A preset that names one harness replaces the list of the base, and the other way round.
    const single = override.harnesses !== undefined && override.harness === undefined ? undefined : bot.harness;
    const type = bot.binding ?? (bot.vendor === undefined ? 'terminal' : 'vendor');
    const harnesses = type !== 'terminal' ? [] : single !== undefined ? [single] : (bot.harnesses ?? []);
    const first = harnesses[0];
    const inSandbox = {
      ...seenBy([file.sees, bot.sees], around.userHome),
      ...capsOf([file.caps, bot.caps]),
      ...networkOf(file.network, bot.network),
    };
    const mode = strictestSandbox([bot.sandbox ?? 'none', file.sandbox ?? 'none']);
    return {
      slug: base.bot,
      name: bot.name ?? base.bot,
      role: bot.role ?? null,
      binding: {
        type,
        ...(first === undefined ? {} : { harness: first }),
        ...(bot.vendor === undefined ? {} : { vendor: bot.vendor }),
        ...(bot.lane === undefined ? {} : { lane: bot.lane }),
        ...(bot.mode === undefined ? {} : { mode: bot.mode }),
        ...(type !== 'hosted' || bot.model === undefined ? {} : { model: bot.model }),
      },
      harnesses,
      model: bot.model ?? null,
      machine: bot.machine ?? null,
      command: bot.command === undefined ? null : first === 'acp' ? acpCommand(bot.command) : bot.command,
      cwd: resolveCwd(bot.cwd, around),
      env: bot.env,
      worktree: bot.worktree ?? false,
      setup: bot.worktree === true ? setupOf(bot.setup ?? file.setup) : null,
      sandbox: type === 'terminal' && mode !== 'none' ? { mode, ...inSandbox } : null,
      inSandbox,
      ...(type === 'terminal' ? accountsOf(override, base, file) : { accounts: [], accountsMayCost: false }),
      permissions: bot.permissions ?? 'REQUIRE_APPROVAL',
      limits: bot.limits ?? {},
    };
  });
  const directed = file.bots.flatMap((bot) =>
    bot.directed_by === undefined ? [] : [{ kind: 'directs' as const, from: bot.directed_by, to: bot.bot }],
  );
  const given = file.edges ?? [];
  const missing = directed.filter(
    (edge) => !given.some((other) => other.kind === edge.kind && other.from === edge.from && other.to === edge.to),
  );
  return {
    name: team.name,
    preset: chosen,
    presets: Object.keys(file.presets ?? {}),
    bots,
    edges: [...given, ...missing],
    culture: team.culture,
  };
}

/** The first that names any counts: a preset, the bot, the team. */
function accountsOf(
  ...given: readonly Pick<TeamFile, 'account' | 'accounts' | 'accounts_may_cost'>[]
): Pick<ResolvedBot, 'accounts' | 'accountsMayCost'> {
  const named = given.find(({ account, accounts }) => account !== undefined || accounts !== undefined);
  const accounts = named?.accounts ?? (named?.account === undefined ? [] : [named.account]);
  const mayCost = given.find(({ accounts_may_cost: may }) => may !== undefined)?.accounts_may_cost ?? false;
  return { accounts: [...new Set(accounts)], accountsMayCost: mayCost };
}

function seenBy(wishes: readonly TeamFile['sees'][], userHome: string): Pick<BotSandbox, 'read' | 'write'> {
  const all = (access: 'read' | 'write') =>
    wishes.flatMap((wish) => wish?.[access] ?? []).map((path) => path.replace(/^~(?=\/)/, userHome));
  return { read: all('read'), write: all('write') };
}

function networkOf(team: TeamFile['network'], bot: TeamFile['network']): Pick<BotSandbox, 'network'> {
  if (team === undefined && bot === undefined) return {};
  const presets = bot?.presets ?? team?.presets ?? defaultNetwork.presets;
  return { network: { presets, ports: [...new Set([...(team?.ports ?? []), ...(bot?.ports ?? [])])] } };
}

const defaultNetwork: BotNetwork = { presets: defaultNetworkPresets, ports: [] };

/** What both reach. */
function commonNetwork(one: BotNetwork | undefined, other: BotNetwork | undefined): Pick<BotSandbox, 'network'> {
  if (one === undefined && other === undefined) return {};
  const [mine, theirs] = [one ?? defaultNetwork, other ?? defaultNetwork];
  return {
    network: {
      presets: mine.presets.filter((preset) => theirs.presets.includes(preset)),
      ports: mine.ports.filter((port) => theirs.ports.includes(port)),
    },
  };
}

function capsOf(wishes: readonly TeamFile['caps'][]): Pick<BotSandbox, 'caps'> {
  return lowest(
    wishes.map(({ memory, disk, ...numbers } = {}) => ({
      ...numbers,
      ...(memory === undefined ? {} : { memory: mebibytes(memory) }),
      ...(disk === undefined ? {} : { disk: mebibytes(disk) }),
    })),
  );
}

const mebibytes = (text: string) => Number.parseInt(text, 10) * (text.endsWith('GiB') ? 1024 : 1);

/** Of each cap the lowest; nothing where none is named. */
function lowest(wishes: readonly BotCaps[]): Pick<BotSandbox, 'caps'> {
  const caps: { -readonly [Name in keyof BotCaps]: BotCaps[Name] } = {};
  for (const wish of wishes) {
    for (const name of capNames) {
      const value = wish[name];
      if (value !== undefined) caps[name] = Math.min(value, caps[name] ?? value);
    }
  }
  return Object.keys(caps).length === 0 ? {} : { caps };
}

/** The team with the sandboxes of a file that its person has not agreed to yet: such a file may make them stricter, never looser. */
export function tightened(team: ResolvedTeam, waiting: ResolvedTeam | null): ResolvedTeam {
  const wishes = new Map(waiting?.bots.map(({ slug, sandbox }) => [slug, sandbox]));
  const bots = team.bots.map((bot): ResolvedBot => {
    const wish = wishes.get(bot.slug) ?? null;
    if (wish === null || bot.binding.type !== 'terminal') return bot;
    // Only what both name: the agreed file does not widen what the other one no longer shows.
    const own = bot.inSandbox;
    const write = own.write.filter((path) => wish.write.includes(path));
    const read = [...own.read, ...own.write].filter(
      (path) => !write.includes(path) && [...wish.read, ...wish.write].includes(path),
    );
    const inSandbox = {
      ...{ read, write },
      ...lowest([own.caps ?? {}, wish.caps ?? {}]),
      ...commonNetwork(own.network, wish.network),
    };
    const mode = strictestSandbox([bot.sandbox?.mode ?? 'none', wish.mode]);
    return { ...bot, sandbox: mode === 'none' ? null : { mode, ...inSandbox }, inSandbox };
  });
  return { ...team, bots };
}

function setupOf(setup: TeamFile['setup']): ResolvedBot['setup'] {
  const { command = null, copy = [] } = setup ?? {};
  return command === null && copy.length === 0 ? null : { command, copy };
}
