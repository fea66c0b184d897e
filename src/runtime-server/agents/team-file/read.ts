/**
 * Reads the text of a `team.yaml`: either the team, or every problem at once with path and line. Knows the file's text and its folders; must not
 * know which bots run.
 */
import { isAbsolute, join, resolve } from 'node:path';
import { LineCounter } from 'yaml';
import type { z } from 'zod';
import type { TeamProblem } from '../../../contracts/factory/agent.ts';
import { TeamFile, TeamName } from '../../../contracts/factory/team-file.ts';
import { deepestNesting, isNestedDeeper } from '../../../kit/files/nesting.ts';
import { readYaml } from '../../../kit/files/yaml.ts';
import { checkTeam, type RawProblem } from './checks.ts';
import { createLines, type Lines, showPath, type YamlPath } from './lines.ts';

/** A team file is written by hand; anything larger is a mistake. Bytes. */
export const largestTeamFile = 256 * 1024;
/** Finding the line of each takes time, and nobody reads more of them at once. */
const maxProblems = 100;

interface Surroundings {
  /** Name of the team's folder. */
  readonly folder: string;
  /** Absolute path of the workspace: relative `cwd`s start here. */
  readonly workspace: string;
  /** The person's home folder, for `~/…`. */
  readonly userHome: string;
  /** Whether the path is a folder. */
  isFolder(path: string): boolean;
  /** Whether the team's folder has this file. */
  hasFile(name: string): boolean;
}

type ReadTeam =
  | { readonly ok: true; readonly file: TeamFile; readonly problems: readonly [] }
  | { readonly ok: false; readonly problems: readonly TeamProblem[] };

export function readTeamFile(text: string, around: Surroundings): ReadTeam {
  if (Buffer.byteLength(text) > largestTeamFile) {
    return bad([{ path: '', line: null, message: `team.yaml has more than ${largestTeamFile} bytes.` }]);
  }
  if (isNestedDeeper(text)) {
    return bad([{ path: '', line: null, message: `team.yaml is nested more than ${deepestNesting} levels deep.` }]);
  }
  const counter = new LineCounter();
  const document = readYaml(text, counter);
  const syntax = document.errors.slice(0, maxProblems).map((error) => ({
    path: '',
    line: counter.linePos(error.pos[0]).line,
    message: `Not valid YAML: ${error.message}`,
  }));
  // A key given twice leaves a document that can be judged; other faults of the syntax would only breed false problems.
  if (document.errors.some((error) => error.code !== 'DUPLICATE_KEY')) return bad(syntax);

  let raw: unknown;
  try {
    raw = document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    return bad([{ path: '', line: 1, message: `Not valid YAML: ${(error as Error).message}` }]);
  }
  const lines = createLines(document, counter);
  const parsed = TeamFile.safeParse(raw ?? {});
  const found: RawProblem[] = [
    ...(TeamName.safeParse(around.folder).success ? [] : [folderProblem(around.folder)]),
    ...(parsed.success ? [] : parsed.error.issues.flatMap((issue) => fromIssue(issue, raw))),
    ...checkTeam(raw, around.folder),
    ...checkDisk(raw, around),
  ];
  const problems = [...syntax, ...found.slice(0, maxProblems).map((problem) => place(problem, lines))];
  problems.sort((a, b) => (a.line ?? 0) - (b.line ?? 0));
  if (problems.length > 0 || !parsed.success) return bad(problems);
  return { ok: true, file: parsed.data, problems: [] };
}

const bad = (problems: readonly TeamProblem[]): ReadTeam => ({ ok: false, problems });

function place(problem: RawProblem, lines: Lines): TeamProblem {
  const whole = problem.key === undefined ? problem.path : [...problem.path, problem.key];
  const line = problem.key === undefined ? lines.of(problem.path) : lines.ofKey(problem.path, problem.key);
  return { path: showPath(whole), line: line ?? 1, message: problem.message };
}

function folderProblem(folder: string): RawProblem {
  return {
    path: [],
    message: `The folder name "${folder}" cannot be a team name: lowercase letters, digits, "_" and "-".`,
  };
}

/** One problem, as a sentence, for one issue of the schema. */
function fromIssue(issue: z.core.$ZodIssue, raw: unknown): RawProblem[] {
  const path = issue.path;
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => ({ path, key, message: `Unknown field "${key}".` }));
    case 'invalid_type':
      return valueAt(raw, path) === undefined
        ? [{ path, message: `"${String(path.at(-1) ?? 'bots')}" is missing; ${issue.expected} is expected.` }]
        : [{ path, message: `${show(raw, path)} is not of type ${issue.expected}.` }];
    case 'invalid_value':
      return [{ path, message: `${show(raw, path)} is not one of ${issue.values.map(String).join(', ')}.` }];
    case 'invalid_key':
      return [
        {
          path: path.slice(0, -1),
          key: String(path.at(-1)),
          message: `"${String(path.at(-1))}" cannot be a name here: ${issue.issues.map((each) => each.message).join('; ')}.`,
        },
      ];
    case 'too_small':
      return [{ path, message: `"${String(path.at(-1))}" must not be empty.` }];
    default:
      return [{ path, message: `${show(raw, path)}: ${issue.message}.` }];
  }
}

function valueAt(raw: unknown, path: YamlPath): unknown {
  return path.reduce<unknown>(
    (value, part) =>
      typeof value === 'object' && value !== null ? (value as Record<PropertyKey, unknown>)[part] : undefined,
    raw,
  );
}

function show(raw: unknown, path: YamlPath): string {
  const text = JSON.stringify(valueAt(raw, path)) ?? 'nothing';
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
}

/** Folders and files that the team names must exist. Reads the raw document, so that it reports them beside problems of the schema. */
function checkDisk(raw: unknown, around: Surroundings): RawProblem[] {
  const problems: RawProblem[] = [];
  const checkCwd = (bot: unknown, path: YamlPath) => {
    const cwd = valueAt(bot, ['cwd']);
    if (typeof cwd !== 'string' || cwd === '') return;
    const full = resolveCwd(cwd, around);
    if (around.isFolder(full)) return;
    problems.push({ path: [...path, 'cwd'], message: `cwd ${full} is not a folder. Create it or name another.` });
  };
  const bots = valueAt(raw, ['bots']);
  for (const [index, bot] of (Array.isArray(bots) ? bots : []).entries()) checkCwd(bot, ['bots', index]);
  for (const [preset, value] of Object.entries(valueAt(raw, ['presets']) ?? {})) {
    for (const [slug, bot] of Object.entries(valueAt(value, ['bots']) ?? {})) {
      checkCwd(bot, ['presets', preset, 'bots', slug]);
    }
  }
  const culture = valueAt(raw, ['culture']);
  const file = typeof culture === 'string' ? cultureFile({ culture }) : null;
  if (file !== null && !around.hasFile(file)) {
    problems.push({ path: ['culture'], message: `The team's folder has no file ${file}.` });
  }
  return problems;
}

/** Absolute folder of a bot: given absolute, below the person's home, or relative to the workspace. */
export function resolveCwd(cwd: string | undefined, around: { workspace: string; userHome: string }): string {
  if (cwd === undefined) return around.workspace;
  if (cwd === '~' || cwd.startsWith('~/')) return join(around.userHome, cwd.slice(1));
  return isAbsolute(cwd) ? cwd : resolve(around.workspace, cwd);
}

/** Name of the culture file in the team's folder; null when `culture` is the text itself. */
export function cultureFile(file: Pick<TeamFile, 'culture'>): string | null {
  if (file.culture === undefined) return 'CULTURE.md';
  return /^[A-Za-z0-9._-]+\.md$/.test(file.culture) ? file.culture : null;
}
