/**
 * Checks of `team.yaml` beyond its schema: names that must exist, circles, `reach` entries without effect, fields that need others. Reads the raw
 * document, so that these problems are reported together with those of the schema. Must not touch the disk.
 */
import { actingReachWays, reachWays, type TeamFileBot } from '../../../contracts/factory/team-file.ts';
import type { YamlPath } from './lines.ts';

export interface RawProblem {
  readonly path: YamlPath;
  /** Points at a key of the mapping at `path` instead of its value. */
  readonly key?: string;
  readonly message: string;
}

type Raw = Readonly<Record<string, unknown>>;

const record = (value: unknown): Raw =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Raw) : {};
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const quote = (value: unknown) => `"${String(value)}"`;
const names = (all: Iterable<string>) => [...all].join(', ') || 'none';

/** Fields of a bot as far as they have the right type; the schema reports the others. */
type LooseBot = Partial<Record<keyof TeamFileBot, unknown>>;

export function checkTeam(document: unknown, folder: string): RawProblem[] {
  const file = record(document);
  const bots = list(file.bots).map(record);
  const slugs = new Set(bots.map((bot) => bot.bot).filter((slug): slug is string => typeof slug === 'string'));
  return [
    ...checkName(file, folder),
    ...checkDuplicates(bots),
    ...checkBots(file, bots),
    ...checkReferences(file, bots, slugs),
    ...checkCircles(file, bots, slugs),
    ...checkReach(file),
  ];
}

function checkName(file: Raw, folder: string): RawProblem[] {
  if (typeof file.name !== 'string' || file.name === folder) return [];
  return [
    {
      path: ['name'],
      message: `The team is called ${quote(file.name)} but its folder is ${quote(folder)}. Give both the same name.`,
    },
  ];
}

function checkDuplicates(bots: readonly Raw[]): RawProblem[] {
  const first = new Map<unknown, number>();
  return bots.flatMap((bot, index) => {
    if (typeof bot.bot !== 'string') return [];
    const before = first.get(bot.bot);
    if (before === undefined) {
      first.set(bot.bot, index);
      return [];
    }
    return [
      { path: ['bots', index, 'bot'], message: `Bot ${quote(bot.bot)} is defined twice: also at bots[${before}].` },
    ];
  });
}

/** Every shape that the file can start: the bare bots when no preset is the default, and each preset. */
function checkBots(file: Raw, bots: readonly Raw[]): RawProblem[] {
  const presets = record(file.presets);
  const shapes: { preset: string | null; overrides: Raw }[] = Object.entries(presets).map(([preset, value]) => ({
    preset,
    overrides: record(record(value).bots),
  }));
  const byDefault = typeof file.default_preset === 'string' && Object.hasOwn(presets, file.default_preset);
  if (!byDefault) shapes.unshift({ preset: null, overrides: {} });
  const problems = new Map<string, RawProblem>();
  bots.forEach((bot, index) => {
    for (const { preset, overrides } of shapes) {
      const override = typeof bot.bot === 'string' ? record(overrides[bot.bot]) : {};
      for (const problem of checkBot({ ...bot, ...override })) {
        const inPreset = preset !== null && Object.hasOwn(override, problem.field);
        const path = inPreset
          ? ['presets', preset, 'bots', String(bot.bot), problem.field]
          : ['bots', index, problem.field];
        const key = `${path.join('.')} ${problem.message}`;
        if (!problems.has(key)) problems.set(key, { path, message: problem.message });
      }
    }
  });
  return [...problems.values()];
}

function checkBot(bot: LooseBot): { field: string; message: string }[] {
  const problems: { field: string; message: string }[] = [];
  const name = quote(bot.bot ?? '?');
  const binding = bot.binding ?? (bot.vendor === undefined ? 'terminal' : 'vendor');
  const wished = list(bot.harnesses);
  if (binding === 'vendor' && bot.vendor === undefined) {
    problems.push({ field: 'binding', message: `Bot ${name} is bound to a vendor but names none. Add vendor.` });
  }
  if (binding === 'terminal' && bot.harness === undefined && wished.length === 0) {
    problems.push({
      field: 'harness',
      message: `Bot ${name} has no harness. Add harness: claude, shell, custom or another.`,
    });
  }
  if (binding === 'hosted' && bot.model === undefined) {
    problems.push({
      field: 'binding',
      message: `Bot ${name} is hosted but names no model. Add model, such as anthropic/claude-sonnet-5-5.`,
    });
  }
  for (const field of ['permissions', 'limits'] as const) {
    if (binding === 'hosted' || bot[field] === undefined) continue;
    problems.push({ field, message: `${field} applies only to hosted bots. Remove it from bot ${name}.` });
  }
  if (bot.setup !== undefined && bot.worktree !== true) {
    problems.push({ field: 'setup', message: `setup applies only to worktrees. Add worktree: true to bot ${name}.` });
  }
  if (binding !== 'terminal' && bot.sandbox !== undefined) {
    problems.push({
      field: 'sandbox',
      message: `sandbox applies only to bots in terminals. Remove it from bot ${name}.`,
    });
  }
  if (binding !== 'terminal' && (bot.account !== undefined || bot.accounts !== undefined)) {
    const field = bot.account === undefined ? 'accounts' : 'account';
    problems.push({ field, message: `${field} applies only to bots in terminals. Remove it from bot ${name}.` });
  }
  if (bot.account !== undefined && bot.accounts !== undefined) {
    problems.push({ field: 'account', message: `Bot ${name} has account and accounts. Give only one of them.` });
  }
  const takesCommand = ['custom', 'shell', 'acp'];
  if (bot.harness === 'acp' && bot.command === undefined) {
    problems.push({
      field: 'harness',
      message: `Bot ${name} has harness acp but no command. Add command, such as gemini.`,
    });
  }
  if (wished.includes('acp')) {
    problems.push({
      field: 'harnesses',
      message: `Bot ${name} lists acp as one harness of several. Use harness: acp instead.`,
    });
  }
  if ((bot.harness === 'custom' || wished.includes('custom')) && bot.command === undefined) {
    problems.push({ field: 'harness', message: `Bot ${name} has harness custom but no command. Add command.` });
  }
  const mayTake = typeof bot.harness === 'string' ? [bot.harness] : wished;
  if (bot.command !== undefined && mayTake.length > 0 && !mayTake.some((each) => takesCommand.includes(String(each)))) {
    problems.push({
      field: 'command',
      message: `Bot ${name} has a command, but harness ${names(mayTake.map(String))} takes none. Use harness custom or remove it.`,
    });
  }
  for (const variable of Object.keys(record(bot.env)).filter((each) => each.startsWith('GANTRY_'))) {
    problems.push({ field: 'env', message: `Gantry sets ${variable} itself. Remove it from env of bot ${name}.` });
  }
  return problems;
}

function checkReferences(file: Raw, bots: readonly Raw[], slugs: ReadonlySet<string>): RawProblem[] {
  const problems: RawProblem[] = [];
  const check = (value: unknown, path: YamlPath, key?: string) => {
    if (typeof value !== 'string' || slugs.has(value)) return;
    const message = `No bot is called ${quote(value)}. Bots of this team: ${names(slugs)}.`;
    problems.push(key === undefined ? { path, message } : { path, key, message });
  };
  bots.forEach((bot, index) => {
    check(bot.directed_by, ['bots', index, 'directed_by']);
  });
  list(file.edges)
    .map(record)
    .forEach((edge, index) => {
      check(edge.from, ['edges', index, 'from']);
      check(edge.to, ['edges', index, 'to']);
    });
  for (const key of Object.keys(record(file.reach))) check(key, ['reach'], key);
  for (const [preset, value] of Object.entries(record(file.presets))) {
    for (const key of Object.keys(record(record(value).bots))) check(key, ['presets', preset, 'bots'], key);
  }
  const presets = Object.keys(record(file.presets));
  if (typeof file.default_preset === 'string' && !presets.includes(file.default_preset)) {
    problems.push({
      path: ['default_preset'],
      message: `No preset is called ${quote(file.default_preset)}. Presets of this team: ${names(presets)}.`,
    });
  }
  return problems;
}

interface Arrow {
  readonly from: string;
  readonly to: string;
  readonly path: YamlPath;
}

/** Work that is handed on, or orders that are given, must come to an end. Checking one another is fine. */
function checkCircles(file: Raw, bots: readonly Raw[], slugs: ReadonlySet<string>): RawProblem[] {
  const problems: RawProblem[] = [];
  for (const kind of ['delegates_to', 'directs'] as const) {
    const arrows: Arrow[] = [];
    const add = (from: unknown, to: unknown, path: YamlPath) => {
      if (typeof from === 'string' && typeof to === 'string' && slugs.has(from) && slugs.has(to)) {
        arrows.push({ from, to, path });
      }
    };
    list(file.edges)
      .map(record)
      .forEach((edge, index) => {
        if (edge.kind === kind) add(edge.from, edge.to, ['edges', index]);
      });
    if (kind === 'directs') {
      bots.forEach((bot, index) => {
        add(bot.directed_by, bot.bot, ['bots', index, 'directed_by']);
      });
    }
    for (const { arrow, circle } of closingArrows(arrows)) {
      problems.push({ path: arrow.path, message: `${kind} forms a cycle: ${circle.join(' → ')}.` });
    }
  }
  list(file.edges)
    .map(record)
    .forEach((edge, index) => {
      if (edge.kind === 'checks' && typeof edge.from === 'string' && edge.from === edge.to) {
        problems.push({ path: ['edges', index], message: `Bot ${quote(edge.from)} cannot check itself.` });
      }
    });
  return problems;
}

/** Arrows that close a circle over the arrows before them. */
function closingArrows(arrows: readonly Arrow[]): { arrow: Arrow; circle: string[] }[] {
  const next = new Map<string, string[]>();
  const found: { arrow: Arrow; circle: string[] }[] = [];
  for (const arrow of arrows) {
    const way = path(next, arrow.to, arrow.from);
    if (way !== null) found.push({ arrow, circle: [arrow.from, ...way] });
    else next.set(arrow.from, [...(next.get(arrow.from) ?? []), arrow.to]);
  }
  return found;
}

/** A way from one bot to another, both included, or null. */
function path(next: ReadonlyMap<string, readonly string[]>, from: string, to: string): string[] | null {
  const came = new Map<string, string | null>([[from, null]]);
  const open = [from];
  for (let bot = open.shift(); bot !== undefined; bot = open.shift()) {
    if (bot === to) {
      const way: string[] = [];
      for (let step: string | null = bot; step !== null; step = came.get(step) ?? null) way.unshift(step);
      return way;
    }
    for (const other of next.get(bot) ?? []) {
      if (came.has(other)) continue;
      came.set(other, bot);
      open.push(other);
    }
  }
  return null;
}

function checkReach(file: Raw): RawProblem[] {
  const acting: readonly unknown[] = actingReachWays;
  const known: readonly unknown[] = reachWays;
  return Object.entries(record(file.reach)).flatMap(([bot, ways]) =>
    list(ways).flatMap((way, index) =>
      known.includes(way) && !acting.includes(way)
        ? [
            {
              path: ['reach', bot, index],
              message: `${quote(way)} is not supported yet. Use ${names(actingReachWays)}.`,
            },
          ]
        : [],
    ),
  );
}
