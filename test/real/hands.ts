/**
 * A job apart, "hands" with nothing left out (`npm run test:hands`, Linux with Chromium): `gantry start`, somebody new in a browser, a
 * program with the SDK, a model's steps over the local model server, and computers hosted by `gantry computer-host` (root). Prints a line a
 * scene and ends with 1 when one fails, with 77 when what all of it needs is not here; hosted scenes that cannot be played say so.
 * `GANTRY_SCREENSHOTS` names a folder for pictures of the pages.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { scratchHome, startProduct } from '../support/bench/product.ts';
import { clearAway, helperFolder, noComputers } from '../support/computers/helper.ts';
import { startModelServer } from '../support/model-server/server.ts';
import { playApp } from './hands-app.ts';
import { playHosted } from './hands-hosted.ts';
import { playSdk } from './hands-sdk.ts';
import { openLoopback, openShop } from './hands-site.ts';
import { onStage, type Stage } from './stage.ts';

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

async function play(stage: Stage): Promise<void> {
  const { scenes, keep } = stage;
  const shop = keep(await openShop(), (one) => one.close());
  const model = keep(await startModelServer(), (one) => one.close());
  const folder = keep(helperFolder(), clearAway);
  const place = keep(scratchHome(), (one) => one.remove());
  openLoopback(place.workspace);
  mkdirSync(place.home, { recursive: true, mode: 0o700 });
  writeFileSync(join(place.home, 'settings.json'), JSON.stringify(settingsFor(model.url)), { mode: 0o600 });
  const started = await startProduct({ ...place, env: { ...place.env, GANTRY_COMPUTERS: folder } });
  const product = keep(started, (one) => one.stop());
  const app = await stage.show(product);
  await stage.parts([
    () => playApp({ scenes, app, product, shop, model }),
    () => playSdk({ scenes, product, shop, model }),
    async () => {
      const missing = noComputers();
      if (missing !== null) console.error(`SKIPPED, the scenes of hosted computers: ${missing}`);
      else await playHosted({ scenes, app, product, env: place.env, folder });
    },
  ]);
}

if (process.platform === 'linux') await onStage(play);
else {
  console.error('SKIPPED, nothing was tried: it needs Linux');
  process.exitCode = 77;
}
