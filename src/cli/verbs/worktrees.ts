/** `gantry agents diff|merge|keep|discard|restore`: shows what a bot changed on its branch, and decides what happens to it. */
import { maxPatchLength, type WorktreeEnding } from '../../contracts/factory/worktree-routes.ts';
import { flag } from '../command.ts';
import { verb } from '../route-verb.ts';
import { table } from '../table.ts';
import { count, inCell, oneLine } from '../words.ts';
import { botId } from './find-agent.ts';

const fields = { id: botId };

export const diff = verb('agentDiff', {
  fields,
  words: (answer, { output }, input) => {
    if (answer.files.length === 0) return `${answer.agent} has changed nothing on ${answer.branch}.`;
    const rows = answer.files.map((file) => [
      file.change,
      file.added === null ? 'binary' : `+${file.added} -${file.removed ?? 0}`,
      file.from === null ? file.path : `${file.from} → ${file.path}`,
    ]);
    const facts = [
      `${answer.branch}: ${count(answer.ahead, 'commit')} ahead of ${answer.into ?? 'its checkout'}, ${answer.behind} behind`,
      ...(answer.uncommitted === 0 ? [] : [`${count(answer.uncommitted, 'file')} not committed`]),
    ];
    const rest = answer.cut
      ? [`The diff is longer than ${maxPatchLength} characters: see the rest in ${answer.path}.`]
      : [];
    const shown = flag(input, 'stat') ? [] : ['', answer.patch.trimEnd()];
    return [...facts, '', table(['change', 'lines', 'file'], rows, output.width), ...shown, ...rest].join('\n');
  },
});

type Ended = { done: WorktreeEnding & { head: string } } | { dryRun: true; plan: WorktreeEnding };

/** What became of the work, or what would be done. */
const ending = (done: (ending: WorktreeEnding & { head: string }) => string) => ({
  fields,
  words: (answer: Ended) => {
    if ('done' in answer) return done(answer.done);
    const { plan } = answer;
    const steps = plan.steps.map((step) => `  ${oneLine(step, 300)}`).join('\n');
    return `${count(plan.commits, 'commit')}, ${count(plan.files, 'file')}. Would:\n${steps}`;
  },
});

export const merge = verb(
  'mergeWorktree',
  ending(
    (one) =>
      `${one.branch} is merged into ${inCell(one.into ?? '')} (${count(one.files, 'file')}, ${one.head.slice(0, 12)}).`,
  ),
);
export const keep = verb(
  'keepWorktree',
  ending((one) => `The work is on the branch ${inCell(one.keptAs ?? '')}; ${one.agent} continues on a fresh one.`),
);
export const discard = verb(
  'discardWorktree',
  ending(
    (one) =>
      `${one.branch} is set aside; ${one.agent} continues on a fresh one.\nTo get it back: gantry agents restore ${one.agent}, or git branch <name> ${inCell(one.keptAs ?? '')}`,
  ),
);

export const restore = verb('restoreWorktree', {
  ...ending((one) => `${one.branch} is back, with ${count(one.commits, 'commit')} and ${count(one.files, 'file')}.`),
  fields: { ...fields, keptAs: 'from' },
});
