/** Live panes handed from host to host while they print: each counts, and its numbers must come to the reader without gap or repeat. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { programCommand } from '../../../../src/kit/process/programs.ts';
import { createPaneEngine } from '../../../../src/runtime-server/panes/create-pane-engine.ts';
import type { PaneEngine } from '../../../../src/runtime-server/panes/pane-engine.ts';

interface Counter {
  readonly id: string;
  pid: number;
  at: number;
  readonly pieces: Uint8Array[];
}

const script = 'stty -onlcr; i=0; while :; do i=$((i+1)); echo "count $i"; [ $((i % 10)) = 0 ] && sleep 0.2; done';

export async function handOvers(options: {
  readonly panes: number;
  readonly times: number;
  readonly log: (line: string) => void;
}): Promise<{ problems: string[]; bytes: number }> {
  const home = mkdtempSync(join(tmpdir(), 'gantry-faults-'));
  const problems: string[] = [];
  const open = async (build: number): Promise<PaneEngine> => {
    const engine = createPaneEngine({
      home,
      command: programCommand('pane-host'),
      build: `1.0.${build}`,
      onNotice: (notice) => void problems.push(notice),
      onError: (error) => void problems.push(String(error)),
    });
    await engine.ready();
    return engine;
  };
  let engine = await open(0);
  try {
    const env = { PATH: process.env.PATH ?? '', TERM: 'xterm-256color', LANG: 'C.UTF-8' };
    const counters: Counter[] = [];
    for (let index = 0; index < options.panes; index++) {
      const id = `count-${index}`;
      const { pid } = await engine.create({
        id,
        command: ['bash', '-c', script],
        cwd: home,
        env,
        cols: 80,
        rows: 24,
        labels: {},
      });
      counters.push({ id, pid, at: 0, pieces: [] });
    }
    for (let round = 1; round <= options.times; round++) {
      follow(engine, counters, problems);
      // They count between two hand-overs.
      await delay(400);
      const before = engine.host()?.pid;
      await engine.close();
      const start = performance.now();
      engine = await open(round);
      const host = engine.host();
      if (host === null || host.pid === before) problems.push(`hand-over ${round}: the old host serves on`);
      for (const counter of counters) {
        const info = engine.get(counter.id);
        if (!info?.alive || info.pid !== counter.pid)
          problems.push(`hand-over ${round}: ${counter.id} is not what it was`);
      }
      options.log(`hand-over ${round} of ${counters.length} panes in ${(performance.now() - start).toFixed(0)} ms`);
    }
    follow(engine, counters, problems);
    const before = new Map(counters.map(({ id, pieces }) => [id, linesOf(pieces).length]));
    const stands = ({ id, pieces }: Counter) => linesOf(pieces).length < (before.get(id) ?? 0) + 10;
    for (let tries = 0; tries < 200 && counters.some(stands); tries += 1) await delay(50);
    let bytes = 0;
    for (const { id, pieces } of counters) {
      const lines = linesOf(pieces);
      bytes += Buffer.concat(pieces).length;
      const wrong = lines.findIndex((line, index) => line !== `count ${index + 1}`);
      if (wrong >= 0) problems.push(`${id}: line ${wrong + 1} reads ${lines[wrong]}`);
      if (lines.length < (before.get(id) ?? 0) + 10)
        problems.push(`${id}: only ${lines.length} lines: it did not go on`);
    }
    return { problems, bytes };
  } finally {
    await engine.stopHost({ force: true }).catch(() => {});
    await engine.close();
    // The host still writes after it has answered.
    await delay(500);
    rmSync(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}

const linesOf = (pieces: readonly Uint8Array[]) => Buffer.concat(pieces).toString().split('\n').slice(0, -1);

function follow(engine: PaneEngine, counters: readonly Counter[], problems: string[]): void {
  for (const counter of counters) {
    engine.attach(counter.id, counter.at, {
      onBytes(offset, bytes) {
        if (offset !== counter.at) problems.push(`${counter.id}: ${counter.at}, then ${offset}`);
        counter.pieces.push(Uint8Array.from(bytes));
        counter.at = offset + bytes.length;
      },
      onSnapshot: () => void problems.push(`${counter.id}: a drawing in place of bytes`),
      onEnd: (reason) => void problems.push(`${counter.id}: ended: ${reason}`),
    });
  }
}
