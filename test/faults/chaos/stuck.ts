/** The short form of the chaos suite: twenty kills of one seed, then the beginning of the same seed without a spool, which must show losses. */
import { openGantry, targetsOf } from '../../chaos/gantry/gantry.ts';
import { planOf, type Round } from '../../chaos/plan.ts';
import { type Played, play } from '../../chaos/play.ts';
import { resultOf } from '../../chaos/slices.ts';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';

export const figures: readonly Figure[] = [{ name: 'chaos.stuck', run: stuck }];

const seed = 13;
const unspooledKills = 5;

async function stuck({ quick, log }: FigureOptions): Promise<Measured> {
  const kills = quick ? 4 : 20;
  const rounds = planOf(seed, 20, targetsOf({ apart: false, disk: false })).slice(0, kills);
  const played = await once(rounds, true, log);
  const { lost, twice, stale, contradicted, problems } = resultOf(played);
  const unspooled = quick ? null : resultOf(await once(rounds.slice(0, unspooledKills), false, log));
  const blind = unspooled?.lost === 0 ? ['Without a spool nothing was lost: this run could not have seen a loss.'] : [];
  const all = [...problems, ...blind];
  return {
    value: all.length,
    problems: all,
    unit: 'reports lost or applied twice, results of a stale fence, steps that the oracle contradicts',
    n: kills,
    at: `gantry start with two agent programs in panes that report with the real verbs, a hosted bot on a local model server, a gantry worker and a tracker that posts signed events; ${kills} kills by SIGKILL, freezes and set clocks of seed ${seed}; judged 60 s after the last kill. Then the first ${unspooledKills} kills with the spool off`,
    detail: { seed, lost, twice, stale, contradicted, lostWithoutSpool: unspooled?.lost ?? null, ...played.counts },
  };
}

async function once(rounds: readonly Round[], spool: boolean, log: (line: string) => void): Promise<Played> {
  const system = await openGantry({ spool, apart: false, disk: false, claude: null });
  try {
    const played = await play(system, rounds, log);
    for (const surprise of played.surprises) log(surprise);
    return played;
  } finally {
    await system.close();
  }
}
