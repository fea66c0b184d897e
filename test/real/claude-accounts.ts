/** A scene of `claude.ts`: Claude Code meets a usage limit with one account and continues the same conversation with the next one of its order. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { scratchHome, startProduct, teamUp } from '../support/bench/product.ts';
import { type ModelReply, type ModelRequest, text } from '../support/model-server/script.ts';

const words = 'Remember the word pelican, and meet the limit of this account';

/** Until it uses the second account, the model server answers with the limit. */
export function createAccountScript(): {
  answer(request: ModelRequest): ModelReply | null;
  /** What the model was sent after the change. */
  readonly later: readonly string[];
} {
  const later: string[] = [];
  return {
    later,
    answer({ lastUser, body }) {
      if (lastUser.includes('met its usage limit')) {
        later.push(JSON.stringify(body));
        return text('I continue.');
      }
      if (!lastUser.includes(words)) return null;
      return { kind: 'error', status: 429, message: 'You have hit your usage limit, resets 3pm' };
    },
  };
}

interface Shown {
  readonly id: string;
  readonly state: string;
  readonly stateReason: string | null;
  readonly account?: string;
}

/** `env`: how Claude Code finds its model server. Answers what was seen, in words. */
export async function playAccounts(
  env: Readonly<Record<string, string>>,
  script: ReturnType<typeof createAccountScript>,
): Promise<string> {
  const place = scratchHome({ real: 'bots:\n  - { bot: web, harness: claude, accounts: [work, private] }\n' });
  try {
    const product = await startProduct({ ...place, env: { ...place.env, ...env } });
    for (const account of ['work', 'private']) {
      await product.engine.call('POST', '/api/factory/accounts', { program: 'claude', account });
      await product.engine.call('POST', '/api/factory/teams/sign-in/down', {});
      const folder = join(place.home, 'accounts', 'claude', account);
      mkdirSync(folder, { recursive: true });
      const settings = {
        hasCompletedOnboarding: true,
        theme: 'dark',
        // As its sign-in with an API key leaves it.
        primaryApiKey: `sk-ant-${account}-0123456789`,
        projects: { [place.workspace]: { hasTrustDialogAccepted: true } },
      };
      writeFileSync(join(folder, '.claude.json'), JSON.stringify(settings));
    }
    const [bot] = await teamUp(product, 'real');
    assert.ok(bot);
    const shown = () => product.engine.call<Shown>('GET', `/api/factory/agents/${bot.id}`);
    assert.equal((await shown()).account, 'work');
    const sent = await product.engine.call<{ state: string }>('POST', '/api/factory/send', {
      to: 'web@real',
      text: words,
    });
    assert.equal(sent.state, 'verified', JSON.stringify(sent));
    for (let tries = 0; script.later.length === 0; tries += 1) {
      assert.ok(tries < 600, `it did not continue: ${JSON.stringify(await shown())}`);
      await delay(100);
    }
    for (let tries = 0; (await shown()).state !== 'idle'; tries += 1) {
      assert.ok(tries < 300, `not idle: ${JSON.stringify(await shown())}`);
      await delay(100);
    }
    const after = await shown();
    assert.equal(after.account, 'private');
    assert.ok(script.later[0]?.includes('pelican'), 'the conversation before is not in what the model was sent');
    await product.stop();
    return `account ${after.account}; the model was sent the earlier messages again`;
  } finally {
    await place.remove();
  }
}
