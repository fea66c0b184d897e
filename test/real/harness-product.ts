/** A scene of `harnesses.ts`: a harness as a bot of a team in Gantry as a person gets it, its question answered from the inbox over HTTP. */
import assert from 'node:assert/strict';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Approval } from '../../src/contracts/approvals/approval.ts';
import type { HarnessName } from '../../src/contracts/factory/agent.ts';
import { scratchHome, startProduct, teamUp } from '../support/bench/product.ts';
import { until } from './scenes.ts';

interface Shown {
  readonly state: string;
  readonly stateReason: string | null;
}

/** `furnish` puts the person's own settings into the home. Answers what was seen, in words. */
export async function playTeam(
  harness: HarnessName,
  env: Readonly<Record<string, string>>,
  furnish: (home: string, workspace: string) => void,
): Promise<string> {
  const place = scratchHome({ real: `bots:\n  - bot: web\n    harness: ${harness}\n` });
  const made = join(place.workspace, 'made');
  furnish(String(place.env.HOME), place.workspace);
  try {
    let product = await startProduct({ ...place, env: { ...place.env, ...env } });
    const [bot] = await teamUp(product, 'real');
    assert.ok(bot);
    const shown = () => product.web.call<Shown>('GET', `/api/factory/agents/${bot.id}`);
    const idle = () => until('idle', async () => (await shown()).state === 'idle');
    const send = (text: string) =>
      product.web.call<{ state: string; evidence: string }>('POST', '/api/factory/send', { to: 'web@real', text });
    const waiting = () =>
      until('an approval', async () => {
        const path = '/api/factory/approvals?state=pending';
        return (await product.web.call<{ approvals: Approval[] }>('GET', path)).approvals[0];
      });
    const first = await send('say hello');
    assert.equal(first.state, 'verified', JSON.stringify(first));
    await idle();
    rmSync(made, { force: true });
    await send('RUNSHELL please');
    const asked = await waiting();
    const { stateReason } = await shown();
    const from = performance.now();
    await product.web.call('POST', `/api/factory/approvals/${asked.id}/resolve`, { decision: 'approve' });
    await until('the file', async () => existsSync(made));
    const ran = Math.round(performance.now() - from);
    await idle();
    rmSync(made, { force: true });
    await send('RUNSHELL again');
    const again = await waiting();
    await product.kill();
    product = await startProduct({ ...place, env: { ...place.env, ...env } });
    const same = await until('the question again', async () => {
      const path = `/api/factory/agents/${bot.id}/explain`;
      return (await product.web.call<{ approvals: string[] }>('GET', path)).approvals[0];
    });
    assert.equal(same, again.id);
    await product.web.call('POST', `/api/factory/approvals/${again.id}/resolve`, { decision: 'approve' });
    await until('the file', async () => existsSync(made));
    await idle();
    const last = await send('and further');
    assert.equal(last.state, 'verified', JSON.stringify(last));
    await product.stop();
    return `${first.state} by ${first.evidence}; ${stateReason}; the tool ran ${ran} ms after the answer; after kill -9 and a new start the same approval was answered, then ${last.state} by ${last.evidence}`;
  } finally {
    await place.remove();
  }
}
