/** A message that a runtime was typing when it ended, in the programs whose composers take pastes: what the next runtime makes of it. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { HarnessName } from '../../../src/contracts/factory/agent.ts';
import type { HarnessBot } from '../../../src/runtime-server/harness/harness.ts';
import { composePrompt } from '../../../src/runtime-server/harness/wording.ts';
import { createScratch, gateOpen, outgoing, type Scratch } from './bench-of-one.ts';

const short = outgoing('say hello');
/** Programs show a marker in place of a text as long as this. */
const long = outgoing(Array.from({ length: 20 }, (_, row) => `row ${row}`).join('\n'));

describe.each<HarnessName>(['claude', 'codex', 'gemini'])('%s', (harness) => {
  let scratch: Scratch;

  beforeEach(() => {
    scratch = createScratch();
    scratch.standIn(harness);
  });
  afterEach(() => scratch.close());

  /** The runtime ends after it wrote this, and the next one takes the bot up. */
  async function cutOff(written: string): Promise<HarnessBot> {
    const bot = await scratch.up({ harness });
    await gateOpen(bot);
    const { agentId, paneId } = bot;
    bot.close();
    await scratch.panes.write(paneId, written);
    return scratch.restarted().attach(scratch.spec({ agentId, harness }), paneId);
  }
  const pasted = (text: string) => `\x1b[200~${text}\x1b[201~`;
  const typed = (bot: HarnessBot) => scratch.typed(bot);

  test.each([
    ['short', short],
    ['long', long],
  ])('a %s text that stands there unsent is sent, and not pasted again', async (_, message) => {
    const bot = await cutOff(pasted(composePrompt(message)));
    expect(await bot.resume(message)).toMatchObject({ state: 'verified' });
    expect(typed(bot).match(/200~/g)).toHaveLength(1);
    expect(typed(bot).match(/\r/g)).toHaveLength(1);
  });

  test('where another text stands or none, nothing is typed, and how far it came is not known', async () => {
    const bot = await cutOff(pasted('what a person pasted'));
    expect(await bot.resume(short)).toBeNull();
    expect(typed(bot)).toBe(pasted('what a person pasted'));
  });
});
