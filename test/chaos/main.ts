/**
 * `npm run chaos -- --seed N --kills K [--slice i/n] [--state file] [--spool off] [--apart] [--disk] [--claude folder] [--list]`: plays what a seed says against Gantry, and prints one JSON
 * line a slice and one for all that was played. Slices that the state file has are not played again. See docs/chaos.md.
 */
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { beWhereMountsAre } from './gantry/disk.ts';
import { openGantry, targetsOf } from './gantry/gantry.ts';
import { planOf, sliceOf, wordsOf } from './plan.ts';
import { play } from './play.ts';
import { openState, resultOf, sumOf } from './slices.ts';

/** Of one slice, so that it takes a few minutes. */
const killsOfSlice = 20;

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    kills: { type: 'string', default: '20' },
    slice: { type: 'string' },
    state: { type: 'string' },
    spool: { type: 'string', default: 'on' },
    apart: { type: 'boolean', default: false },
    disk: { type: 'boolean', default: false },
    claude: { type: 'string' },
    list: { type: 'boolean', default: false },
  },
});

function numberOf(name: string, text: string): number {
  const number = Number(text);
  if (Number.isInteger(number) && number > 0) return number;
  throw new Error(`--${name} is a whole number above 0, not ${text}.`);
}

/** The slices to play, and how many there are. */
function slicesOf(kills: number): { readonly wanted: readonly number[]; readonly count: number } {
  if (values.slice === undefined) {
    const count = Math.ceil(kills / killsOfSlice);
    return { wanted: Array.from({ length: count }, (_, index) => index + 1), count };
  }
  const [index = '', count = ''] = values.slice.split('/');
  const slice = { wanted: [numberOf('slice', index)], count: numberOf('slice', count) };
  if (slice.wanted[0]! > slice.count) throw new Error(`There is no slice ${values.slice}.`);
  return slice;
}

async function main(): Promise<void> {
  const log = (line: string) => process.stderr.write(`${line}\n`);
  const [seed, kills] = [numberOf('seed', values.seed), numberOf('kills', values.kills)];
  const claude = values.claude === undefined ? null : resolve(values.claude);
  const options = { spool: values.spool !== 'off', apart: values.apart, disk: values.disk, claude };
  const { spool, apart, disk } = options;
  const programs = claude === null ? 'stand-ins' : 'claude';
  const { wanted, count } = slicesOf(kills);
  const rounds = planOf(seed, kills, targetsOf(options));
  if (values.list) {
    for (const { number, before, kill } of wanted.flatMap((slice) => sliceOf(rounds, slice, count))) {
      process.stdout.write(
        `${number}: ${[before, kill].flatMap((fault) => (fault === null ? [] : wordsOf(fault))).join(', ')}\n`,
      );
    }
    return;
  }
  if (disk) beWhereMountsAre();
  const usual = join(
    tmpdir(),
    `gantry-chaos-${seed}-${kills}-${count}${spool ? '' : '-unspooled'}${apart ? '-apart' : ''}${disk ? '-disk' : ''}${claude === null ? '' : '-claude'}.json`,
  );
  const state = openState(values.state ?? usual, { seed, kills, slices: count, spool, apart, disk, programs });
  for (const slice of wanted) {
    if (state.isPlayed(slice)) continue;
    const system = await openGantry(options);
    try {
      const played = await play(system, sliceOf(rounds, slice, count), log);
      const result = resultOf(played);
      state.add(slice, result);
      for (const line of [...result.problems, ...played.surprises]) log(line);
      process.stdout.write(`${JSON.stringify({ slice: `${slice}/${count}`, ...result, counts: played.counts })}\n`);
    } finally {
      await system.close();
    }
  }
  const { problems, ...sum } = sumOf(state.results());
  process.stdout.write(
    `${JSON.stringify({ seed, spool, apart, disk, programs, slices: `${state.results().length}/${count}`, ...sum })}\n`,
  );
  if (problems.length > 0) process.exitCode = 1;
}

await main();
