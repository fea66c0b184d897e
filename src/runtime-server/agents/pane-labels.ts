/** Labels of a pane by which a restarted runtime recognises its agent, even with an empty database. */
import { z } from 'zod';
import { HarnessName } from '../../contracts/factory/agent.ts';
import { strictestSandbox } from '../../contracts/factory/team-file.ts';
import { capNames } from '../../kit/sandbox/caps.ts';
import type { Disk } from '../../kit/sandbox/disk-watch.ts';
import type { BotSandbox, BotSpec } from '../harness/harness.ts';

const Labels = z.object({
  agent: z.string().min(1),
  team: z.string().min(1),
  slug: z.string().min(1),
  workspace: z.string().min(1),
  harness: HarnessName,
  cwd: z.string(),
  /** Where `cwd` led when its team was started. */
  folder: z.string().optional(),
  model: z.string().optional(),
  command: z.string().optional(),
  sandbox: z.enum(['files', 'closed']).optional(),
  account: z.string().optional(),
  /** As JSON: labels are texts. */
  caps: z.string().optional(),
  /** What a closed bot reaches, as JSON. */
  network: z.string().optional(),
  /** What a bot with a limit of disk may write, as JSON. */
  disk: z.string().optional(),
});
type Labels = z.infer<typeof Labels>;

/** Of a program as it was placed; absent where nothing says it. */
interface OfPlace {
  readonly network?: string;
  readonly disk?: Disk;
}

/** `folder`: where its `cwd` leads; null where that is not known. */
export function labelsFor(
  spec: BotSpec,
  workspace: string,
  folder: string | null,
  { network, disk }: OfPlace = {},
): Record<string, string> {
  return {
    agent: spec.agentId,
    team: spec.team,
    slug: spec.slug,
    workspace,
    harness: spec.harness,
    cwd: spec.cwd,
    ...(folder === null ? {} : { folder }),
    ...(spec.model === null ? {} : { model: spec.model }),
    ...(spec.command === null ? {} : { command: spec.command }),
    ...(spec.sandbox === undefined ? {} : { sandbox: spec.sandbox.mode }),
    ...(spec.account === undefined ? {} : { account: spec.account }),
    ...(spec.sandbox?.caps === undefined ? {} : { caps: JSON.stringify(spec.sandbox.caps) }),
    ...(network === undefined ? {} : { network }),
    ...(disk === undefined ? {} : { disk: JSON.stringify(disk) }),
  };
}

/** Null for a pane that is no bot of ours. */
export function labelsOf(labels: Readonly<Record<string, string>>): Labels | null {
  const parsed = Labels.safeParse(labels);
  return parsed.success ? parsed.data : null;
}

const Caps = z.partialRecord(z.enum(capNames), z.number());
const Folders = z.strictObject({ folders: z.array(z.string()), before: z.number().nullable() });

/** The limits of the bot in a pane; nothing where it has none. */
export function capsIn({ caps }: { readonly caps?: string | undefined }): Pick<BotSandbox, 'caps'> {
  if (caps === undefined) return {};
  try {
    return { caps: Caps.parse(JSON.parse(caps)) };
  } catch {
    return {};
  }
}

/** What the bot in a pane may write; null where its pane does not say it. */
export function diskIn({ disk }: { readonly disk?: string | undefined }): Disk | null {
  if (disk === undefined) return null;
  try {
    return Folders.parse(JSON.parse(disk));
  } catch {
    return null;
  }
}

/** As it was written when its team was started, with a sandbox or account that it got at a restart since. Null: neither says what it is. */
export function specOfPane(written: BotSpec | null, labels: Labels | null): BotSpec | null {
  const seen = labels === null ? null : specFromLabels(labels);
  if (written === null || seen === null) return written ?? seen;
  const { account: _before, ...rest } = written;
  const sandbox = stricter(written.sandbox, seen.sandbox);
  return {
    ...rest,
    ...(sandbox === undefined ? {} : { sandbox }),
    ...(seen.account === undefined ? {} : { account: seen.account }),
  };
}

/** What was written, with the mode of what is seen where that is stricter. */
function stricter(written: BotSandbox | undefined, seen: BotSandbox | undefined): BotSandbox | undefined {
  if (written === undefined || seen === undefined) return written ?? seen;
  return strictestSandbox([written.mode, seen.mode]) === written.mode ? written : { ...written, mode: seen.mode };
}

/** Enough to judge and write to the bot; its environment and culture matter only at start. */
export function specFromLabels(labels: Labels): BotSpec {
  return {
    agentId: labels.agent,
    slug: labels.slug,
    team: labels.team,
    harness: labels.harness,
    model: labels.model ?? null,
    command: labels.command ?? null,
    cwd: labels.cwd,
    env: {},
    culture: null,
    ...(labels.account === undefined ? {} : { account: labels.account }),
    // The paths it saw besides its own are not in the labels: without them it is stricter.
    ...(labels.sandbox === undefined
      ? {}
      : { sandbox: { mode: labels.sandbox, read: [], write: [], ...capsIn(labels) } }),
  };
}
