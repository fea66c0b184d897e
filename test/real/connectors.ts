/**
 * A job apart, "events in and out" with nothing left out (`npm run test:connectors`, needs Chromium): `gantry start` in an empty home,
 * a person in a browser, a tracker of issues that somebody else runs, a model server, an app that is told of runs; then a cloud and a
 * computer that is off for five minutes. Prints a line a scene and ends with 1 when one fails, with 77 without a Chromium.
 * `GANTRY_AWAY_SECONDS` makes the computer be off for less; `GANTRY_SCREENSHOTS` names a folder for pictures of the pages.
 */
import { buildRenderer } from '../e2e/support/renderer.ts';
import { startEventsApp } from '../support/events-app.ts';
import { startIssueTracker } from '../support/issue-tracker/tracker.ts';
import { playAway } from './connectors-away.ts';
import { playEdge } from './connectors-edge.ts';
import { playIn } from './connectors-in.ts';
import { onStage, openWorkspace } from './stage.ts';

const team = `bots:
  - bot: clerk
    binding: hosted
    model: local/scripted
    permissions: REQUIRE_APPROVAL
  - bot: box
    harness: shell
`;

await onStage(async (stage) => {
  await buildRenderer();
  const tracker = stage.keep(await startIssueTracker(), (one) => one.close());
  const other = stage.keep(await startEventsApp(), (one) => one.close());
  const opened = await openWorkspace(stage, team, other.port);
  const around = { ...opened, scenes: stage.scenes, app: await stage.show(opened.product), tracker };
  await stage.parts([() => playIn(around), () => playEdge({ ...around, other }), () => playAway(stage.scenes)]);
});
