/**
 * A job apart, the phone with nothing left out (`npm run test:phone`, needs Chromium): `gantry start --demo-phone` in an empty home, a
 * person in a browser who holds the handsets of everybody else too, a model server behind the bots, and a device that takes pushes (a
 * Firefox where there is one). Prints a line a scene and ends with 1 when one fails, with 77 without a Chromium. `GANTRY_SCREENSHOTS`
 * names a folder for pictures of the pages.
 *
 * What a browser and the carrier suffice for is in test/e2e/{phone,phone-calls}.test.ts and not played here: a registration that is refused and
 * corrected, a sole proprietor and their code, a port, and how a number moves and goes.
 */
import assert from 'node:assert/strict';
import { buildRenderer } from '../e2e/support/renderer.ts';
import { startPushService } from '../support/push-service.ts';
import type { Around } from './phone-around.ts';
import { playCalls } from './phone-calls.ts';
import { openDevice } from './phone-device.ts';
import { playNumber } from './phone-number.ts';
import { playOwn } from './phone-own.ts';
import { playTexts } from './phone-texts.ts';
import { onStage, openWorkspace } from './stage.ts';

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

await onStage(async (stage) => {
  await buildRenderer();
  const push = stage.keep(await startPushService(), (one) => one.close());
  const { model, product } = await openWorkspace(stage, team, push.port, { demoPhone: true });
  const app = await stage.show(product);
  const device = stage.keep(await openDevice(product, push), (one) => one.close());
  const around: Around = { scenes: stage.scenes, app, product, model, device };
  const parts = [playNumber, playTexts, playOwn, playCalls, playErrors];
  await stage.parts(
    parts.map((part) => () => part(around)),
    // A dialog that a failed scene left open is none of the next part's.
    () => app.seen.page.goto(`${product.origin}/phone`),
  );
});

async function playErrors({ scenes, app }: Around): Promise<void> {
  await scenes.scene('the page made no mistake of its own', async () => {
    // What is refused, and what is not there yet, a browser notes itself.
    const { errors } = app.seen;
    const own = errors.filter((error) => !/status of (400|403|404)/.test(error));
    assert.deepEqual(own, []);
    return `no error in its console but ${errors.length} answers of 400, 403 or 404 that scenes were about`;
  });
}
