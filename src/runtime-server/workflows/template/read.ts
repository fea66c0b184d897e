/**
 * Reads the text of a template, JSON or Markdown with a fenced spec: either the template or every problem with path and line.
 * Knows the text; must not know folders or runs.
 */
import { LineCounter } from 'yaml';
import type { z } from 'zod';
import type { TeamProblem } from '../../../contracts/factory/agent.ts';
import {
  defaultMaxRounds,
  largestTemplate,
  type SilenceFile,
  type Template,
  TemplateFile,
} from '../../../contracts/factory/workflow.ts';
import { deepestNesting, isNestedDeeper } from '../../../kit/files/nesting.ts';
import { readYaml } from '../../../kit/files/yaml.ts';
import { createLines, showPath } from '../../agents/team-file/lines.ts';
import { checkTemplate, type RawProblem, runsCommand } from './checks.ts';

/** Finding the line of each takes time, and nobody reads more of them at once. */
const maxProblems = 100;

export type ReadTemplate =
  | { readonly ok: true; readonly template: Template }
  /** `waits`: the file is valid, but its person has not agreed to it. */
  | { readonly ok: false; readonly problems: readonly TeamProblem[]; readonly waits?: string };

/** `id` is the file's name without its ending. */
export function readTemplate(text: string, id: string, kind: 'json' | 'md'): ReadTemplate {
  if (Buffer.byteLength(text) > largestTemplate) return bad(null, `The file has more than ${largestTemplate} bytes.`);
  if (kind === 'json') return readSpec(text, id, 'json', 0, '');
  const fence = findFence(text);
  if (fence === null) return bad(null, 'The file has no fenced spec: a block that begins with ```json or ```yaml.');
  return readSpec(fence.text, id, fence.language, fence.line, prose(text, fence.start));
}

/** Only the steps; null: the text is no template. */
export function readSteps(text: string, id: string, kind: 'json' | 'md'): Template['steps'] | null {
  const read = readTemplate(text, id, kind);
  return read.ok ? read.template.steps : null;
}

const bad = (line: number | null, message: string): ReadTemplate => ({
  ok: false,
  problems: [{ path: '', line, message }],
});

interface Fence {
  readonly text: string;
  readonly language: 'json' | 'yaml';
  /** Lines before the spec's first. */
  readonly line: number;
  readonly start: number;
}

function findFence(text: string): Fence | null {
  const opening = /^(```+|~~~+)[ \t]*(json|ya?ml)\b[^\n]*\n/m.exec(text);
  if (opening === null) return null;
  const from = opening.index + opening[0].length;
  const closing = new RegExp(`^${opening[1]}[ \\t]*$`, 'm').exec(text.slice(from));
  return {
    text: closing === null ? text.slice(from) : text.slice(from, from + closing.index),
    language: opening[2] === 'json' ? 'json' : 'yaml',
    line: text.slice(0, from).split('\n').length - 1,
    start: opening.index,
  };
}

/** The first paragraph before the spec: the purpose of the template, unless the spec has one. */
function prose(text: string, end: number): string {
  const paragraphs = text.slice(0, end).split(/\n\s*\n/);
  return paragraphs.map((one) => one.trim()).find((one) => one !== '' && !one.startsWith('#')) ?? '';
}

function readSpec(
  text: string,
  id: string,
  language: 'json' | 'yaml',
  offset: number,
  description: string,
): ReadTemplate {
  if (isNestedDeeper(text)) return bad(null, `The file is nested more than ${deepestNesting} levels deep.`);
  let raw: unknown;
  // JSON is read as JSON, which is fast; positions of its parts are looked up only to report a problem.
  if (language === 'json') {
    try {
      raw = JSON.parse(text);
    } catch (error) {
      return bad(offset + lineOfJsonError(text, error as Error), `Not valid JSON: ${(error as Error).message}.`);
    }
  } else {
    const counter = new LineCounter();
    const document = readYaml(text, counter);
    const first = document.errors[0];
    if (first !== undefined) {
      return bad(offset + counter.linePos(first.pos[0]).line, `Not valid YAML: ${first.message}`);
    }
    try {
      raw = document.toJS({ maxAliasCount: 100 });
    } catch (error) {
      return bad(offset + 1, `Not valid YAML: ${(error as Error).message}`);
    }
  }
  const parsed = TemplateFile.safeParse(raw);
  const found: RawProblem[] = parsed.success ? checkTemplate(parsed.data) : parsed.error.issues.flatMap(fromIssue);
  if (!/^[a-z0-9][a-z0-9_-]{0,63}$/.test(id)) {
    found.push({
      path: [],
      message: `The file's name "${id}" cannot be a template id: lowercase letters, digits, "_" and "-".`,
    });
  }
  if (parsed.success && parsed.data.id !== undefined && parsed.data.id !== id) {
    found.push({ path: ['id'], message: `The id "${parsed.data.id}" is not the file's name "${id}".` });
  }
  if (found.length === 0 && parsed.success) return { ok: true, template: toTemplate(parsed.data, id, description) };
  return { ok: false, problems: place(found, text, offset) };
}

function place(found: readonly RawProblem[], text: string, offset: number): TeamProblem[] {
  const counter = new LineCounter();
  const lines = createLines(readYaml(text, counter), counter);
  const problems = found.slice(0, maxProblems).map(({ path, message }) => {
    const line = lines.of(path);
    return { path: showPath(path), line: offset + (line ?? 1), message };
  });
  return problems.sort((a, b) => a.line - b.line);
}

/** The error names a position only in long texts; the other reader does so in any. */
function lineOfJsonError(text: string, error: Error): number {
  const position = /position (\d+)/.exec(error.message);
  if (position !== null) return text.slice(0, Number(position[1])).split('\n').length;
  const counter = new LineCounter();
  const first = readYaml(text, counter).errors[0];
  return first === undefined ? 1 : counter.linePos(first.pos[0]).line;
}

function fromIssue(issue: z.core.$ZodIssue): RawProblem[] {
  const path = issue.path.map((part) => (typeof part === 'number' ? part : String(part)));
  const last = String(path.at(-1) ?? 'The file');
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => ({ path: [...path, key], message: `Unknown field "${key}".` }));
    case 'invalid_type':
      return [{ path, message: `"${last}" is missing or not of type ${issue.expected}.` }];
    case 'invalid_value':
      return [{ path, message: `"${last}" is not one of ${issue.values.map(String).join(', ')}.` }];
    default:
      return [{ path, message: `"${last}": ${issue.message}.` }];
  }
}

function toTemplate(file: TemplateFile, id: string, description: string): Template {
  return {
    id,
    name: file.name ?? id,
    description: file.description ?? description,
    params: (file.params ?? []).map((param) => ({ ...param, required: param.required ?? false })),
    steps: file.steps.map((step) => ({
      id: step.id,
      title: step.title ?? step.id,
      description: step.description ?? '',
      executor: step.executor ?? 'shell',
      ...(step.command === undefined ? {} : { command: step.command }),
      ...(step.in === undefined ? {} : { in: step.in }),
      ...(step.labels === undefined ? {} : { labels: step.labels }),
      ...(step.verify === undefined ? {} : { verify: step.verify }),
      blockedBy: step.blocked_by ?? [],
      needsAny: step.needs_any ?? false,
      ...(step.when === undefined ? {} : { when: step.when }),
      onFail: step.on_fail ?? 'stop',
      retry: { max: step.retry?.max ?? 0, backoffSeconds: step.retry?.backoff_seconds ?? 10 },
      waitGate: toGate(step.wait_gate ?? null),
      proof: (step.proof ?? []).map((proof) => ({ line: proof.line, required: proof.required ?? true })),
      ...(step.timeout_minutes === undefined ? {} : { timeoutMinutes: step.timeout_minutes }),
      ...toSilence(file.silence, step),
      ...(step.budget === undefined ? {} : { budget: step.budget }),
    })),
    maxRounds: file.max_rounds ?? defaultMaxRounds,
    ...(file.budget === undefined ? {} : { budget: file.budget }),
    closure: file.closure ?? {},
  };
}

/** What a step says comes before what the template says for all. A command may be silent, unless its own step says otherwise. */
function toSilence(
  all: SilenceFile | undefined,
  { silence: own, executor = 'shell' }: TemplateFile['steps'][number],
): Pick<Template['steps'][number], 'silence'> {
  const given = runsCommand(executor) ? own : all === undefined ? own : { ...all, ...own };
  if (given === undefined) return {};
  const { nudge_minutes: nudgeMinutes, ...rest } = given;
  return { silence: { ...rest, ...(nudgeMinutes === undefined ? {} : { nudgeMinutes }) } };
}

function toGate(gate: TemplateFile['steps'][number]['wait_gate'] | null): Template['steps'][number]['waitGate'] {
  if (gate === null || gate === undefined) return null;
  const { every_seconds: everySeconds, ...rest } = gate;
  return { ...rest, ...(everySeconds === undefined ? {} : { everySeconds }) };
}

/** The template as it is written on disk; defaults are left out. */
export function toFile(template: Template): TemplateFile {
  const closure = Object.keys(template.closure).length === 0 ? {} : { closure: template.closure };
  return {
    id: template.id,
    name: template.name,
    ...(template.description === '' ? {} : { description: template.description }),
    ...(template.params.length === 0 ? {} : { params: template.params.map(toFileParam) }),
    steps: template.steps.map(toFileStep),
    ...(template.maxRounds === defaultMaxRounds ? {} : { max_rounds: template.maxRounds }),
    ...(template.budget === undefined ? {} : { budget: template.budget }),
    ...closure,
  };
}

function toFileParam({ required, ...param }: Template['params'][number]): NonNullable<TemplateFile['params']>[number] {
  return required ? { ...param, required } : param;
}

function toFileStep(step: Template['steps'][number]): TemplateFile['steps'][number] {
  const gate = step.waitGate;
  return {
    id: step.id,
    title: step.title,
    ...(step.description === '' ? {} : { description: step.description }),
    executor: step.executor,
    ...(step.command === undefined ? {} : { command: step.command }),
    ...(step.in === undefined ? {} : { in: step.in }),
    ...(step.labels === undefined ? {} : { labels: step.labels }),
    ...(step.verify === undefined ? {} : { verify: step.verify }),
    ...(step.blockedBy.length === 0 ? {} : { blocked_by: step.blockedBy }),
    ...(step.needsAny ? { needs_any: true } : {}),
    ...(step.when === undefined ? {} : { when: step.when }),
    ...(step.onFail === 'stop' ? {} : { on_fail: step.onFail }),
    ...(step.retry.max === 0 ? {} : { retry: { max: step.retry.max, backoff_seconds: step.retry.backoffSeconds } }),
    ...(gate === null ? {} : { wait_gate: toFileGate(gate) }),
    ...(step.proof.length === 0 ? {} : { proof: step.proof }),
    ...(step.timeoutMinutes === undefined ? {} : { timeout_minutes: step.timeoutMinutes }),
    ...(step.silence === undefined ? {} : { silence: toFileSilence(step.silence) }),
    ...(step.budget === undefined ? {} : { budget: step.budget }),
  };
}

function toFileSilence({ nudgeMinutes, ...silence }: NonNullable<Template['steps'][number]['silence']>): SilenceFile {
  return { ...silence, ...(nudgeMinutes === undefined ? {} : { nudge_minutes: nudgeMinutes }) };
}

function toFileGate({ everySeconds, ...gate }: NonNullable<Template['steps'][number]['waitGate']>) {
  return { ...gate, ...(everySeconds === undefined ? {} : { every_seconds: everySeconds }) };
}
