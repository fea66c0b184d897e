/** What lies in the spools of bots, for `GET /metrics`. Reads names, and the time of one file a bot; never what a file says. */
import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../kit/clock/clock.ts';
import type { Metric } from '../kit/metrics/metric.ts';
import { isReportName } from '../kit/spool/bot-spool.ts';

/** `bots`: a folder for each bot. */
export function spoolMetrics(bots: string, clock: Pick<Clock, 'now'>): readonly Metric[] {
  const reportsOf = (bot: string) =>
    namesIn(join(bots, bot, 'spool'))
      .filter(isReportName)
      .sort();
  return [
    {
      name: 'gantry_spool_reports',
      help: 'Reports of bots: waiting to be taken, and set aside because they could not be.',
      kind: 'gauge',
      read() {
        const counted = { waiting: 0, set_aside: 0 };
        for (const bot of namesIn(bots)) {
          counted.waiting += reportsOf(bot).length;
          counted.set_aside += namesIn(join(bots, bot, 'evidence')).filter((name) => name.includes('.json')).length;
        }
        return Object.entries(counted).map(([state, value]) => ({ labels: { state }, value }));
      },
    },
    {
      name: 'gantry_spool_oldest_seconds',
      help: 'How long the oldest report of a bot has waited to be taken.',
      kind: 'gauge',
      read() {
        const since = namesIn(bots).flatMap((bot) => {
          const [first] = reportsOf(bot);
          if (first === undefined) return [];
          const found = lstatSync(join(bots, bot, 'spool', first), { throwIfNoEntry: false });
          return found === undefined ? [] : [found.mtimeMs];
        });
        return since.reduce((oldest, at) => Math.max(oldest, (clock.now() - at) / 1000), 0);
      },
    },
  ];
}

/** A bot has no spool before its first report. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
