/** A bot as the tool server sees it: its folder, its variables, its mode. Must not know tools. */
import type { ToolBot } from '../tool-server/index.ts';
import type { Member } from './member.ts';

/** `open`: the secrets of the vault that these variables name. A bot in a terminal asks its person before it acts. */
export async function toolBotOf(
  { id, address, spec, definition }: Member,
  workspace: string,
  open: (env: Readonly<Record<string, string>>) => Promise<Readonly<Record<string, string>>>,
): Promise<ToolBot> {
  // The values it was started with count as long as it runs.
  const env = spec?.env ?? definition?.env ?? {};
  const secrets = await open(env);
  return {
    agentId: id,
    address,
    mode: 'REQUIRE_APPROVAL',
    root: spec?.cwd ?? definition?.cwd ?? workspace,
    checkout: spec?.checkout ?? (definition?.worktree === true ? definition.cwd : workspace),
    env: { ...env, ...secrets },
    secrets: new Set(Object.keys(secrets)),
  };
}
