/**
 * The instruction of a bot for a node: one message that holds everything, because several could arrive in another order. It ends with the commands
 * that report. Pure.
 */
import { diffLine, type Run, type RunNode } from './model.ts';
import { fillIn, type ValueFor } from './template/references.ts';

export function instructionFor(run: Run, node: RunNode, valueFor: ValueFor, inWorktree: boolean): string {
  const where = `${node.dagId} ${node.nodeId}`;
  const lines = node.step.proof
    .filter((proof) => proof.line !== diffLine)
    .map((proof) => `- ${proof.line}${proof.required ? '' : ' (if there is one)'}`);
  const parts = [
    `Step "${node.title}" of the run "${run.title}".`,
    run.intent === '' ? '' : `What the run is for: ${run.intent}`,
    fillIn(node.step.description, valueFor),
    node.attempt > 1 && node.detail !== null ? `This is attempt ${node.attempt}. The one before: ${node.detail}` : '',
    lines.length === 0
      ? ''
      : `The step counts as done when a file proves each of these lines:\n${lines.join('\n')}\nUpload a file: gantry workspace proof ${where} --line "<line>" <file>`,
    inWorktree
      ? 'You work in your own git worktree, on a branch for this step. Commit there; when you report the step done, its diff is kept as proof.'
      : '',
    node.step.verify === undefined ? '' : `It will be checked by: ${node.step.verify.command}`,
    `Report progress: gantry workspace progress ${where} "<text>"\nWhen it is done: gantry workspace done ${where} --output "<result>"\nIf you cannot do it: gantry workspace fail ${where} "<reason>"`,
  ];
  return parts.filter((part) => part.trim() !== '').join('\n\n');
}

export function reviewFor(run: Run, node: RunNode, valueFor: ValueFor, folder: string | null): string {
  const where = `${node.dagId} ${node.nodeId}`;
  const proven = [...node.proven].map((line) => `- ${line}`).join('\n');
  const parts = [
    `Check the step "${node.title}" of the run "${run.title}": ${node.assignee} says that it is done.`,
    run.intent === '' ? '' : `What the run is for: ${run.intent}`,
    fillIn(node.step.description, valueFor),
    proven === '' ? '' : `A file proves each of these lines:\n${proven}`,
    folder === null ? '' : `Its work is in ${folder}. See the diff: gantry agents diff ${node.assignee}`,
    `Look at it: gantry workspace node ${where}\nTo accept it: gantry workspace done ${where}\nTo reject it: gantry workspace fail ${where} "<reason>"`,
  ];
  return parts.filter((part) => part.trim() !== '').join('\n\n');
}

/** After something has cut its bot off; `over` says in a sentence that it is over. */
export function goOnFor(run: Run, node: RunNode, over: string): string {
  const where = `${node.dagId} ${node.nodeId}`;
  return `${over} Continue the step "${node.title}" of the run "${run.title}" where you left off.\n\nWhen it is done: gantry workspace done ${where} --output "<result>"\nIf you cannot do it: gantry workspace fail ${where} "<reason>"`;
}

/** To a bot that has a step and stays silent. */
export function nudgeFor(run: Run, node: RunNode, own: string | null, quietMs: number): string {
  const where = `${node.dagId} ${node.nodeId}`;
  const asks =
    own ??
    `Nothing has been heard of the step "${node.title}" of the run "${run.title}" for ${minutesOf(quietMs)}. Continue it, or report what became of it.`;
  return `${asks}\n\nWhen it is done: gantry workspace done ${where} --output "<result>"\nIf you cannot do it: gantry workspace fail ${where} "<reason>"`;
}

/** `20 minutes`; below two minutes in seconds. */
export function minutesOf(ms: number): string {
  return ms < 120_000 ? `${Math.round(ms / 1000)} seconds` : `${Math.round(ms / 60_000)} minutes`;
}

export function cancelledFor(run: Run, node: RunNode): string {
  return `The run "${run.title}" was cancelled. Stop working on its step "${node.title}" and confirm: gantry workspace fail ${node.dagId} ${node.nodeId} "stopped"`;
}

/** The page's part with the task (Markdown). */
export function specOf(run: Run, node: RunNode, valueFor: ValueFor): string {
  const { step } = node;
  const code = (command: string) => `\`\`\`sh\n${command}\n\`\`\``;
  const parts = [
    node.depth === 0 && run.intent !== '' ? `## Intent\n\n${run.intent}` : '',
    step.description === '' ? '' : `## What to do\n\n${fillIn(step.description, valueFor)}`,
    step.command === undefined ? '' : `## Command\n\n${code(step.command)}`,
    step.when === undefined ? '' : `## Condition\n\n\`${step.when}\``,
    step.verify === undefined ? '' : `## Check\n\n${code(step.verify.command)}`,
    step.proof.length === 0
      ? ''
      : `## Proof\n\n${step.proof.map((proof) => `- ${proof.line}${proof.required ? '' : ' (optional)'}`).join('\n')}`,
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}

/** The page's part that shows which lines are proven (Markdown). */
export function proofOf(node: RunNode, lines: readonly { line: string; required: boolean }[]): string {
  return lines
    .map(({ line, required }) =>
      node.proven.has(line) ? `- [x] ${line}` : `- [ ] ${line} (${required ? 'missing' : 'optional'})`,
    )
    .join('\n');
}
