/**
 * `upgrade.matrix`: data folders that ten commits of the history left (`test/data/homes`), each opened by today's Gantry, used for reading, stopped, and
 * opened again. A table that lost or gained a row, a list that cannot be read, a ledger that does not verify, and a check of `doctor` about the data that
 * fails are problems. The clock stands at the hour when the folder was left: what Gantry forgets after a day or a month is still there. `--quick` takes the oldest, the middle and the newest.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { extract } from 'tar';
import { countRows, type KeptHome, lostRows, placeOf } from '../../data/homes/open.ts';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { endPrograms, type ScratchHome, startProduct } from '../../support/bench/product.ts';

export const figures: readonly Figure[] = [{ name: 'upgrade.matrix', run: upgrade }];

const homes = new URL('../../data/homes/', import.meta.url).pathname;

const shiftClock = new URL('../../chaos/gantry/shift-clock.mjs', import.meta.url).pathname;

const lists = [
  '/api/factory/teams',
  '/api/factory/agents',
  '/api/factory/deliveries',
  '/api/factory/threads',
  '/api/factory/mail',
  '/api/factory/leases',
  '/api/factory/plans',
  '/api/factory/campaigns',
  '/api/factory/nodes',
  '/api/factory/schedules',
  '/api/factory/triggers',
  '/api/factory/tickets',
  '/api/factory/vault',
  '/api/factory/approvals',
  '/api/factory/ledger?limit=200',
  '/computer-use/sessions',
  '/api/v1/keys',
  '/api/v1/notifications',
  '/api/v1/usage/budget',
  '/beta/work',
] as const;

async function upgrade({ quick, log }: FigureOptions): Promise<Measured> {
  const kept = readdirSync(homes)
    .filter((name) => name.endsWith('.json'))
    .map((name) => JSON.parse(readFileSync(join(homes, name), 'utf8')) as KeptHome)
    .sort((a, b) => a.at - b.at);
  const taken = quick ? [0, Math.floor(kept.length / 2), kept.length - 1].map((n) => kept[n] as KeptHome) : kept;
  const problems: string[] = [];
  for (const one of taken) {
    const found = await open(one);
    problems.push(...found.map((problem) => `${one.commit}: ${problem}`));
    log(`${one.commit} of ${one.made}: ${Object.keys(one.rows).length} tables, ${found.length} problems`);
  }
  return {
    value: problems.length,
    problems,
    unit: 'problems',
    n: taken.length,
    at: 'data folders of earlier commits, opened twice each: rows of every table, twenty lists, the ledger’s chain, what doctor says of the data',
    detail: { rows: taken.reduce((sum, { rows }) => sum + Object.values(rows).reduce((all, n) => all + n, 0), 0) },
  };
}

async function open(kept: KeptHome): Promise<string[]> {
  const folder = placeOf(kept.commit);
  const place: ScratchHome = {
    home: join(folder, 'home'),
    workspace: join(folder, 'workspace'),
    env: {
      HOME: folder,
      GANTRY_HOME: join(folder, 'home'),
      NODE_OPTIONS: `--import ${shiftClock}`,
      CHAOS_CLOCK: join(folder, 'clock'),
    },
    remove: async () => {
      await endPrograms(join(folder, 'home'));
      rmSync(folder, { recursive: true, force: true });
    },
  };
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  try {
    await extract({ file: join(homes, `${kept.commit}.tar.gz`), cwd: folder });
    const left = statSync(join(place.home, 'cloud.db')).mtimeMs;
    writeFileSync(join(folder, 'clock'), String(Math.round(left - Date.now())));
    const problems: string[] = [];
    for (const time of ['first', 'second'] as const) {
      problems.push(...(await read(place)).map((problem) => `${time} start: ${problem}`));
      problems.push(...lostRows(kept.rows, countRows(place.home)).map((problem) => `${time} start: ${problem}`));
    }
    return problems;
  } finally {
    await place.remove();
  }
}

async function read(place: ScratchHome): Promise<string[]> {
  const problems: string[] = [];
  const product = await startProduct(place, { unasked: true });
  try {
    for (const path of lists) {
      const side = path.startsWith('/api/factory/') && !path.startsWith('/api/factory/approvals') ? 'engine' : 'web';
      await product[side].call('GET', path).catch((error: Error) => problems.push(error.message));
    }
    const chain = await product.engine.call<{ ok: boolean }>('GET', '/api/factory/ledger/verify');
    if (!chain.ok) problems.push(`the ledger does not verify: ${JSON.stringify(chain)}`);
    const { checks } = await product.engine.call<{ checks: { name: string; group: string; state: string }[] }>(
      'GET',
      '/api/factory/doctor',
    );
    const failed = checks.filter(({ group, state }) => state !== 'ok' && ['disk', 'secret'].includes(group));
    problems.push(...failed.map(({ name }) => `doctor: ${name} is not ok`));
  } finally {
    await product.stop();
    await endPrograms(place.home);
  }
  return problems;
}
