/** The last scene of `claude.ts`: Claude Code as a bot of a team in Gantry as a person gets it, from `gantry start` on. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Product, scratchHome, startProduct, teamUp } from '../support/bench/product.ts';

interface Shown {
  readonly id: string;
  readonly address: string;
  readonly state: string;
  readonly stateReason: string | null;
}

/** `env`: how Claude Code finds its model server. Answers what was seen, in words. */
export async function playProduct(env: Readonly<Record<string, string>>): Promise<string> {
  const team = 'bots:\n  - bot: web\n    harness: claude\n';
  const place = scratchHome({ real: team });
  const { workspace } = place;
  // As a person left it after the first start, so that the scene is about messages.
  writeFileSync(
    join(String(place.env.HOME), '.claude.json'),
    JSON.stringify({
      hasCompletedOnboarding: true,
      theme: 'dark',
      projects: { [workspace]: { hasTrustDialogAccepted: true } },
    }),
  );
  try {
    const given = { ...place, env: { ...place.env, ...env } };
    const product = await startProduct(given);
    const [bot] = await teamUp(product, 'real');
    assert.ok(bot);
    await reaches(product, bot.id, 'idle');
    const sent = await product.web.call<{ state: string; evidence: string }>('POST', '/api/factory/send', {
      to: 'web@real',
      text: 'say hello',
    });
    assert.deepEqual([sent.state, sent.evidence], ['verified', 'hook'], JSON.stringify(sent));
    const queued = await product.web.call<{ id: string; state: string }>('POST', '/api/factory/send', {
      to: 'web@real',
      text: 'say more',
    });
    const later = await settled(product, queued.id);
    await reaches(product, bot.id, 'idle');
    await product.kill();
    const again = await startProduct(given);
    await reaches(again, bot.id, 'idle');
    const third = await again.web.call<{ state: string; evidence: string }>('POST', '/api/factory/send', {
      to: 'web@real',
      text: 'say it again',
    });
    assert.deepEqual([third.state, third.evidence], ['verified', 'hook'], JSON.stringify(third));
    await again.stop();
    return `first ${sent.state} by ${sent.evidence}; second ${queued.state}, then ${later.state} by ${later.evidence}; after kill -9 and a new start ${third.state} by ${third.evidence}`;
  } finally {
    await place.remove();
  }
}

async function reaches(product: Product, id: string, state: string): Promise<void> {
  let last: Shown | null = null;
  for (let tries = 0; tries < 200; tries += 1) {
    last = await product.web.call<Shown>('GET', `/api/factory/agents/${id}`);
    if (last.state === state) return;
    await delay(100);
  }
  throw new Error(`not ${state}: ${JSON.stringify(last)}`);
}

async function settled(product: Product, id: string): Promise<{ state: string; evidence: string | null }> {
  for (let tries = 0; tries < 200; tries += 1) {
    const { deliveries } = await product.web.call<{
      deliveries: { id: string; state: string; evidence: string | null }[];
    }>('GET', '/api/factory/deliveries');
    const delivery = deliveries.find((each) => each.id === id);
    if (delivery && delivery.state !== 'queued' && delivery.state !== 'accepted') return delivery;
    await delay(100);
  }
  throw new Error(`the delivery ${id} did not settle`);
}
