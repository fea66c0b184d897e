/** From a key to the screen that shows it, as a browser sees it: HTTP in, server-sent events out, both through the cloud API. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { median, spread } from '../../support/bench/numbers.ts';
import { scratchHome, shellTeam, startProduct, teamUp } from '../../support/bench/product.ts';

export const figures: readonly Figure[] = [{ name: 'factory.key-to-screen-http', run: keyToScreenHttp }];

interface ScreenData {
  readonly cursor: { readonly x: number; readonly y: number };
}

/** Longer than a frame of the pane host, so that every key finds an idle pane. */
const betweenKeysMs = 45;
/** A shell's line is emptied before it wraps. */
const keysALine = 40;

async function keyToScreenHttp({ quick }: FigureOptions): Promise<Measured> {
  const keys = quick ? 40 : 400;
  const place = scratchHome({ bench: shellTeam('bench', ['worker']) });
  try {
    const product = await startProduct(place);
    const [bot] = await teamUp(product, 'bench');
    if (bot === undefined) throw new Error('The team has no bot.');
    const input = (body: unknown) => product.web.call('POST', `/api/factory/agents/${bot.id}/input`, body);
    let column = -1;
    let shown: (() => void) | null = null;
    const stream = await product.web.events(`/api/factory/agents/${bot.id}/stream`, ({ event, data }) => {
      if (event !== 'screen') return;
      const { cursor } = data as ScreenData;
      if (cursor.x > column) shown?.();
      column = cursor.x;
    });
    await delay(500);
    const times: number[] = [];
    for (let key = 0; key < keys; key += 1) {
      if (key % keysALine === 0) {
        await input({ keys: ['C-u'] });
        await delay(200);
      }
      const started = performance.now();
      const seen = new Promise<void>((resolve) => {
        shown = () => {
          shown = null;
          times.push(performance.now() - started);
          resolve();
        };
      });
      await Promise.all([input({ text: 'x' }), seen]);
      await delay(betweenKeysMs);
    }
    stream.close();
    await product.stop();
    return {
      value: median(times),
      unit: 'ms p50',
      n: keys,
      at: `POST input and the screen stream through port 3010, idle shell bot, one key every ${betweenKeysMs} ms, from the call to the event that shows the key`,
      detail: spread(times),
    };
  } finally {
    await place.remove();
  }
}
