/** Labels of a pane by which a restarted runtime recognises its agent, even with an empty database. */
import { z } from 'zod';
import { HarnessName } from '../../contracts/factory/agent.ts';
import type { BotSpec } from '../harness/harness.ts';

const Labels = z.object({
  agent: z.string().min(1),
  team: z.string().min(1),
  slug: z.string().min(1),
  workspace: z.string().min(1),
  harness: HarnessName,
  cwd: z.string(),
  model: z.string().optional(),
  command: z.string().optional(),
});
type Labels = z.infer<typeof Labels>;

export function labelsFor(spec: BotSpec, workspace: string): Record<string, string> {
  return {
    agent: spec.agentId,
    team: spec.team,
    slug: spec.slug,
    workspace,
    harness: spec.harness,
    cwd: spec.cwd,
    ...(spec.model === null ? {} : { model: spec.model }),
    ...(spec.command === null ? {} : { command: spec.command }),
  };
}

/** Null for a pane that is no bot of ours. */
export function labelsOf(labels: Readonly<Record<string, string>>): Labels | null {
  const parsed = Labels.safeParse(labels);
  return parsed.success ? parsed.data : null;
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
  };
}
