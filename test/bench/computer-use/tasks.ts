/** How many of twenty tasks on local sites succeed with only the toolset, by reference and by coordinate. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { scratchHome, startBuilt } from '../../support/bench/product.ts';
import { firstTasks } from '../../support/sites/first-tasks.ts';
import type { Answered, Way } from '../../support/sites/hands.ts';
import { openStage, type Played } from '../../support/sites/run-tasks.ts';
import { secondTasks } from '../../support/sites/second-tasks.ts';

export const figures: readonly Figure[] = [{ name: 'computer-use.tasks', run }];

const ways: readonly Way[] = ['reference', 'coordinate'];
const tasks = [...firstTasks, ...secondTasks];

async function run({ quick, log }: FigureOptions): Promise<Measured> {
  const seeds = quick ? 1 : 20;
  const place = scratchHome();
  // The sites lie on this machine, which a page may open only where a rule says so.
  mkdirSync(join(place.workspace, '.gantry'), { recursive: true });
  writeFileSync(
    join(place.workspace, '.gantry', 'policy.yaml'),
    "rules:\n  - when: {tool: browser, host: '127.0.0.1:*'}\n    then: allow\n",
  );
  const product = await startBuilt(place);
  const stage = await openStage(place.workspace);
  const played: Played[] = [];
  try {
    const call = (member: string, input: Record<string, unknown>) =>
      product.engine.call<Answered>('POST', '/api/v1/computers/this-device/toolset', {
        toolset: 'browser',
        member,
        input,
        enable: ['javascript_exec', 'file_upload'],
      });
    for (const task of tasks) {
      for (const way of ways) {
        for (let seed = 1; seed <= seeds; seed += 1) {
          const one = await stage.play(task, way, seed, call);
          played.push(one);
          if (!one.ok) log(`${one.task} by ${one.way}, seed ${one.seed}: ${one.why}`);
        }
      }
    }
  } finally {
    await stage.close();
    await product.stop();
    await place.remove();
  }
  const share = (way: Way) => {
    const of = played.filter((one) => one.way === way);
    return (100 * of.filter(({ ok }) => ok).length) / of.length;
  };
  return {
    value: Math.min(...ways.map(share)),
    unit: '% of episodes done, the worse of both ways',
    n: played.length,
    at: `the engine, ${tasks.length} tasks, ${seeds} seeds each, headless Chromium, audit on`,
    detail: {
      reference: share('reference'),
      coordinate: share('coordinate'),
      failed: Object.entries(
        Object.groupBy(
          played.filter(({ ok }) => !ok),
          ({ task, way }) => `${task} by ${way}`,
        ),
      ).map(([name, list]) => `${name}: ${list?.length} of ${seeds}`),
    },
  };
}
