/**
 * Describes what a file allows to run, a sentence each, and the difference from the agreed content. The person reads this before the diff, so each
 * sentence names the command, the folder or the variable itself. Pure: texts in, words out.
 */
import { dirname } from 'node:path';
import { createTwoFilesPatch } from 'diff';
import { type NetworkPreset, TeamFile, type TeamFileBot } from '../../contracts/factory/team-file.ts';
import type { TemplateStep } from '../../contracts/factory/workflow.ts';
import { isNestedDeeper } from '../../kit/files/nesting.ts';
import { readYaml } from '../../kit/files/yaml.ts';
import { PolicyFile } from '../policy/file.ts';
import { isPackageFolder } from './packages.ts';
import type { FileKind } from './waiting.ts';

/** Reads the steps of a template's file; null: the text is no template. `id` is the file's name without its ending. */
export type ReadSteps = (text: string, id: string, form: 'json' | 'md') => readonly TemplateStep[] | null;

interface Loads {
  readonly bot: string;
  readonly name: string;
  readonly value: string;
}

/** Nobody reads more of them; the diff has the others. */
const maxWords = 60;
const maxWordLength = 300;
/** Texts beyond are not compared line by line. Characters. */
const maxComparedLength = 256 * 1024;
const maxEdits = 2000;
const maxDiffLength = 64 * 1024;

/**
 * Variables that make any program load code or run another program. Matched whole; Windows and npm ignore case.
 */
const loading =
  /^(?:LD_\w+|DYLD_\w+|GCONV_PATH|NODE_OPTIONS|NODE_PATH|NODE_EXTRA_CA_CERTS|BUN_\w+|DENO_\w+|NPM_CONFIG_\w+|YARN_\w+|PYTHON\w*|PERL5\w+|PERLLIB|RUBY\w+|GEM_(?:HOME|PATH)|BUNDLE_\w+|LUA_\w+|PHP_INI_SCAN_DIR|PHPRC|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS|CLASSPATH|MAVEN_OPTS|GRADLE_OPTS|DOTNET_\w+|CORECLR_\w+|GOFLAGS|RUSTC?_?\w*WRAPPER|CARGO_\w+|BASH_ENV|BASH_FUNC_\w+|ENV|ZDOTDIR|FPATH|IFS|PS4|PROMPT_COMMAND|SHELL|SHELLOPTS|BASHOPTS|PATH|GIT_\w+|SSH_\w+|EDITOR|VISUAL|PAGER|MANPAGER|LESSOPEN|LESSCLOSE|BROWSER|CLAUDE_\w+|CODEX_\w+|GEMINI_\w+|QWEN_\w+|OPENCODE_\w+|COPILOT_\w+)$/i;

export const loadsCode = (name: string): boolean => loading.test(name);

/** The sentences that `now` has and `before` does not, then those that are gone. */
export function wordsOf(
  kind: FileKind,
  path: string,
  now: string | null,
  before: string | null,
  readSteps: ReadSteps,
): string[] {
  const after = now === null ? [] : said(kind, path, now, readSteps);
  const earlier = before === null ? [] : said(kind, path, before, readSteps);
  const fresh = after.filter((word) => !earlier.includes(word));
  const gone = earlier.filter((word) => !after.includes(word)).map((word) => `No longer: ${word}`);
  const words = [...fresh, ...gone].map((word) =>
    word.length > maxWordLength ? `${word.slice(0, maxWordLength)}…` : word,
  );
  if (words.length === 0) return [now === null ? 'The file was removed.' : 'Nothing that runs changes; see the diff.'];
  const more = words.length - maxWords;
  return more > 0 ? [...words.slice(0, maxWords), `And ${more} more: see the diff.`] : words;
}

/** Variables of a team's bots that load code and were not agreed to with this value. */
export function loadsOf(kind: FileKind, now: string | null, before: string | null): Loads[] {
  if (kind !== 'team') return [];
  const earlier = new Set((before === null ? [] : variablesOf(before)).map((one) => JSON.stringify(one)));
  return (now === null ? [] : variablesOf(now)).filter(
    (one) => loadsCode(one.name) && !earlier.has(JSON.stringify(one)),
  );
}

/** Null: too long to be read. */
export function diffOf(path: string, before: string | null, now: string | null): string | null {
  if ((before?.length ?? 0) > maxComparedLength || (now?.length ?? 0) > maxComparedLength) return null;
  const patch = createTwoFilesPatch(
    before === null ? '/dev/null' : path,
    now === null ? '/dev/null' : path,
    before ?? '',
    now ?? '',
    undefined,
    undefined,
    { maxEditLength: maxEdits },
  );
  if (patch === undefined || patch.length > maxDiffLength) return null;
  return patch.replace(/^(?:Index: .*\n)?=+\n/, '');
}

function said(kind: FileKind, path: string, text: string, readSteps: ReadSteps): string[] {
  const words = read(kind, path, text, readSteps);
  return words ?? [`${path} is not valid.`];
}

function read(kind: FileKind, path: string, text: string, readSteps: ReadSteps): string[] | null {
  if (kind === 'policy') return policyWords(text);
  if (kind === 'team') return teamWords(text);
  if (kind === 'template') return templateWords(path, text, readSteps);
  return settingsWords(path, text);
}

function fromYaml(text: string): unknown {
  if (isNestedDeeper(text)) return undefined;
  try {
    const document = readYaml(text);
    return document.errors.length > 0 ? undefined : (document.toJS({ maxAliasCount: 100 }) ?? {});
  } catch {
    return undefined;
  }
}

function policyWords(text: string): string[] | null {
  const parsed = PolicyFile.safeParse(fromYaml(text));
  if (!parsed.success) return null;
  const verb = { allow: 'Allows without asking', ask: 'Asks before', deny: 'Denies' };
  const rules = parsed.data.rules.map(({ when, then: verdict, reason }) => {
    const about = Object.entries(when).map(([name, glob]) => `${name} ${JSON.stringify(glob)}`);
    return `${verb[verdict]}: ${about.join(', ')}${reason === undefined ? '' : ` (${reason})`}.`;
  });
  return [...sandboxWords('Every bot in a terminal', parsed.data), ...rules];
}

function teamOf(text: string): TeamFile | null {
  const parsed = TeamFile.safeParse(fromYaml(text));
  return parsed.success ? parsed.data : null;
}

type Overrides = Omit<TeamFileBot, 'bot'>;

/** Each bot, with the presets applied. */
function* botsOf(team: TeamFile): Generator<readonly [string, Overrides]> {
  for (const { bot, ...given } of team.bots) yield [bot, given];
  for (const [preset, { bots }] of Object.entries(team.presets ?? {})) {
    for (const [bot, given] of Object.entries(bots)) yield [`${bot} with preset ${preset}`, given];
  }
}

function variablesOf(text: string): Loads[] {
  const team = teamOf(text);
  if (team === null) return [];
  return [...botsOf(team)].flatMap(([bot, { env = {} }]) =>
    Object.entries(env).map(([name, value]) => ({ bot, name, value })),
  );
}

function teamWords(text: string): string[] | null {
  const team = teamOf(text);
  if (team === null) return null;
  return [
    ...setupWords('Every bot', team),
    ...sandboxWords('Every bot in a terminal', team),
    ...accountWords('Every bot in a terminal', team),
    ...[...botsOf(team)].flatMap(([bot, given]) => {
      const how =
        given.binding === 'hosted'
          ? `is a hosted bot${given.model === undefined ? '' : ` with the model ${given.model}`}, permissions ${given.permissions ?? 'REQUIRE_APPROVAL'}`
          : given.vendor !== undefined
            ? `is an app of ${given.vendor}`
            : `runs ${[given.harness, ...(given.harnesses ?? [])].filter((one) => one !== undefined).join(' or ') || 'as the team says'}`;
      const where = given.cwd === undefined ? '' : ` in ${given.cwd}`;
      const there = given.machine === undefined ? '' : ` on the computer ${given.machine}`;
      return [
        `${bot} ${how}${where}${there}.`,
        ...(given.command === undefined ? [] : [`${bot} starts the command: ${given.command}`]),
        ...Object.entries(given.env ?? {}).map(([name, value]) =>
          loadsCode(name)
            ? `${bot} sets ${name}=${value}: every program it starts loads or runs what that names.`
            : `${bot} sets ${name}=${value}`,
        ),
        ...setupWords(bot, given),
        ...sandboxWords(bot, given),
        ...accountWords(bot, given),
      ];
    }),
  ];
}

function setupWords(bot: string, { setup }: Pick<TeamFile, 'setup'>): string[] {
  return setup === undefined ? [] : [`${bot} sets its worktree up with: ${JSON.stringify(setup)}`];
}

function accountWords(
  bot: string,
  { account, accounts = [], accounts_may_cost: mayCost }: Pick<TeamFile, 'account' | 'accounts' | 'accounts_may_cost'>,
): string[] {
  return [
    ...(account === undefined ? [] : [`${bot} signs in with the account ${account}.`]),
    ...(accounts.length === 0
      ? []
      : [`${bot} signs in with the account ${accounts.join(', and at its usage limit ')}.`]),
    ...(mayCost === true ? [`${bot} may continue with an account that is paid by use.`] : []),
  ];
}

const reached: Readonly<Record<NetworkPreset, string>> = {
  agent: 'the service of its agent program',
  packages: 'registries of packages',
  remote: 'the remotes of its repository',
};

function sandboxWords(
  bot: string,
  { sandbox, caps = {}, sees = {}, network = {} }: Pick<TeamFile, 'sandbox' | 'caps' | 'sees' | 'network'>,
): string[] {
  return [
    ...(sandbox === undefined
      ? []
      : [`${bot} runs ${sandbox === 'none' ? 'in no sandbox' : `in the sandbox "${sandbox}"`}.`]),
    ...(caps.memory === undefined ? [] : [`${bot} uses at most ${caps.memory} of memory in a sandbox.`]),
    ...(caps.processes === undefined ? [] : [`${bot} has at most ${caps.processes} processes in a sandbox.`]),
    ...(caps.processor === undefined ? [] : [`${bot} uses at most ${caps.processor} cores in a sandbox.`]),
    ...(caps.disk === undefined ? [] : [`${bot} adds at most ${caps.disk} to the disk in a sandbox.`]),
    ...(sees.read ?? []).map((path) => `${bot} reads ${path} also in a sandbox.`),
    ...(sees.write ?? []).map((path) => `${bot} changes ${path} also in a sandbox.`),
    ...(network.presets ?? []).map(
      (preset) => `${bot} reaches ${reached[preset]} without a question in the sandbox "closed".`,
    ),
    ...(network.ports ?? []).map(
      (port) => `${bot} may connect to port ${port} of allowed names in the sandbox "closed".`,
    ),
  ];
}

function templateWords(path: string, text: string, readSteps: ReadSteps): string[] | null {
  const [, id = '', ending] = /([^/\\]+)\.(json|md)$/.exec(path) ?? [];
  const steps = readSteps(text, id, ending === 'md' ? 'md' : 'json');
  if (steps === null) return null;
  return steps.flatMap((step) => [
    `Step ${step.id} is done by ${step.executor}.`,
    ...(step.command === undefined ? [] : [`Step ${step.id} runs: ${step.command}`]),
    ...(step.verify === undefined ? [] : [`Step ${step.id} is checked by: ${step.verify.command}`]),
  ]);
}

/** Settings of agent programs differ: what starts something or allows it is found by its key. */
const telling =
  /^(?:command|args|url|hooks?|allow|env|apiKeyHelper|statusLine|plugin|permission\w*|mode|defaultMode)$/i;

function settingsWords(path: string, text: string): string[] | null {
  if (isPackageFolder(path)) {
    const lines = text.split('\n').filter((line) => line !== '');
    return lines.map((line) => `Code in ${dirname(path)} may load the package ${line.replace(/ sha256 .*/, '')}.`);
  }
  if (/(?:^|\/)\.env[^/]*$/.test(path)) return [`Variables for agent programs (${text.split('\n').length} lines).`];
  if (!/\.jsonc?$/.test(path)) return [`${path} is read by agent programs that run in this folder.`];
  let raw: unknown;
  try {
    raw = isNestedDeeper(text) ? undefined : JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof raw !== 'object' || raw === null) return null;
  const words: string[] = [];
  const walk = (value: object, at: string): void => {
    for (const [key, inner] of Object.entries(value)) {
      const way = at === '' ? key : `${at}.${key}`;
      if (typeof inner === 'object' && inner !== null && !isPlainList(inner)) walk(inner, way);
      else if (telling.test(key) || /(?:^|\.)(?:env|permissions|hooks)\./.test(way)) {
        words.push(`${way}: ${JSON.stringify(inner)}`);
      }
    }
  };
  walk(raw, '');
  return words.length === 0 ? [`${path} is read by agent programs that run in this folder.`] : words;
}

const isPlainList = (value: object): boolean =>
  Array.isArray(value) && value.every((one) => typeof one !== 'object' || one === null);
