/**
 * The play beside the cluster's nodes: installs the bases as docs/deploy.md says, in a clone of what is committed here, plays the parts that are wanted,
 * and removes everything. ../cluster.ts starts it, in a network namespace that is no node's.
 */
import type { Play } from '../cluster.ts';
import { createScenes } from '../scenes.ts';
import { playComputers } from './computers.ts';
import { playFaults } from './faults.ts';
import { playFigures } from './figures.ts';
import { playHelm } from './helm.ts';
import { playInstall, playOperation, playRemoval, playScaling } from './install.ts';
import { playJobs } from './jobs.ts';
import { playRefusals } from './refusals.ts';
import { createStage } from './stage.ts';
import { playSuite } from './suite.ts';

const told = JSON.parse(process.env.GANTRY_PLAY ?? '{}') as Play;
const stage = await createStage(told);
const { scene, failed, fail } = createScenes(async () => {
  const words = [
    'get nodes',
    'get pods --all-namespaces -o wide',
    'get events --all-namespaces --sort-by=.lastTimestamp | tail -n 25',
    '--namespace=gantry logs -l app.kubernetes.io/component=cloud -c cloud --tail=25 --prefix',
    '--namespace=gantry-workers logs -l app.kubernetes.io/component=worker --tail=10 --prefix',
  ];
  for (const one of words) console.log((await stage.kubectl(one).catch(String)).slice(-6_000).replace(/^/gm, '     '));
});

try {
  await playInstall(stage, scene);
  if (told.parts.includes('install')) {
    await playOperation(stage, scene);
    await playScaling(stage, scene);
  }
  if (told.parts.includes('helm')) await playHelm(stage, scene);
  if (told.parts.includes('jobs')) await playJobs(stage, scene);
  if (told.parts.includes('driver')) await playSuite(stage, scene);
  if (told.parts.includes('figures')) await playFigures(stage, scene);
  if (told.parts.includes('computers')) await playComputers(stage, scene);
  if (told.parts.includes('faults')) await playFaults(stage, scene);
  if (told.parts.includes('refusals')) await playRefusals(stage, scene);
  await playRemoval(stage, scene);
} catch (error) {
  if (failed() === 0) fail('between scenes', error as Error);
}
await stage.close();
process.exit(failed() === 0 ? 0 : 1);
