/**
 * What the executor adds to a click and to a picture, against the library that it drives, on the same page at the same time: through
 * the engine's socket, with authentication, policy and a durable audit row.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { chromium, type Page } from 'playwright-core';
import { viewport } from '../../../src/programs/executor/browser/launch.ts';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { besideFloor, machineBy } from '../../support/bench/floor.ts';
import { median, quantile, rounded, spread } from '../../support/bench/numbers.ts';
import { type Product, scratchHome, startBuilt } from '../../support/bench/product.ts';
import type { Answered } from '../../support/sites/hands.ts';
import { desktopScreenshots } from './desktop.ts';

export const figures: readonly Figure[] = [
  { name: 'computer-use.click-browser', run: clickBrowser },
  { name: 'computer-use.screenshot', run: screenshot },
];

const chromiumPath = process.env.CHROMIUM ?? '/usr/bin/chromium';
const page = `<!doctype html><title>Count</title><body style="font:14px sans-serif">
  <button style="position:absolute;left:20px;top:20px;width:200px;height:60px" onclick="n.value=++c">Count</button>
  <output id=n style="position:absolute;left:260px;top:40px">0</output><script>c = 0</script>
  <main style="margin-top:120px;columns:3">${Array.from({ length: 120 }, (_, i) => `<p>Line ${i} of a page with words to read.</p>`).join('')}</main>`;

interface Stage {
  readonly product: Product;
  readonly raw: Page;
  call(member: string, input: Record<string, unknown>): Promise<Answered>;
}

/** The same page twice: in the engine's browser and in one driven only by the library. */
async function onStage<Result>(work: (stage: Stage) => Promise<Result>): Promise<Result> {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html');
    response.end(page);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const place = scratchHome();
  mkdirSync(join(place.workspace, '.gantry'), { recursive: true });
  writeFileSync(
    join(place.workspace, '.gantry', 'policy.yaml'),
    "rules:\n  - when: {tool: browser, host: '127.0.0.1:*'}\n    then: allow\n",
  );
  const browser = await chromium.launch({
    executablePath: chromiumPath,
    chromiumSandbox: process.getuid?.() !== 0,
    args: ['--disable-gpu'],
  });
  try {
    const product = await startBuilt(place);
    try {
      const raw = await browser.newPage({ viewport });
      const call = async (member: string, input: Record<string, unknown>): Promise<Answered> => {
        const answer = await product.engine.call<Answered>('POST', '/api/v1/computers/this-device/toolset', {
          toolset: 'browser',
          member,
          input,
          enable: ['javascript_exec'],
        });
        if (answer.is_error) throw new Error(`${member}: ${answer.error?.message}`);
        return answer;
      };
      await Promise.all([raw.goto(url), call('navigate', { url })]);
      return await work({ product, raw, call });
    } finally {
      await product.stop();
    }
  } finally {
    await browser.close();
    await place.remove();
    server.closeAllConnections();
    server.close();
  }
}

/** Rounds before the first that counts: both run compiled by then. */
const warmUp = 250;

/** Each in turn, so that what else the machine does falls on both. Milliseconds of each. */
async function inTurn(rounds: number, one: () => Promise<unknown>, other: () => Promise<unknown>) {
  const times: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round += 1) {
    for (const index of round % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)) {
      const began = performance.now();
      await (index === 0 ? one : other)();
      times[index].push(performance.now() - began);
    }
  }
  return times;
}

/** Clicks of each side whose middle is taken together. */
const blockOf = 50;

/** Of blocks: what a click costs while nobody else is busy. A loaded processor makes it dearer, by a third at times, and never cheaper. */
const quiet = (blocks: readonly number[]) => quantile(blocks, 0.25);

async function clickBrowser({ quick, log }: FigureOptions): Promise<Measured> {
  const blocks = quick ? 8 : 20;
  const rounds = blocks * blockOf;
  return onStage(async ({ raw, call }) => {
    const [x, y] = [100, 50];
    const clicks = (count: number) =>
      inTurn(
        count,
        () => call('left_click', { target: { type: 'coordinate', x, y } }),
        () => raw.mouse.click(x, y),
      );
    await clicks(warmUp);
    const { found, floors } = await besideFloor('pass', blocks, () => clicks(blockOf));
    const machine = machineBy('pass', floors, quiet);
    const counted = await call('javascript_exec', { text: 'String(c)' });
    const said = counted.content.map((part) => (part.type === 'text' ? part.text : '')).join('');
    const all = String(rounds + warmUp);
    const theirCount = await raw.evaluate('String(c)');
    if (said !== all || theirCount !== all)
      throw new Error(`The pages counted ${said} and ${theirCount} clicks of ${all}.`);
    const [own, peer] = [found.map(([ours]) => median(ours)), found.map(([, theirs]) => median(theirs))];
    log(`blocks: ${own.map((ms, block) => `${rounded(ms)} - ${rounded(peer[block]!)}`).join(', ')} ms`);
    const beyond = quiet(own) - quiet(peer);
    return {
      value: beyond / machine.factor,
      unit: 'ms p50 beyond page.mouse.click',
      n: rounds,
      at: `the engine's socket, audit durable, headless Chromium; by turns, of each side the quiet quarter of ${blocks} blocks of ${blockOf} clicks; as on the machine of the bound`,
      own: rounded(quiet(own)),
      peer: { name: 'playwright-core page.mouse.click', value: rounded(quiet(peer)) },
      detail: {
        raw: rounded(beyond),
        ours: spread(found.flatMap(([ours]) => ours)),
        theirs: spread(found.flatMap(([, theirs]) => theirs)),
        ...machine.detail,
      },
    };
  });
}

/** The worse of both: of a page, and of the desktop where there is one to measure. */
async function screenshot(options: FigureOptions): Promise<Measured> {
  const rounds = options.quick ? 30 : 100;
  const page = await onStage(async ({ raw, call }) => {
    const pictures = (count: number) =>
      inTurn(
        count,
        () => call('screenshot', {}),
        () => raw.screenshot(),
      );
    await pictures(warmUp);
    const [ours, theirs] = await pictures(rounds);
    return { ratio: median(ours) / median(theirs), ours: spread(ours), theirs: spread(theirs) };
  });
  const desktop = await desktopScreenshots(options);
  return {
    value: Math.max(page.ratio, desktop?.ratio ?? 0),
    unit: 'times page.screenshot, or maim',
    n: rounds,
    at: "the engine's socket, audit durable, headless Chromium and Xvfb 1280x800",
    own: page.ours.p50,
    peer: { name: 'playwright-core page.screenshot', value: page.theirs.p50 },
    detail: { page, desktop: desktop ?? 'not measured: programs of Debian are missing' },
  };
}
