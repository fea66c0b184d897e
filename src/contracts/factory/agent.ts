/** Agents, teams and panes in their wire form. */
import { z } from 'zod';
import { Time } from '../common/values.ts';

export const agentStates = [
  'offline',
  'starting',
  'idle',
  'working',
  'needs_you',
  'checking',
  'done',
  'blocked',
  'failed',
] as const;
export const AgentState = z.enum(agentStates);
export type AgentState = z.infer<typeof AgentState>;

/**
 * The agent programs that Gantry drives; each has a folder of its name in the runtime. `title`: how its maker calls it. `adoptable`: its own
 * conversations can be listed and continued. `takesPrompt`: a new run can give it a prompt. `pane`: it runs in a terminal that people watch; otherwise it
 * speaks a protocol with Gantry, and what there is to see of it is its conversation.
 */
const programs = {
  shell: { title: 'Shell', adoptable: false, takesPrompt: false, pane: true },
  claude: { title: 'Claude Code', adoptable: true, takesPrompt: true, pane: true },
  codex: { title: 'Codex', adoptable: true, takesPrompt: true, pane: true },
  copilot: { title: 'Copilot', adoptable: true, takesPrompt: true, pane: true },
  gemini: { title: 'Gemini CLI', adoptable: true, takesPrompt: true, pane: true },
  opencode: { title: 'opencode', adoptable: true, takesPrompt: true, pane: true },
  qwen: { title: 'Qwen Code', adoptable: true, takesPrompt: true, pane: true },
  custom: { title: 'Custom program', adoptable: false, takesPrompt: false, pane: true },
  acp: { title: 'ACP agent', adoptable: false, takesPrompt: false, pane: false },
} as const;

type Programs = typeof programs;
type Trait = 'adoptable' | 'takesPrompt';
type With<T extends Trait> = { [N in keyof Programs]: Programs[N][T] extends true ? N : never }[keyof Programs];

export const harnesses = Object.keys(programs) as readonly (keyof Programs)[];
export const HarnessName = z.enum(harnesses);
export type HarnessName = z.infer<typeof HarnessName>;

export const runsInPane = (harness: HarnessName): boolean => programs[harness].pane;

export const titleOf = (harness: HarnessName): string => programs[harness].title;

/** Those with a trait, in the order of the list. */
export function harnessesWith<T extends Trait>(trait: T): readonly With<T>[] {
  return harnesses.filter((name): name is With<T> => programs[name][trait]);
}

/** A sign-in of an agent program besides that of its person. */
export const AccountName = z.string().regex(/^[a-z0-9_-]{1,40}$/, 'lowercase letters, digits, "_" and "-", at most 40');
/** In an order of accounts: the sign-in that its person uses without Gantry. */
export const ownAccount = 'default';

export const bindingTypes = ['hosted', 'terminal', 'vendor'] as const;
export const lanes = ['official', 'channel', 'ui_bridge', 'local'] as const;
export const bindingModes = ['hosted', 'linked', 'mirror'] as const;

export const AgentBinding = z.strictObject({
  type: z.enum(bindingTypes),
  harness: HarnessName.optional(),
  vendor: z.string().optional(),
  lane: z.enum(lanes).optional(),
  mode: z.enum(bindingModes).optional(),
  model: z.string().optional().meta({ description: 'For a hosted bot.' }),
});
export type AgentBinding = z.infer<typeof AgentBinding>;

export const PaneRef = z.strictObject({ id: z.string(), attachable: z.boolean() });
export type PaneRef = z.infer<typeof PaneRef>;

export const Agent = z
  .strictObject({
    id: z.string(),
    slug: z.string(),
    name: z.string(),
    address: z.string().meta({ description: '"slug@team"' }),
    team: z.string(),
    role: z.string().nullable(),
    binding: AgentBinding,
    state: AgentState,
    stateReason: z.string().nullable().meta({ description: 'In words; "unclear" if the evidence is not clear.' }),
    stale: z
      .boolean()
      .meta({ description: 'True while the pane engine cannot be read: this is the last known state.' }),
    currentNode: z.strictObject({ dagId: z.string(), nodeId: z.string(), title: z.string() }).nullable(),
    proof: z.strictObject({ proven: z.number().int(), total: z.number().int() }),
    pane: PaneRef.nullable(),
    machine: z.string().meta({ description: 'Id of the computer it runs on.' }),
    runner: z.string().meta({ description: '"local" or "remote:<computer_id>"' }),
    queueDepth: z.number().int(),
    since: Time.meta({ description: 'When it entered this state.' }),
    sandbox: z
      .enum(['files', 'closed'])
      .optional()
      .meta({ description: 'What it runs in, or will run in once it is started. Absent: it is in no sandbox.' }),
    account: z.string().optional().meta({
      description:
        'The account that it is signed in with, or will be once it is started. Absent: its person’s own sign-in.',
    }),
    caps: z
      .array(
        z.strictObject({
          what: z.enum(['memory', 'processes', 'processor', 'disk']),
          limit: z.number().meta({ description: 'Mebibytes of memory or disk, how many processes, or cores.' }),
          heldBy: z.enum(['cgroup', 'watched', 'nothing']).meta({
            description:
              'cgroup: by the kernel. watched: by a look every few seconds that ends what is over it. nothing: this computer cannot hold it.',
          }),
          hits: z.number().int().meta({
            description:
              'How often it was enforced since this runtime began to look; of the processor, how often its programs began to wait.',
          }),
          last: Time.nullable(),
        }),
      )
      .optional()
      .meta({ description: 'Of a live bot in a sandbox. Absent: none.' }),
    refused: z
      .array(
        z.strictObject({
          destination: z.string().nullable().meta({ description: 'host:port; null if it cannot be known.' }),
          why: z.string(),
          times: z.number().int(),
          last: Time,
        }),
      )
      .max(10)
      .optional()
      .meta({
        description:
          'Connections that a live bot in a sandbox was refused since this runtime started, the newest first. Absent: none.',
      }),
  })
  .meta({ id: 'Agent' });
export type Agent = z.infer<typeof Agent>;

type Cap = NonNullable<Agent['caps']>[number];

const capUnit = { memory: 'MiB of memory', processes: 'processes', processor: 'cores', disk: 'MiB of disk' } as const;
const heldWords: Readonly<Record<Cap['heldBy'], string>> = {
  cgroup: '',
  watched: ' (watched)',
  nothing: ' (not held on this computer)',
};

/** What was done when it was reached. */
function enforced({ what, heldBy }: Cap): string {
  switch (what) {
    case 'memory':
      return 'its largest process was ended';
    case 'processes':
      return heldBy === 'watched' ? 'its newest processes were ended' : 'it could start no more';
    case 'processor':
      return 'its programs had to wait';
    case 'disk':
      return 'what still wrote was ended';
  }
}

/** A limit of its sandbox, and what became of it: "64 MiB of memory, reached once: its largest process was ended". */
export function limitWords(cap: Cap): string {
  const { what, limit, heldBy, hits } = cap;
  const held = `${limit} ${what === 'processor' && limit === 1 ? 'core' : capUnit[what]}${heldWords[heldBy]}`;
  return hits === 0 ? held : `${held}, reached ${hits === 1 ? 'once' : `${hits} times`}: ${enforced(cap)}`;
}

export const Engine = z.strictObject({ running: z.boolean(), error: z.string().nullable() });
export type Engine = z.infer<typeof Engine>;

export const Cursor = z.strictObject({ x: z.number().int(), y: z.number().int(), visible: z.boolean() });

/** A parsed screen, with its size and cursor. */
export const Screen = z
  .strictObject({
    ansi: z.string(),
    revision: z.number().int(),
    at: Time,
    cols: z.number().int(),
    rows: z.number().int(),
    cursor: Cursor,
  })
  .meta({ id: 'Screen' });
export type Screen = z.infer<typeof Screen>;

/** Lines above a pane’s screen. */
export const Scrollback = z.strictObject({
  ansi: z.string(),
  first: z.number().int().meta({ description: 'Absolute number of the first returned line.' }),
  lines: z.number().int(),
  total: z.number().int(),
  commands: z
    .array(
      z.strictObject({
        line: z.number().int().meta({ description: 'Absolute number of the line where it begins.' }),
        exit: z.number().int().nullable().meta({ description: 'Its exit code; null while it runs.' }),
      }),
    )
    .readonly()
    .optional()
    .meta({ description: 'Commands of a shell that marks its prompts (OSC 133), on the screen and above it.' }),
});
export type Scrollback = z.infer<typeof Scrollback>;

export const TranscriptChunk = z.strictObject({ at: Time, text: z.string() });

/** Named keys; with any of the prefixes `C-`, `M-`, `S-` before a name or one printable character (`C-c`). */
export const namedKeys = [
  'Enter',
  'Tab',
  'Escape',
  'Backspace',
  'Delete',
  'Space',
  'Up',
  'Down',
  'Left',
  'Right',
  'Home',
  'End',
  'PageUp',
  'PageDown',
  'Insert',
  ...Array.from({ length: 12 }, (_, index) => `F${index + 1}` as const),
] as const;

export const PaneInput = z.strictObject({
  text: z.string().max(1_000_000).optional(),
  keys: z.array(z.string().min(1).max(32)).max(1000).optional(),
  paste: z.boolean().optional().meta({
    description:
      'The text was pasted: it is framed as a paste if the program supports that, so that its lines do not count as typed.',
  }),
});
export type PaneInput = z.infer<typeof PaneInput>;

export const PaneSize = z.strictObject({
  cols: z.number().int().min(2).max(1000),
  rows: z.number().int().min(2).max(500),
});
export type PaneSize = z.infer<typeof PaneSize>;

/** Files with content that their person has not agreed to: until then it has no effect. */
const Waits = z
  .array(z.string())
  .optional()
  .meta({ description: 'Files that wait for your yes, relative to the workspace. Absent: none.' });

export const Team = z
  .strictObject({
    name: z.string(),
    title: z.string().optional().meta({
      description: 'Title of the run from a prompt for which Gantry made the team; absent for a team of the workspace.',
    }),
    preset: z.string().nullable(),
    presets: z.array(z.string()),
    agents: z.array(Agent),
    waits: Waits,
    edges: z.array(
      z.strictObject({ kind: z.enum(['delegates_to', 'checks', 'directs']), from: z.string(), to: z.string() }),
    ),
  })
  .meta({ id: 'Team' });
export type Team = z.infer<typeof Team>;

export const TeamProblem = z.strictObject({ path: z.string(), line: z.number().int().nullable(), message: z.string() });
export type TeamProblem = z.infer<typeof TeamProblem>;

export const InvalidTeam = z.strictObject({ name: z.string(), problems: z.array(TeamProblem), waits: Waits });
export type InvalidTeam = z.infer<typeof InvalidTeam>;

export const TeamPlanStep = z
  .strictObject({
    action: z.enum(['spawn', 'bind', 'skip', 'stop']),
    agent: z.string().meta({ description: 'Address, "slug@team".' }),
    harness: HarnessName.optional(),
    machine: z.string().optional(),
    reason: z.string(),
    start: z
      .strictObject({
        command: z.string().nullable().meta({ description: 'From the team file; null: the agent program itself.' }),
        cwd: z.string(),
        env: z.record(z.string(), z.string()).meta({ description: 'As in the team file, with secrets by name.' }),
      })
      .optional()
      .meta({ description: 'What would run, before the first start and after a change.' }),
    placeholders: z.array(z.string()).optional().meta({
      description:
        'Names of secrets that the bot gets as placeholders. Gantry puts each value into requests to the secret’s host.',
    }),
  })
  .meta({ id: 'TeamPlanStep' });
export type TeamPlanStep = z.infer<typeof TeamPlanStep>;
