/**
 * A job apart, the phone with nothing left out (`npm run test:phone`, needs Chromium): `gantry start --demo-phone` in an empty home, a
 * person in a browser who holds the handsets of everybody else too, a model server behind the bots, and a device that takes pushes (a
 * Firefox where there is one). Prints a line a scene and ends with 1 when one fails, with 77 without a Chromium. `GANTRY_SCREENSHOTS`
 * names a folder for pictures of the pages.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chromiumPath, openBrowser } from '../e2e/support/browser.ts';
import { buildRenderer } from '../e2e/support/renderer.ts';
import { scratchHome, startProduct } from '../support/bench/product.ts';
import { startModelServer } from '../support/model-server/server.ts';
import { startPushService } from '../support/push-service.ts';
import { type App, openApp } from './hands-app.ts';
import type { Around } from './phone-around.ts';
import { playCalls } from './phone-calls.ts';
import { openDevice } from './phone-device.ts';
import { playEnd, playPerson, playPort } from './phone-more.ts';
import { playNumber } from './phone-number.ts';
import { playOwn } from './phone-own.ts';
import { playTexts } from './phone-texts.ts';
import { createScenes } from './scenes.ts';

const skipped = 77;

const team = `bots:
  - bot: clerk
    binding: hosted
    model: local/scripted
    permissions: REQUIRE_APPROVAL
  - bot: night
    binding: hosted
    model: local/scripted
    permissions: REQUIRE_APPROVAL
`;

async function play(): Promise<number> {
  const opened: (() => unknown)[] = [];
  let app: App | null = null;
  const scenes = createScenes(async () => {
    if (app === null) return;
    const { page, errors } = app.seen;
    const shown = (await page.locator('body').ariaSnapshot().catch(String)).slice(0, 5000);
    console.log(`     at ${page.url()}:\n${shown.replace(/^/gm, '     ')}\n     console: ${errors.join(' ## ')}`);
    await app.picture('failed').catch(() => {});
  });
  try {
    await buildRenderer();
    const model = await startModelServer();
    opened.push(() => model.close());
    const push = await startPushService();
    opened.push(() => push.close());
    const place = scratchHome({ desk: team });
    opened.push(() => place.remove());
    mkdirSync(place.home, { recursive: true, mode: 0o700 });
    const endpoints = { local: { wire: 'openai', baseUrl: `${model.url}/v1` } };
    const prices = { scripted: { input: 1, output: 5 } };
    writeFileSync(join(place.home, 'settings.json'), JSON.stringify({ models: { endpoints, prices } }), {
      mode: 0o600,
    });
    // Push services are elsewhere, and this one is here.
    const env = { ...place.env, GANTRY_EGRESS_ALLOW: `127.0.0.1:${push.port}` };
    const product = await startProduct({ ...place, env }, { demoPhone: true });
    opened.push(() => product.stop());
    await product.engine.call('POST', '/api/factory/teams/desk/up', {});
    const browser = await openBrowser();
    opened.push(() => browser.close());
    const shown = await openApp(browser, product.url);
    app = shown;
    const device = await openDevice(product, push);
    opened.push(() => device.close());
    const around: Around = { scenes, app: shown, product, model, device };
    for (const part of [playNumber, playTexts, playOwn, playCalls, playPort, playPerson, playEnd]) {
      const before = scenes.failed();
      await part(around).catch((error: Error) => {
        if (scenes.failed() === before) scenes.fail('between scenes', error);
      });
      // A dialog that a failed scene left open is none of the next part's.
      if (scenes.failed() > before) await shown.seen.page.goto(`${product.origin}/phone`);
    }
  } finally {
    for (const close of opened.toReversed()) await close();
  }
  return scenes.failed() === 0 ? 0 : 1;
}

if (existsSync(chromiumPath)) process.exit(await play());
else {
  console.error(`SKIPPED, nothing was tried: there is no Chromium at ${chromiumPath}; GANTRY_CHROMIUM names another`);
  process.exitCode = skipped;
}
