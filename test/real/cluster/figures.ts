/**
 * The figures of hosted computers that a driver is told apart in: what gets out of a computer, what is left of computers when what serves them dies, and how
 * long one takes to answer. Each is the command of the figure, beside this cluster, so that it also measures the other drivers that this machine has.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { root } from '../../docs/blocks.ts';
import type { FigureLine } from '../../support/bench/figure.ts';
import type { Scenes } from '../scenes.ts';
import { minutes, type Stage } from './stage.ts';
import { driverEnv } from './suite.ts';

const figures: readonly { readonly kind: 'faults' | 'bench'; readonly name: string; readonly holds: boolean }[] = [
  { kind: 'faults', name: 'hosted-computers.wall', holds: true },
  { kind: 'faults', name: 'hosted-computers.orphans', holds: true },
  // Of the other drivers: its bound is for a machine that runs no cluster beside it.
  { kind: 'bench', name: 'hosted-computers.claim', holds: false },
  { kind: 'bench', name: 'hosted-computers.claim.kubernetes', holds: true },
];

export async function playFigures(stage: Stage, scene: Scenes['scene']): Promise<void> {
  for (const { kind, name, holds } of figures) {
    await scene(`the figure ${name}`, async () => {
      const line = await measured(stage, kind, name);
      const { value, unit, bound, n, peer, own, detail, why } = line;
      assert.ok(line.ok !== false || (value !== null && !holds), JSON.stringify(line));
      const beside = peer === undefined ? '' : `; ${own} beside ${peer.value} of ${peer.name}`;
      const numbers = detail === undefined ? '' : `; ${JSON.stringify(detail)}`;
      return `${value ?? why} ${unit} (bound ${bound}, n ${n})${beside}${numbers}`;
    });
  }
}

function measured(stage: Stage, kind: 'faults' | 'bench', name: string): Promise<FigureLine> {
  const child = spawn(process.execPath, [join(root, 'test', kind, 'run.ts'), name, '--quick'], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 20 * minutes,
    env: driverEnv(stage, 'gantry-figures'),
  });
  const said = { out: '', error: '' };
  child.stdout.on('data', (text) => (said.out += text));
  child.stderr.on('data', (text) => (said.error += text));
  return new Promise((resolve, reject) => {
    child.on('close', (code) => {
      if (said.out !== '') resolve(JSON.parse(said.out) as FigureLine);
      else reject(new Error(`it ended with ${code}:\n${said.error.slice(-3_000)}`));
    });
  });
}
