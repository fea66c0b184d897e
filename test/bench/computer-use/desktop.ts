/** What a click and a picture of the desktop cost through the engine, with authentication and a durable audit row before the click. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createLab, createProbe, type Lab, missing } from '../../programs/executor/desktop/lab.ts';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { besideFloor, machineBy } from '../../support/bench/floor.ts';
import { median, rounded, spread } from '../../support/bench/numbers.ts';
import { type Product, scratchHome, startBuilt } from '../../support/bench/product.ts';

export const figures: readonly Figure[] = [{ name: 'computer-use.click-desktop', run: click }];

const size = '1280x800';
/** Clicks between two looks at what the machine costs. */
const blockOf = 50;

interface Answer {
  readonly is_error: boolean;
  readonly content: readonly { readonly type: string }[];
}

/** The engine with a separate display, on which no action needs approval. */
async function onDisplay<Result>(
  work: (world: {
    readonly lab: Lab;
    readonly call: (member: string, input?: Record<string, unknown>) => Promise<Answer>;
  }) => Promise<Result>,
): Promise<Result> {
  const lab = await createLab(size);
  const place = scratchHome();
  mkdirSync(join(place.workspace, '.gantry'), { recursive: true });
  writeFileSync(
    join(place.workspace, '.gantry', 'policy.yaml'),
    'rules:\n  - when: {tool: computer}\n    then: allow\n',
  );
  let product: Product | null = null;
  try {
    product = await startBuilt({ ...place, env: { ...place.env, DISPLAY: lab.display } });
    const { engine } = product;
    const call = async (member: string, input: Record<string, unknown> = {}) => {
      const answer = await engine.call<Answer>('POST', '/api/v1/computers/this-device/toolset', {
        toolset: 'computer',
        member,
        input,
      });
      if (answer.is_error) throw new Error(`${member} answered ${JSON.stringify(answer)}`);
      return answer;
    };
    return await work({ lab, call });
  } finally {
    await product?.stop();
    await lab.stop();
    await place.remove();
  }
}

async function click({ quick }: FigureOptions): Promise<Measured> {
  const unit = 'ms';
  if (missing !== null) return { value: null, unit, n: 0, at: '', why: missing };
  return onDisplay(async ({ lab, call }) => {
    const probe = await createProbe(lab);
    let clicked = 0;
    /** Milliseconds of each. */
    const clicks = async (count: number) => {
      const times: number[] = [];
      for (; times.length < count; clicked += 1) {
        const began = performance.now();
        await call('left_click', { coordinate: [50 + (clicked % 300), 120] });
        times.push(performance.now() - began);
      }
      return times;
    };
    await clicks(10);
    const { found, floors } = await besideFloor('pass', quick ? 2 : 6, () => clicks(blockOf));
    const presses = () => probe.words().filter((word) => word === 'press 1').length;
    for (let tries = 0; tries < 100 && presses() < clicked; tries += 1) await delay(20);
    const arrived = presses();
    probe.close();
    if (arrived !== clicked) throw new Error(`${arrived} of ${clicked} clicks arrived.`);
    const machine = machineBy('pass', floors);
    const times = found.flat();
    return {
      value: median(times) / machine.factor,
      unit,
      n: times.length,
      at: `the engine's socket, Xvfb ${size} with openbox, audit row durable before each click; as on the machine of the bound`,
      detail: { ...spread(times), ...machine.detail },
    };
  });
}

/**
 * The picture of a screen full of text, through the engine, against `maim` of the same screen in the same run: our time by its time.
 * Null where a program is missing.
 */
export async function desktopScreenshots({ quick }: FigureOptions): Promise<{
  readonly ratio: number;
  readonly own: number;
  readonly maim: number;
  readonly n: number;
} | null> {
  if (missing !== null) return null;
  return onDisplay(async ({ lab, call }) => {
    const text =
      'i=0; while [ $i -lt 80 ]; do ls -l /usr/bin | head -n $((i + 4)) | tail -n 3; i=$((i + 1)); done; sleep 600';
    lab.run('xterm', ['-maximized', '-T', 'full', '-e', 'sh', '-c', text]);
    await delay(3000);
    const n = quick ? 8 : 40;
    const own: number[] = [];
    const maim: number[] = [];
    // One after the other, so that what else runs on this machine meets both.
    for (let round = -3; round < n; round += 1) {
      let began = performance.now();
      await call('screenshot');
      if (round >= 0) own.push(performance.now() - began);
      began = performance.now();
      execFileSync('maim', { env: lab.env, maxBuffer: 64 * 1024 * 1024 });
      if (round >= 0) maim.push(performance.now() - began);
    }
    const [ours, theirs] = [median(own), median(maim)];
    return { ratio: ours / theirs, own: rounded(ours), maim: rounded(theirs), n };
  });
}
