/** `team.yaml`: the schema that the reader checks and that is published as JSON Schema. */
import { z } from 'zod';
import { AccountName, bindingModes, bindingTypes, harnesses, lanes } from './agent.ts';

/** Entries of `.gantry/teams` that are read: each team would be watched, parsed and kept. */
export const maxTeams = 200;

export const TeamName = z.string().regex(/^[a-z0-9_-]{1,64}$/, 'lowercase letters, digits, "_" and "-", at most 64');
/** What a hosted bot may do without asking: only look; ask before each act; change files, and ask before other acts. */
export const hostedModes = ['REQUIRE_APPROVAL', 'PLAN_ONLY', 'ACCEPT_EDITS'] as const;
export type HostedMode = (typeof hostedModes)[number];

/** Limits of one turn of a hosted bot. */
export const TurnLimitsFile = z.strictObject({
  steps: z.number().int().min(1).max(1000).optional().meta({ description: 'How often its model may be called.' }),
  tokens: z.number().int().min(1000).optional().meta({ description: 'Input and output together.' }),
  minutes: z
    .number()
    .min(0.01)
    .max(24 * 60)
    .optional()
    .meta({ description: 'Not counting time spent waiting for a person.' }),
  usd: z.number().gt(0).optional().meta({ description: 'Dollars; needs a known price.' }),
});

export const BotSlug = z.string().regex(/^[a-z0-9_-]{1,64}$/, 'lowercase letters, digits, "_" and "-", at most 64');

/** Ways a bot may call its person. `sms`, `push` and `phone` act; the others are a problem of the file. */
export const reachWays = ['telegram', 'slack', 'sms', 'email', 'push', 'phone'] as const;
export const actingReachWays = ['sms', 'push', 'phone'] as const;

/** Copied from the checkout into a worktree: nothing outside of it, and nothing of git's or Gantry's own. */
const CopiedPath = z
  .string()
  .min(1)
  .max(1000)
  .regex(
    /^(?!\/)(?!.*\\)(?!(?:.*\/)?\.{1,2}(?:\/|$))(?!(?:.*\/)?\.(?:git|gantry)(?:\/|$)).*[^/]$/,
    'a path inside of the bot’s folder without "..", such as node_modules; not .git or .gantry',
  );

/** The set-up of a worktree. */
export const SetupFile = z.strictObject({
  command: z.string().min(1).max(20_000).optional().meta({
    description: 'A shell command, in the bot’s folder: once for each worktree, and again when a lock file changes.',
  }),
  copy: z.array(CopiedPath).max(50).optional().meta({
    description: 'Paths that git ignores, such as node_modules, copied from the checkout first.',
  }),
});

/** What a bot in a terminal sees of the person's files, and reaches over the network. In order: a later one is stricter. */
export const sandboxModes = ['none', 'files', 'closed'] as const;
export type SandboxMode = (typeof sandboxModes)[number];
export const SandboxMode = z.enum(sandboxModes);

/** The strictest of several wishes. */
export function strictestSandbox(modes: readonly SandboxMode[]): SandboxMode {
  return sandboxModes.findLast((mode) => modes.includes(mode)) ?? 'none';
}

/** Destinations that many bots need, by name. */
export const networkPresets = ['agent', 'packages', 'remote'] as const;
export type NetworkPreset = (typeof networkPresets)[number];
/** Without `network:` a closed bot reaches the service of its agent program and asks about everything else. */
export const defaultNetworkPresets: readonly NetworkPreset[] = ['agent'];

/** What a bot reaches in `sandbox: closed` without a question. */
export const NetworkFile = z.strictObject({
  presets: z.array(z.enum(networkPresets)).max(networkPresets.length).optional().meta({
    description:
      'Reached without a question. agent: the service of its agent program. packages: registries of packages. remote: the remotes of its repository. Default: [agent].',
  }),
  ports: z.array(z.number().int().min(1).max(65_535)).max(20).optional().meta({
    description: 'Ports besides 80, 443 and 22 on which programs that know no proxy may connect to a name.',
  }),
});

const SeenPath = z
  .string()
  .max(1000)
  .regex(/^~?\/(?!(?:.*\/)?\.\.(?:\/|$)).*[^/]$/, 'an absolute path or ~/…, without ".." and without "/" at its end');

/** What a sandboxed bot sees besides its own folder, its program and its sign-in. */
export const SeesFile = z.strictObject({
  read: z.array(SeenPath).max(50).optional().meta({ description: 'Files and folders that it may only read.' }),
  write: z.array(SeenPath).max(50).optional().meta({ description: 'Files and folders that it may also change.' }),
});

const Mebibytes = z.string().regex(/^[1-9]\d{0,5}(?:MiB|GiB)$/, 'such as 512MiB or 4GiB');

/** Of everything that a sandboxed bot runs together. */
export const CapsFile = z.strictObject({
  memory: Mebibytes.optional().meta({
    description: 'At most; over it the largest process in the sandbox is ended, which may be the bot itself.',
  }),
  processes: z.number().int().min(16).max(100_000).optional().meta({ description: 'Processes and threads, at most.' }),
  processor: z.number().min(0.1).max(1024).optional().meta({
    description: 'Cores, at most, such as 1.5; its programs wait where they would use more.',
  }),
  disk: Mebibytes.optional().meta({
    description:
      'What may be added, from its start, to the folders that it may write; over it the processes in the sandbox that still write are ended.',
  }),
});

const sandbox = {
  sandbox: SandboxMode.optional().meta({
    description:
      'For bots in terminals. files: of your files the bot sees only its folder, its program, its sign-in and what sees names. closed: as files, and it reaches only destinations that are allowed by name. The strictest of bot, team and .gantry/policy.yaml holds. Default: none.',
  }),
  caps: CapsFile.optional().meta({ description: 'In a sandbox; the lower of bot and team holds.' }),
  sees: SeesFile.optional().meta({ description: 'In a sandbox; added to that of the team.' }),
  network: NetworkFile.optional().meta({
    description: 'With sandbox: closed. Of presets the bot’s own replace the team’s; ports are added.',
  }),
};

const account = {
  account: AccountName.optional().meta({
    description: 'The account that its program is signed in with; default: your own sign-in.',
  }),
  accounts: z.array(AccountName).min(1).max(20).optional().meta({
    description:
      'In place of account: when one meets its usage limit, the bot continues with the next one that has not. "default" is your own sign-in.',
  }),
  accounts_may_cost: z.boolean().optional().meta({
    description:
      'With accounts that begin with a subscription: whether the bot may also continue with one that is paid by use.',
  }),
};

const bot = {
  ...sandbox,
  ...account,
  role: z.string().min(1).max(64).optional(),
  binding: z.enum(bindingTypes).optional(),
  harness: z.enum(harnesses).optional(),
  harnesses: z
    .array(z.enum(harnesses))
    .min(1)
    .optional()
    .meta({ description: 'In order of preference: the first that is installed is used.' }),
  vendor: z.string().min(1).optional(),
  lane: z.enum(lanes).optional(),
  mode: z.enum(bindingModes).optional(),
  directed_by: BotSlug.optional(),
  model: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .meta({ description: 'Hosted: <vendor>/<model>, or only the name of the model.' }),
  permissions: z.enum(hostedModes).optional().meta({ description: 'Hosted only; default REQUIRE_APPROVAL.' }),
  limits: TurnLimitsFile.optional().meta({ description: 'Hosted only; for one turn.' }),
  machine: z.string().min(1).optional().meta({ description: 'A paired computer, by name or id; default: this one.' }),
  command: z.string().min(1).optional().meta({
    description:
      'For custom (and shell): what runs in the pane. For acp: the command of the agent, or the name of a known one, such as gemini.',
  }),
  cwd: z.string().min(1).optional().meta({ description: 'Absolute, ~/…, or relative to the workspace.' }),
  env: z
    .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'a name such as PATH'), z.string())
    .optional()
    .meta({ description: '`vault:<NAME>` inserts that secret from the vault.' }),
  worktree: z.boolean().optional(),
  setup: SetupFile.optional().meta({ description: 'With worktree: true; replaces the team’s.' }),
};

export const TeamFileBot = z.strictObject({ bot: BotSlug, name: z.string().min(1).max(80).optional(), ...bot });
export type TeamFileBot = z.infer<typeof TeamFileBot>;

export const TeamFile = z
  .strictObject({
    schema: z.union([z.literal(1), z.literal('1'), z.string()]).optional(),
    name: TeamName.optional(),
    version: z.union([z.string(), z.number()]).optional(),
    culture: z.string().optional(),
    setup: SetupFile.optional().meta({ description: 'For every bot with worktree: true.' }),
    ...sandbox,
    ...account,
    bots: z.array(TeamFileBot).min(1).max(200),
    reach: z.record(BotSlug, z.array(z.enum(reachWays))).optional(),
    edges: z
      .array(z.strictObject({ kind: z.enum(['delegates_to', 'checks', 'directs']), from: BotSlug, to: BotSlug }))
      .optional(),
    presets: z
      .record(
        z.string().regex(/^[a-z0-9_-]{1,64}$/, 'lowercase letters, digits, "_" and "-", at most 64'),
        z.strictObject({ bots: z.record(BotSlug, z.strictObject(bot)) }),
      )
      .optional(),
    default_preset: z.string().optional(),
  })
  .meta({ id: 'TeamFile', title: 'Gantry team.yaml' });
export type TeamFile = z.infer<typeof TeamFile>;
