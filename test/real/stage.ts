/**
 * What a job apart with a person in a browser stands on: what it opened is closed in the end, a scene that fails says what the page
 * showed, and without a Chromium nothing is tried.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chromiumPath, openBrowser } from '../e2e/support/browser.ts';
import { type Product, type StartOptions, scratchHome, startProduct } from '../support/bench/product.ts';
import { type ModelServer, startModelServer } from '../support/model-server/server.ts';
import { type App, openApp } from './hands-app.ts';
import { createScenes, type Scenes } from './scenes.ts';

const skipped = 77;

export interface Stage {
  readonly scenes: Scenes;
  /** Closed in the end, what came last first. */
  keep<T>(thing: T, close: (thing: T) => unknown): T;
  /** Somebody new opens the address that a start printed. */
  show(product: Product): Promise<App>;
  /** One after the other; what fails between scenes counts as well. `mend`: after a part in which anything failed. */
  parts(parts: readonly (() => Promise<void>)[], mend?: () => Promise<unknown>): Promise<void>;
}

/** Ends the program: with 1 when a scene failed, with 77 where nothing could be tried. */
export async function onStage(play: (stage: Stage) => Promise<void>): Promise<void> {
  if (!existsSync(chromiumPath)) {
    console.error(`SKIPPED, nothing was tried: there is no Chromium at ${chromiumPath}; GANTRY_CHROMIUM names another`);
    process.exitCode = skipped;
    return;
  }
  const kept: (() => unknown)[] = [];
  let app: App | null = null;
  const scenes = createScenes(async () => {
    if (app === null) return;
    const { page, errors } = app.seen;
    const shown = (await page.locator('body').ariaSnapshot().catch(String)).slice(0, 5000);
    console.log(`     at ${page.url()}:\n${shown.replace(/^/gm, '     ')}\n     console: ${errors.join(' ## ')}`);
    await app.picture('failed').catch(() => {});
  });
  const stage: Stage = {
    scenes,
    keep(thing, close) {
      kept.push(() => close(thing));
      return thing;
    },
    async show(product) {
      const browser = stage.keep(await openBrowser(), (one) => one.close());
      app = await openApp(browser, product.url);
      return app;
    },
    async parts(parts, mend) {
      for (const part of parts) {
        const before = scenes.failed();
        await part().catch((error: Error) => {
          if (scenes.failed() === before) scenes.fail('between scenes', error);
        });
        if (scenes.failed() > before) await mend?.();
      }
    },
  };
  try {
    await play(stage);
  } finally {
    for (const close of kept.toReversed()) await close();
  }
  process.exit(scenes.failed() === 0 ? 0 : 1);
}

/** Gantry with a team `desk`, whose bots a model server answers for. `port`: of something on this machine that it may write to. */
export async function openWorkspace(
  stage: Stage,
  team: string,
  port: number,
  options: StartOptions = {},
): Promise<{ model: ModelServer; product: Product; env: Readonly<Record<string, string>>; workspace: string }> {
  const model = stage.keep(await startModelServer(), (one) => one.close());
  const place = stage.keep(scratchHome({ desk: team }), (one) => one.remove());
  mkdirSync(place.home, { recursive: true, mode: 0o700 });
  const endpoints = { local: { wire: 'openai', baseUrl: `${model.url}/v1` } };
  const prices = { scripted: { input: 1, output: 5 } };
  writeFileSync(join(place.home, 'settings.json'), JSON.stringify({ models: { endpoints, prices } }), { mode: 0o600 });
  const env = { ...place.env, GANTRY_EGRESS_ALLOW: `127.0.0.1:${port}` };
  const product = stage.keep(await startProduct({ ...place, env }, options), (one) => one.stop());
  await product.engine.call('POST', '/api/factory/teams/desk/up', {});
  return { model, product, env, workspace: place.workspace };
}
