/**
 * The program of the figure `sandbox.leak`, in namespaces of its own: a small internet, a person's home with secrets in it, Gantry, a bot in
 * `sandbox: closed`, the same bot without a sandbox, and a third whose terminal is nobody else's. Prints one JSON line.
 */

import { readFileSync } from 'node:fs';
import { type Outside, openOutside, places } from './outside.ts';
import { kinds, type Probe, prelude, probes, works } from './probes.ts';
import { openWorld, type World } from './world.ts';

export interface Found {
  readonly problems: readonly string[];
  readonly tried: number;
  readonly tookS: Readonly<Record<string, number>>;
}

interface Ran {
  readonly token: string;
  readonly from: number;
  readonly until: number;
  readonly output: string;
}
interface Tried {
  readonly probe: Probe;
  readonly ran: Ran;
}

/** What a place is called, where somebody allowed it. */
const allowed: Readonly<Record<string, string>> = {
  [`${places.good}:80`]: 'good.example.org',
  [`${places.good}:443`]: 'good.example.org',
  [`${places.moving}:443`]: 'moving.example.org',
  ...Object.fromEntries([80, 443, 8080].map((port) => [`${places.api}:${port}`, 'api.example.org'])),
};

/** Each name that a request said, wherever it said it. */
function namesIn(what: string): string[] {
  const found = [
    ...what.matchAll(/^name (\S+)$/gm),
    ...what.matchAll(/^host:[ \t]*([^\s:]+)/gim),
    ...what.matchAll(/^[A-Z]+ https?:\/\/([^\s/:]+)/gm),
    ...what.matchAll(/"host","([^":]+)/gi),
    ...what.matchAll(/"url":"https?:\/\/([^"/:]+)/g),
  ];
  return found.map(([, name = '']) => name.toLowerCase());
}

type Arrival = Outside['arrivals'][number];

/** Whether nobody allowed it. */
function isAstray({ place, what }: Arrival): boolean {
  // Gantry and its proxy look up what is allowed, and their own.
  if (place === 'dns') return /evil|probe-/.test(what);
  const name = allowed[place];
  return name === undefined || namesIn(what).some((said) => said !== name);
}

function createJudge(world: World, { arrivals }: Outside) {
  const { value, secrets } = world;
  const spellings = [value, Buffer.from(`me:${value}`).toString('base64')];

  /** Where the value of the key is, and may not be. */
  function isMisplaced({ place, what }: Arrival): boolean {
    if (!spellings.some((text) => what.includes(text))) return false;
    const isRight = place === `${places.api}:443` && what.includes('"method":"GET"');
    const rest = what.replace(new RegExp(`"authorization","Bearer ${value}"`, 'i'), '');
    return !isRight || spellings.some((text) => rest.includes(text));
  }

  const during = ({ from, until }: Ran) => arrivals.filter(({ at }) => at >= from && at <= until + 50);
  const secretsIn = (text: string) => Object.keys(secrets).filter((name) => text.includes(secrets[name] ?? '\0'));

  /** What a probe got; empty: nothing. */
  async function got({ probe, ran }: Tried, bot: 'closed' | 'open'): Promise<string[]> {
    const { path } = probe;
    const file = path === undefined || path === 'terminal' ? null : world.pathOf(path, bot, ran.token);
    const isWritten = path === 'terminal' ? await world.terminalHas(ran.token) : file !== null && has(file, ran.token);
    const astray = during(ran).filter(
      (one) => isAstray(one) && (one.what.includes(ran.token) || one.place === probe.place),
    );
    return [
      ...secretsIn(ran.output).map((name) => `secret: ${name}`),
      ...(ran.output.includes(`found ${ran.token}`) ? ['found'] : []),
      ...(isWritten ? ['written'] : []),
      ...astray.map(({ place, what }) => `reach: ${place} ${JSON.stringify(what.slice(0, 80))}`),
      ...during(ran)
        .filter(isMisplaced)
        .map(({ place }) => `value: ${place}`),
      ...(probe.finds === 'kept' && world.keeps(value) ? ['kept'] : []),
    ];
  }
  return { got, isMisplaced };
}

function has(file: string, word: string): boolean {
  try {
    return readFileSync(file, 'utf8').includes(word);
  } catch {
    return false;
  }
}

/** A few of each kind. */
function sampleOf(all: readonly Probe[]): Probe[] {
  return kinds.flatMap((kind) => all.filter((one) => one.kind === kind).filter((_, index) => index % 4 === 1));
}

async function main(quick: boolean, folder: string, code: string): Promise<Found> {
  const began = performance.now();
  const since = () => Math.round((performance.now() - began) / 100) / 10;
  const world = await openWorld({ folder, code });
  const outside = await openOutside({
    [places.metadata]: world.secrets.metadata!,
    [places.loopback]: world.secrets.server!,
  });
  try {
    await world.start(outside);
    const started = since();
    const dumps = readFileSync('/proc/sys/kernel/core_pattern', 'utf8');
    // Where dumps go elsewhere, none lies in a bot's folder.
    const all = probes.filter(({ line }) => !line.includes('ulimit -c') || /^[^|/]/.test(dumps));
    const tried = quick ? sampleOf(all) : all;
    const problems: string[] = [];
    const judge = createJudge(world, outside);
    const token = (index: number) => `probe-${index}-${Math.random().toString(36).slice(2, 8)}`;

    async function run(bot: 'closed' | 'open', lines: readonly { readonly line: string }[]): Promise<Ran[]> {
      return world.inside<Ran>(bot, {
        prelude,
        lines: lines.map(({ line }, index) => ({ token: token(index), line })),
      });
    }
    const before = outside.arrivals.length;
    for (const [index, ran] of (await run('closed', works)).entries()) {
      const { name = '', says = '' } = works[index] ?? {};
      if (!ran.output.includes(says))
        problems.push(`the closed bot does not work: ${name}: ${ran.output.slice(0, 200)}`);
    }
    const inClosed = await run('closed', tried);
    for (const [index, probe] of tried.entries()) {
      for (const what of await judge.got({ probe, ran: inClosed[index]! }, 'closed')) {
        problems.push(`${probe.kind}: ${probe.name}: ${what}`);
      }
    }
    // Also what no probe is known to have sent.
    for (const one of outside.arrivals.slice(before)) {
      if (isAstray(one)) problems.push(`arrived at ${one.place}: ${JSON.stringify(one.what.slice(0, 100))}`);
      if (judge.isMisplaced(one)) problems.push(`the value of the key arrived at ${one.place}`);
    }
    if (world.keeps(world.value)) problems.push('Gantry’s files have the value of the key');
    const closedDone = since();
    const inOpen = await run('open', tried);
    for (const [index, probe] of tried.entries()) {
      const found = await judge.got({ probe, ran: inOpen[index]! }, 'open');
      if (!found.some((what) => what.startsWith(probe.finds))) {
        problems.push(
          `bad try: ${probe.kind}: ${probe.name} finds nothing without a sandbox: ${inOpen[index]?.output.slice(0, 300)}`,
        );
      }
    }
    return { problems, tried: tried.length, tookS: { started, closed: closedDone, open: since() } };
  } finally {
    await world.close();
  }
}

const { quick, folder, code } = JSON.parse(process.argv[2] ?? '{}') as { quick: boolean; folder: string; code: string };
const found = await main(quick, folder, code).catch((error: unknown) => ({
  problems: [`it could not be tried: ${error instanceof Error ? error.stack : String(error)}`],
  tried: 0,
  tookS: {},
}));
process.stdout.write(`${JSON.stringify(found)}\n`, () => process.exit(0));
