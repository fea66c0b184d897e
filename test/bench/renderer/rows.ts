/** A list of a hundred thousand rows: how much of it the page holds at once, and whether a jump shows rows in its first frame. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright';
import { runtimeMigrations } from '../../../src/host/runtime-migrations.ts';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { createIds } from '../../../src/kit/ids/ids.ts';
import { createLedger } from '../../../src/kit/ledger/create-ledger.ts';
import { openStore } from '../../../src/kit/store/open-store.ts';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { browserName, withPage } from '../../support/bench/page.ts';

export const figures: readonly Figure[] = [{ name: 'renderer.rows', run: rows }];

const kept = 100_000;
const jumps = { quick: 10, full: 50 };
/** Looked at after each jump. */
const frames = 12;

interface Seen {
  /** Most row nodes in the document at one time. */
  readonly nodes: number;
  /** Frames in which a part of the list's window showed no row, not even one that is still being read. */
  readonly blank: number;
  readonly frames: number;
  /** From a jump until every row in sight was read. */
  readonly readMs: readonly number[];
}

function rows({ quick }: FigureOptions): Promise<Measured> {
  const wanted = jumps[quick ? 'quick' : 'full'];
  return withPage({ before: ({ home }) => fill(home) }, async ({ page, product, browser }) => {
    await page.goto(`${product.origin}/ledger`);
    await page.locator('[data-ledger]').first().waitFor();
    const seen = await jumpAbout(page, wanted);
    if (seen.blank > 0) throw new Error(`${seen.blank} of ${seen.frames} frames after a jump were blank.`);
    return {
      value: seen.nodes,
      unit: 'row nodes at most',
      n: wanted,
      at: `the ledger's page with ${kept} rows, 1440 × 900, ${wanted} jumps of its scroll position, the first into the middle and the last to the end, each frame looked at before it is painted; ${browserName(browser)}`,
      detail: { frames: seen.frames, blank: seen.blank, readMs: { max: Math.max(...seen.readMs) } },
    };
  });
}

async function fill(home: string): Promise<void> {
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const clock = systemClock;
  const store = await openStore({ file: join(home, 'runtime.db'), migrations: runtimeMigrations, clock });
  const ledger = await createLedger({ store, clock, ids: createIds(clock) });
  for (let id = 1; id < kept; id += 1000) {
    await store.write((tx) => {
      for (let index = id; index < Math.min(id + 1000, kept); index += 1) {
        const body = { v: 1, direction: 'in', textSha256: '0'.repeat(64) };
        ledger.append(tx, {
          type: 'message.recorded',
          actor: 'engine',
          surface: 'engine',
          subject: `thread:t${index}`,
          body,
        });
      }
    });
  }
  await store.close();
}

function jumpAbout(page: Page, wanted: number): Promise<Seen> {
  return page.evaluate(
    async ({ wanted, frames }) => {
      const list = document.querySelector('ol[aria-label="Rows"]') as HTMLElement;
      const window = list.parentElement as HTMLElement;
      const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
      const { left, top, height, width } = window.getBoundingClientRect();
      const isRow = (y: number) => {
        const row = document.elementFromPoint(left + width / 2, y)?.closest('ol[aria-label="Rows"] > li');
        return row !== null && row !== undefined && (row.textContent ?? '') !== '';
      };
      const seen = { nodes: 0, blank: 0, frames: 0, readMs: [] as number[] };
      for (let jump = 0; jump < wanted; jump += 1) {
        const end = window.scrollHeight - window.clientHeight;
        // The golden ratio leads about evenly everywhere.
        const part = jump === 0 ? 0.5 : jump === wanted - 1 ? 1 : (jump * 0.618_034) % 1;
        const jumped = performance.now();
        window.scrollTop = Math.round(part * end);
        for (let shown = 0; ; shown += 1) {
          await frame();
          seen.frames += 1;
          seen.nodes = Math.max(seen.nodes, list.children.length);
          // What stands below the last row at the very end is no row.
          const bottom = Math.min(top + height, list.getBoundingClientRect().bottom);
          const probes = Array.from({ length: 8 }, (_, index) => top + 2 + ((bottom - top - 4) * index) / 7);
          if (!probes.every(isRow)) seen.blank += 1;
          const read = [...list.children].every((row) => row.querySelector('[data-ledger]') !== null);
          if (read && shown >= frames) {
            seen.readMs.push(Math.round(performance.now() - jumped));
            break;
          }
          if (performance.now() - jumped > 20_000) throw new Error('The rows in sight were not read within 20 s.');
        }
      }
      return seen;
    },
    { wanted, frames },
  );
}
