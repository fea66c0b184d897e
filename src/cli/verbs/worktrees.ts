/** `gantry agents diff|merge|keep|discard`: what a bot changed on its branch, and what becomes of it. */
import { mostPatch, type WorktreeEnding } from '../../contracts/factory/worktree-routes.ts';
import { type Action, type Context, flag, type Input, optionalText, text } from '../command.ts';
import type { FactoryClient } from '../connect.ts';
import { table } from '../table.ts';
import { count, inCell, oneLine } from '../words.ts';
import { findAgent } from './find-agent.ts';

export const diff: Action = async (context, input) => {
  const { factory } = await context.connect();
  const agent = await findAgent(factory, text(input, 'bot'), context.names);
  const answer = await factory.agentDiff({ params: { id: agent.id } });
  context.output.result(answer, () => {
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
    const rest = answer.cut ? [`The diff is longer than ${mostPatch} characters: see the rest in ${answer.path}.`] : [];
    const shown = flag(input, 'stat') ? [] : ['', answer.patch.trimEnd()];
    return [...facts, '', table(['change', 'lines', 'file'], rows, context.output.width), ...shown, ...rest].join('\n');
  });
  return undefined;
};

type Ended = { done: WorktreeEnding & { head: string } } | { dryRun: true; plan: WorktreeEnding };
interface Asked {
  readonly params: { id: string };
  readonly dryRun: true | undefined;
}

function ending(
  call: (factory: FactoryClient, asked: Asked, input: Input) => Promise<Ended>,
  done: (ending: WorktreeEnding & { head: string }, context: Context) => string,
): Action {
  return async (context, input) => {
    const { factory } = await context.connect();
    const agent = await findAgent(factory, text(input, 'bot'), context.names);
    const answer = await call(factory, { params: { id: agent.id }, dryRun: flag(input, 'dryRun') || undefined }, input);
    context.output.result(answer, () => {
      if ('done' in answer) return done(answer.done, context);
      const { plan } = answer;
      const steps = plan.steps.map((step) => `  ${oneLine(step, 300)}`).join('\n');
      return `${count(plan.commits, 'commit')}, ${count(plan.files, 'file')}. Would:\n${steps}`;
    });
    return undefined;
  };
}

export const merge = ending(
  (factory, { params, dryRun }, input) =>
    factory.mergeWorktree({ params, body: { commit: optionalText(input, 'commit'), dryRun } }),
  (one) =>
    `${one.branch} is merged into ${inCell(one.into ?? '')} (${count(one.files, 'file')}, ${one.head.slice(0, 12)}).`,
);
export const keep = ending(
  (factory, { params, dryRun }, input) =>
    factory.keepWorktree({
      params,
      body: { as: optionalText(input, 'as'), commit: optionalText(input, 'commit'), dryRun },
    }),
  (one) => `The work is on the branch ${inCell(one.keptAs ?? '')}; ${one.agent} goes on with a fresh one.`,
);
export const discard = ending(
  (factory, { params, dryRun }) => factory.discardWorktree({ params, body: { dryRun } }),
  (one) =>
    `${one.branch} is set aside; ${one.agent} goes on with a fresh one.\nTo get it back: git branch <name> ${inCell(one.keptAs ?? '')}`,
);
