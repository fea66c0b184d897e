/** How long a verified send takes. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { median, spread } from '../../support/bench/numbers.ts';
import { scratchHome, shellTeam, startProduct, teamUp, waitIdle } from '../../support/bench/product.ts';

export const figures: readonly Figure[] = [{ name: 'factory.send-verified', run: sendVerified }];

interface Answer {
  readonly state: string;
  readonly evidence: string | null;
  readonly detail?: string;
}

async function sendVerified({ quick, log }: FigureOptions): Promise<Measured> {
  const sends = quick ? 20 : 200;
  const place = scratchHome({ bench: shellTeam('bench', ['worker']) });
  try {
    const product = await startProduct(place);
    const [bot] = await teamUp(product, 'bench');
    if (bot === undefined) throw new Error('The team has no bot.');
    const times: number[] = [];
    const evidence = new Set<string>();
    for (let index = -5; index < sends; index += 1) {
      const started = performance.now();
      const text = `echo message ${index}`;
      const answer = await product.web.call<Answer>('POST', '/api/factory/send', { to: bot.address, text });
      const took = performance.now() - started;
      if (answer.state !== 'verified') throw new Error(`Send ${index} is ${answer.state}: ${answer.detail ?? ''}`);
      // The first ones warm both programs up.
      if (index >= 0) times.push(took);
      evidence.add(String(answer.evidence));
      await waitIdle(product, 'bench');
      await delay(20);
    }
    log(`evidence: ${[...evidence].join(', ')}`);
    await product.stop();
    return {
      value: median(times),
      unit: 'ms p50',
      n: sends,
      at: 'POST /api/factory/send through port 3010, one idle shell bot, one message at a time, until the answer says verified',
      detail: { ...spread(times), evidence: [...evidence] },
    };
  } finally {
    await place.remove();
  }
}
