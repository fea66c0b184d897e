/** What must not have happened. Each verdict is a list of sentences; none is the goal. Must not know an orchestrator. */
import type { Report, Seen, Step } from './system.ts';

export interface Verdicts {
  /** Acknowledged, and not there. */
  readonly lost: readonly string[];
  /** Applied more than once. */
  readonly twice: readonly string[];
  /** A result that was taken from somebody who no longer had the work. */
  readonly stale: readonly string[];
  /** Steps, runs and tasks whose status contradicts what their programs did. */
  readonly contradicted: readonly string[];
}

export function judge(seen: Seen): Verdicts {
  const times = countOf(seen.applied);
  const outputs = new Map(seen.steps.map((step) => [keyOf(step), step]));
  const verdicts = { lost: [] as string[], twice: [] as string[], stale: [] as string[], contradicted: [] as string[] };
  for (const report of seen.reports) {
    const { token, kind } = report;
    const found = times.get(token) ?? 0;
    if (found > 1) verdicts.twice.push(`${named(report)} was applied ${found} times`);
    if (found === 0 && isOwed(report, seen))
      verdicts.lost.push(`${named(report)} was ${report.answer} and is not there`);
    if (found > 0 && report.answer === 'refused')
      verdicts.contradicted.push(`${named(report)} was refused and applied`);
    const step = outputs.get(keyOf(report));
    if (kind === 'done' && step?.status === 'done' && step.output === token) {
      if (report.attempt !== null && report.attempt !== step.attempt) {
        verdicts.stale.push(`${named(report)} is of attempt ${report.attempt}, and ended attempt ${step.attempt}`);
      }
    }
  }
  for (const [end, found] of countOf(seen.ends)) {
    if (found > 1) verdicts.twice.push(`attempt ${end} ended ${found} times`);
  }
  const known = new Map(seen.reports.filter(({ kind }) => kind === 'done').map((report) => [report.token, report]));
  for (const step of seen.steps) verdicts.contradicted.push(...contradictions(step, known, seen));
  for (const run of seen.begun) {
    if (!seen.runs.has(run)) verdicts.lost.push(`run ${run} was acknowledged and is not there`);
  }
  judgeTasks(seen, verdicts);
  verdicts.lost.push(...seen.events.lost);
  verdicts.twice.push(...seen.events.twice);
  return verdicts;
}

/** Whether the orchestrator owes this report an effect. What was refused when it was taken came back to its program with the reason. */
function isOwed(report: Report, { refusedLater }: Seen): boolean {
  if (report.answer === 'taken') return true;
  if (report.answer === 'kept') return report.id === null || !refusedLater.has(report.id);
  // Its program did the work and reported it; that nobody heard it is the loss that a spool is for.
  return report.answer === 'unheard';
}

/** Something of its run needs a person, or the programs are still at work on something. */
function isHeld({ run }: Step, { steps, atWork }: Seen): boolean {
  return atWork.size > 0 || steps.some((other) => other.run === run && other.status === 'needs_person');
}

function contradictions(step: Step, known: ReadonlyMap<string, Report>, seen: Seen): string[] {
  const name = `step ${step.step} of ${step.run}`;
  switch (step.status) {
    case 'done': {
      if (step.by !== 'program') return [];
      const report = known.get(step.output ?? '');
      if (report === undefined) return [`${name} is done, and no program said so (${step.output})`];
      return keyOf(report) === keyOf(step) ? [] : [`${name} is done by the report of ${report.step} of ${report.run}`];
    }
    case 'working':
      if (step.by === 'program' && seen.atWork.has(keyOf(step))) return [];
      return [`${name} is shown as under way, and nobody works on it: ${step.why}`];
    case 'waiting':
      return isHeld(step, seen) ? [] : [`${name} waits, and nothing that it waits for will come: ${step.why}`];
    case 'needs_person':
      if (step.why === '') return [`${name} needs a person and does not say why`];
      return step.isAsked ? [] : [`${name} needs a person, and nobody was asked: ${step.why}`];
    case 'ended':
      return step.why === '' ? [`${name} has ended and does not say why`] : [];
  }
}

function judgeTasks(
  { created, tasks }: Seen,
  verdicts: { lost: string[]; twice: string[]; stale: string[]; contradicted: string[] },
): void {
  const there = new Map(tasks.map((task) => [task.id, task]));
  for (const id of created) {
    const task = there.get(id);
    if (task === undefined) verdicts.lost.push(`task ${id} was acknowledged and is not there`);
    else if (task.status !== 'succeeded') verdicts.contradicted.push(`task ${id} is ${task.status}`);
    else if (task.resultOf === null || !task.ran.includes(task.resultOf)) {
      verdicts.contradicted.push(
        `task ${id} has a result of lease ${task.resultOf}, under which its command did not end`,
      );
    } else if (task.ran.some((fence) => fence > task.resultOf!)) {
      verdicts.stale.push(
        `task ${id} has the result of lease ${task.resultOf}, and ran under ${Math.max(...task.ran)}`,
      );
    }
    for (const [fence, found] of countOf(task?.ran ?? [])) {
      if (found > 1) verdicts.twice.push(`task ${id} ran ${found} times under lease ${fence}`);
    }
  }
}

const keyOf = ({ run, step }: { readonly run: string; readonly step: string }) => `${run} ${step}`;
const named = ({ kind, token, run, step }: Report) => `${kind} ${token} about ${step} of ${run}`;

function countOf<T>(values: readonly T[]): Map<T, number> {
  const counts = new Map<T, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}
