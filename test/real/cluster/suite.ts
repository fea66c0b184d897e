/** The suite of hosted drivers over the driver `kubernetes`, whose computers dial this place: what every driver promises, on a real cluster. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { root } from '../../docs/blocks.ts';
import type { Scenes } from '../scenes.ts';
import { computerImage, minutes, type Stage } from './stage.ts';

const namespace = 'gantry-suite';

export async function playSuite(stage: Stage, scene: Scenes['scene']): Promise<void> {
  await scene('the suite of hosted drivers', async () => {
    await stage.kubectl(`create namespace ${namespace}`);
    try {
      const said = await vitest(stage);
      return /Tests\s+(.*)/.exec(said)?.[1] ?? said.slice(-200);
    } finally {
      await stage.kubectl(`delete namespace ${namespace}`);
    }
  });
}

/** With what a program beside the cluster makes computers in it, and is dialled by them. */
export const driverEnv = ({ kubeconfig }: Stage, of: string) => ({
  ...process.env,
  GANTRY_TEST_KUBECONFIG: kubeconfig,
  GANTRY_TEST_NAMESPACE: of,
  GANTRY_TEST_CLOUD: 'http://outside.test:8089',
  GANTRY_COMPUTERS_IMAGE: computerImage,
  GANTRY_COMPUTERS_STORAGE_CLASS: 'test',
  GANTRY_COMPUTERS_DISK: '256',
  GANTRY_COMPUTERS_MEMORY: '512',
});

function vitest(stage: Stage): Promise<string> {
  const file = 'test/conformance/hosted-computers/kubernetes.test.ts';
  const words = [join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--no-color', file];
  const child = spawn(process.execPath, words, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 20 * minutes,
    env: driverEnv(stage, namespace),
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (said += text));
  return new Promise((resolve, reject) => {
    child.on('exit', (code) =>
      code === 0 ? resolve(said) : reject(new Error(`it ended with ${code}:\n${said.slice(-6_000)}`)),
    );
  });
}
