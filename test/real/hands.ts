/**
 * A job apart, "hands" with nothing left out (`npm run test:hands`, Linux with Chromium): `gantry start`, somebody new in a browser, a
 * program with the SDK, a model's steps over the local model server, and computers hosted by `gantry computer-host` (root). Prints a line a
 * scene and ends with 1 when one fails, with 77 when what all of it needs is not here; hosted scenes that cannot be played say so.
 * `GANTRY_SCREENSHOTS` names a folder for pictures of the pages.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chromiumPath, openBrowser } from '../e2e/support/browser.ts';
import { type Product, scratchHome, startProduct } from '../support/bench/product.ts';
import { clearAway, helperFolder, noComputers } from '../support/computers/helper.ts';
import { startModelServer } from '../support/model-server/server.ts';
import { type App, openApp, playApp } from './hands-app.ts';
import { playHosted } from './hands-hosted.ts';
import { playSdk } from './hands-sdk.ts';
import { openLoopback, openShop } from './hands-site.ts';
import { createScenes } from './scenes.ts';

const skipped = 77;

/** Both forms in which a model is offered the toolsets, at the same server. */
const settingsFor = (modelUrl: string) => ({
  models: {
    endpoints: {
      vendor: { wire: 'anthropic', baseUrl: modelUrl },
      local: { wire: 'openai', baseUrl: `${modelUrl}/v1` },
    },
    prices: { scripted: { input: 1, output: 5 } },
  },
  computerUse: { model: 'vendor/scripted', toolsets: { vendor: 'native' } },
});

async function play(): Promise<number> {
  const opened: (() => unknown)[] = [];
  let app: App | null = null;
  const scenes = createScenes(async () => {
    if (app === null) return;
    const { page, errors } = app.seen;
    const shown = (await page.locator('main').ariaSnapshot().catch(String)).slice(0, 3000);
    console.log(`     at ${page.url()}:\n${shown.replace(/^/gm, '     ')}\n     console: ${errors.join(' ## ')}`);
    await app.picture('failed').catch(() => {});
  });
  try {
    const shop = await openShop();
    opened.push(() => shop.close());
    const model = await startModelServer();
    opened.push(() => model.close());
    const folder = helperFolder();
    opened.push(() => clearAway(folder));
    const place = scratchHome();
    opened.push(() => place.remove());
    openLoopback(place.workspace);
    mkdirSync(place.home, { recursive: true, mode: 0o700 });
    writeFileSync(join(place.home, 'settings.json'), JSON.stringify(settingsFor(model.url)), { mode: 0o600 });
    const product: Product = await startProduct({ ...place, env: { ...place.env, GANTRY_COMPUTERS: folder } });
    opened.push(() => product.stop());
    const browser = await openBrowser();
    opened.push(() => browser.close());
    app = await openApp(browser, product.url);
    for (const part of [
      (with_: App) => playApp({ scenes, app: with_, product, shop, model }),
      () => playSdk({ scenes, product, shop, model }),
      (with_: App) => hosted(with_, product, place.env, folder),
    ]) {
      const before = scenes.failed();
      await part(app).catch((error: Error) => {
        if (scenes.failed() === before) scenes.fail('between scenes', error);
      });
    }
  } finally {
    for (const close of opened.toReversed()) await close();
  }
  return scenes.failed() === 0 ? 0 : 1;

  async function hosted(shown: App, product: Product, env: Readonly<Record<string, string>>, folder: string) {
    const missing = noComputers();
    if (missing !== null) console.error(`SKIPPED, the scenes of hosted computers: ${missing}`);
    else await playHosted({ scenes, app: shown, product, env, folder });
  }
}

if (process.platform !== 'linux' || !existsSync(chromiumPath)) {
  console.error(
    `SKIPPED, nothing was tried: it needs Linux and a Chromium at ${chromiumPath}; GANTRY_CHROMIUM names another`,
  );
  process.exitCode = skipped;
} else {
  process.exit(await play());
}
