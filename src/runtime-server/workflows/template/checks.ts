/** Checks of a template beyond its schema: ids, order, references, executors. All problems at once. Pure. */
import type { TemplateFile } from '../../../contracts/factory/workflow.ts';
import { ancestorsOf, findCycle } from './order.ts';
import { findReferences, type Reference } from './references.ts';
import { parseCondition } from './when.ts';

export interface RawProblem {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

type Step = TemplateFile['steps'][number];

export function checkTemplate(file: TemplateFile): RawProblem[] {
  const problems: RawProblem[] = [];
  const add = (path: RawProblem['path'], message: string) => problems.push({ path, message });
  const ids = new Map<string, number>();
  for (const [index, step] of file.steps.entries()) if (!ids.has(step.id)) ids.set(step.id, index);
  const ordered = file.steps.map((step) => ({ id: step.id, blockedBy: step.blocked_by ?? [] }));
  const byId = new Map(ordered.map((step) => [step.id, step]));

  checkParams(file, add);
  file.steps.forEach((step, index) => {
    const path = ['steps', index];
    if (ids.get(step.id) !== index) add([...path, 'id'], `The step id "${step.id}" is used twice.`);
    (step.blocked_by ?? []).forEach((parent, at) => {
      if (!ids.has(parent)) add([...path, 'blocked_by', at], `There is no step "${parent}" to wait for.`);
      else if (step.blocked_by?.indexOf(parent) !== at) add([...path, 'blocked_by', at], `"${parent}" is named twice.`);
    });
    checkExecutor(step, path, add);
    checkGate(step, path, add);
  });

  const cycle = findCycle(ordered);
  if (cycle !== null) {
    const index = ids.get(cycle[0] as string) ?? 0;
    add(['steps', index, 'blocked_by'], `Steps wait for each other in a cycle: ${cycle.join(' → ')}.`);
  }
  file.steps.forEach((step, index) => {
    const ancestors = () => ancestorsOf(step.id, byId);
    checkOnFail(step, index, ids, cycle === null ? ancestors : null, add);
    checkPlace(step, index, file, cycle === null ? ancestors : null, add);
    checkReferences(step, index, file, cycle === null ? ancestors : null, ids, add);
  });
  return problems;
}

type Add = (path: RawProblem['path'], message: string) => void;

function checkParams(file: TemplateFile, add: Add): void {
  const names = new Set<string>();
  (file.params ?? []).forEach((param, index) => {
    if (names.has(param.name)) add(['params', index, 'name'], `The param "${param.name}" is declared twice.`);
    names.add(param.name);
    if (param.required === true && param.default !== undefined) {
      add(['params', index, 'required'], `"${param.name}" has a default: it is never missing. Leave one of them out.`);
    }
  });
}

/** Here or at a worker, rather than being a task of a bot. */
export function runsCommand(executor = 'shell'): boolean {
  return executor === 'shell' || executor === 'queue';
}

function checkExecutor(step: Step, path: RawProblem['path'], add: Add): void {
  const { executor, command } = step;
  if (runsCommand(executor) && command === undefined) add(path, `The step "${step.id}" runs a command, but has none.`);
  if (!runsCommand(executor) && command !== undefined) {
    add(
      [...path, 'command'],
      `A bot gets its task from the description; "command" is only for the executors shell and queue.`,
    );
  }
  if (executor !== 'queue' && step.labels !== undefined) {
    add([...path, 'labels'], 'Labels choose a worker of the queue; they are only for the executor queue.');
  }
  if (executor === 'queue' && step.silence !== undefined) {
    add([...path, 'silence'], 'Gantry does not see what a worker prints: leave "silence" out, or set timeout_minutes.');
  }
  if (!runsCommand(executor) && step.title === undefined && step.description === undefined) {
    add(path, `The step "${step.id}" has no task for its bot. Give it a title or a description.`);
  }
}

const gateFields = { manual: [], timer: ['until', 'minutes'], command: ['command', 'every_seconds'] } as const;

function checkGate(step: Step, path: RawProblem['path'], add: Add): void {
  const gate = step.wait_gate;
  if (gate === null || gate === undefined) return;
  const allowed: readonly string[] = [...gateFields[gate.kind], 'kind', 'description'];
  for (const field of Object.keys(gate)) {
    if (!allowed.includes(field))
      add([...path, 'wait_gate', field], `"${field}" does not apply to a ${gate.kind} gate.`);
  }
  if (gate.kind === 'timer' && (gate.until === undefined) === (gate.minutes === undefined)) {
    add([...path, 'wait_gate'], 'A timer gate needs either "until" or "minutes".');
  }
  if (gate.kind === 'command' && gate.command === undefined)
    add([...path, 'wait_gate'], 'A command gate needs a "command".');
}

const policies = ['stop', 'continue', 'ask'];

function checkOnFail(
  step: Step,
  index: number,
  ids: ReadonlyMap<string, number>,
  ancestors: (() => Set<string>) | null,
  add: Add,
): void {
  const target = step.on_fail;
  if (target === undefined) return;
  const path = ['steps', index, 'on_fail'];
  if (policies.includes(target)) return;
  if (!ids.has(target)) add(path, `"${target}" is neither stop, continue or ask, nor a step.`);
  else if (ancestors !== null && !ancestors().has(target)) {
    add(path, `A loop can go back only to an earlier step: "${step.id}" does not wait for "${target}".`);
  }
}

/** `in` names the bot's step whose folder the command runs in. */
function checkPlace(
  step: Step,
  index: number,
  file: TemplateFile,
  ancestors: (() => Set<string>) | null,
  add: Add,
): void {
  if (step.in === undefined) return;
  const path = ['steps', index, 'in'];
  const about = file.steps.find((one) => one.id === step.in);
  if (!runsCommand(step.executor))
    add(path, 'A bot works in its own folder; "in" is only for the executors shell and queue.');
  else if (about === undefined) add(path, `There is no step "${step.in}".`);
  else if (runsCommand(about.executor))
    add(path, `"${step.in}" is not a step of a bot, so it has no folder of its own.`);
  else if (ancestors !== null && !ancestors().has(step.in)) add(path, `"${step.id}" does not wait for "${step.in}".`);
}

function checkReferences(
  step: Step,
  index: number,
  file: TemplateFile,
  ancestors: (() => Set<string>) | null,
  ids: ReadonlyMap<string, number>,
  add: Add,
): void {
  const params = new Set((file.params ?? []).map((param) => param.name));
  let before: Set<string> | null = null;
  const check = (path: RawProblem['path'], reference: Reference) => {
    if (reference.kind === 'param' && !params.has(reference.name)) add(path, `There is no param "${reference.name}".`);
    if (reference.kind !== 'step') return;
    if (!ids.has(reference.step)) return add(path, `There is no step "${reference.step}".`);
    if (ancestors === null) return;
    before ??= ancestors();
    if (!before.has(reference.step)) {
      add(path, `"${step.id}" does not wait for "${reference.step}": its ${reference.what} may not exist yet.`);
    }
  };
  for (const [path, text] of textsOf(step, index)) {
    for (const found of findReferences(text)) {
      if (found.reference === null) add(path, `{{ ${found.words} }} refers to nothing.`);
      else if (found.reference.kind === 'step' && path.at(-1) === 'title') {
        add(path, 'A title is set when the run starts: it cannot refer to the result of a step.');
      } else check(path, found.reference);
    }
  }
  const fixed: [RawProblem['path'], string | undefined][] = [
    [['steps', index, 'wait_gate', 'description'], step.wait_gate?.description],
    ...(step.proof ?? []).map((one, at): [RawProblem['path'], string] => [
      ['steps', index, 'proof', at, 'line'],
      one.line,
    ]),
  ];
  for (const [path, text] of fixed) {
    if (text !== undefined && findReferences(text).length > 0)
      add(path, 'References are not filled in here: write the text out.');
  }
  if (step.when === undefined) return;
  const path = ['steps', index, 'when'];
  const parsed = parseCondition(step.when);
  if ('problem' in parsed) add(path, parsed.problem);
  else for (const reference of parsed.condition.references) check(path, reference);
}

/** The texts of a step that may refer to values, with their places. */
function textsOf(step: Step, index: number): [RawProblem['path'], string][] {
  const path = ['steps', index];
  const texts: [RawProblem['path'], string | undefined][] = [
    [[...path, 'title'], step.title],
    [[...path, 'description'], step.description],
    [[...path, 'command'], step.command],
    [[...path, 'verify', 'command'], step.verify?.command],
    [[...path, 'wait_gate', 'command'], step.wait_gate?.command],
  ];
  return texts.filter((entry): entry is [RawProblem['path'], string] => entry[1] !== undefined);
}
