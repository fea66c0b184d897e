/**
 * A job apart, "events in and out" with nothing left out (`npm run test:connectors`, needs Chromium): `gantry start` in an empty home,
 * a person in a browser, a tracker of issues that somebody else runs, a model server, an app that is told of runs; then a cloud and a
 * computer that is off for five minutes. Prints a line a scene and ends with 1 when one fails, with 77 without a Chromium.
 * `GANTRY_AWAY_SECONDS` makes the computer be off for less; `GANTRY_SCREENSHOTS` names a folder for pictures of the pages.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chromiumPath, openBrowser } from '../e2e/support/browser.ts';
import { buildRenderer } from '../e2e/support/renderer.ts';
import { scratchHome, startProduct } from '../support/bench/product.ts';
import { startEventsApp } from '../support/events-app.ts';
import { startIssueTracker } from '../support/issue-tracker/tracker.ts';
import { startModelServer } from '../support/model-server/server.ts';
import { playAway } from './connectors-away.ts';
import { playEdge } from './connectors-edge.ts';
import { playIn } from './connectors-in.ts';
import { type App, openApp } from './hands-app.ts';
import { createScenes } from './scenes.ts';

const skipped = 77;

const team = `bots:
  - bot: clerk
    binding: hosted
    model: local/scripted
    permissions: REQUIRE_APPROVAL
  - bot: box
    harness: shell
`;

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
    await buildRenderer();
    const tracker = await startIssueTracker();
    opened.push(() => tracker.close());
    const model = await startModelServer();
    opened.push(() => model.close());
    const other = await startEventsApp();
    opened.push(() => other.close());
    const place = scratchHome({ desk: team });
    opened.push(() => place.remove());
    mkdirSync(place.home, { recursive: true, mode: 0o700 });
    const endpoints = { local: { wire: 'openai', baseUrl: `${model.url}/v1` } };
    const prices = { scripted: { input: 1, output: 5 } };
    writeFileSync(join(place.home, 'settings.json'), JSON.stringify({ models: { endpoints, prices } }), {
      mode: 0o600,
    });
    // The app that is told is on this machine.
    const env = { ...place.env, GANTRY_EGRESS_ALLOW: `127.0.0.1:${other.port}` };
    const product = await startProduct({ ...place, env });
    opened.push(() => product.stop());
    await product.engine.call('POST', '/api/factory/teams/desk/up', {});
    const browser = await openBrowser();
    opened.push(() => browser.close());
    const shown = await openApp(browser, product.url);
    app = shown;
    const around = { scenes, app: shown, product, tracker, model, env, workspace: place.workspace };
    for (const part of [() => playIn(around), () => playEdge({ ...around, other }), () => playAway(scenes)]) {
      const before = scenes.failed();
      await part().catch((error: Error) => {
        if (scenes.failed() === before) scenes.fail('between scenes', error);
      });
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
