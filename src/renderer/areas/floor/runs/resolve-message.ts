/** What a bot is asked when its branch cannot be merged. Must not know how it is sent. */
import type { MergeConflicts } from '../../../../contracts/factory/worktree-routes.ts';

/** Files that the message names; git names the others during the merge. */
const maxNamed = 20;

export function resolveMessage({ into, files }: MergeConflicts): string {
  const named = files.slice(0, maxNamed).map((file) => `- ${file}`);
  const more = files.length > maxNamed ? ['- and others'] : [];
  return [
    `Your branch cannot be merged into ${into}. These files conflict:`,
    ...named,
    ...more,
    '',
    `Commit your work, merge ${into} into your branch, resolve the conflicts so that both changes keep their purpose, run the tests and commit. Do not change ${into}.`,
  ].join('\n');
}
