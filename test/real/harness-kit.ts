/** The rows of the conformance kit with a real program: what it took is what it asked the model server for. */
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { BotSpec, HarnessBot } from '../../src/runtime-server/harness/harness.ts';
import { createPaneSubject } from '../conformance/harness/pane-subject.ts';
import { playRows } from '../conformance/harness/play.ts';
import { rows } from '../conformance/harness/rows.ts';
import { type ModelReply, type ModelRequest, text } from '../support/model-server/script.ts';
import type { Bench } from './harness-play.ts';

/** A turn that lasts for a while. The words differ: what repeats itself may be taken for a loop. */
export const busy: ModelReply = text(Array.from({ length: 20 }, (_, at) => `busy${at * 7} `).join(''), {
  pieces: 20,
  pauseMs: 150,
});

/**
 * The prompt of ours that is asked about; null: none. A prompt that got no answer comes again in front of the next one. What a program asks its model
 * for itself (a title, a summary) offers no tools.
 */
function promptIn({ lastUser, tools }: ModelRequest): string | null {
  const from = lastUser.lastIndexOf('From owner (message ');
  return from < 0 || tools.length === 0 ? null : lastUser.slice(from);
}

/** `spec`: all that its bot is started with. `attached`: its hooks come to whoever is given here. */
export async function playKit(
  bench: Bench,
  { spec, attached = () => {} }: { readonly spec: BotSpec; readonly attached?: (bot: HarnessBot) => void },
): Promise<void> {
  const { model } = bench;
  const made = join(bench.work, 'made');
  let ran = 0;
  const subject = createPaneSubject(spec.harness, {
    people: bench.people,
    async up(resume) {
      const bot = await bench.up({ ...spec, resume });
      attached(bot);
      return bot;
    },
    kill: (bot) => bench.killNow(bot.paneId),
    prompts: () => model.requests.flatMap((request) => promptIn(request) ?? []),
    together(first, second) {
      const asked = model.requests.findLast((request) => promptIn(request)?.includes(second));
      return JSON.stringify(asked?.body ?? '').includes(first);
    },
    ran() {
      if (existsSync(made)) ran += 1;
      rmSync(made, { force: true });
      return ran;
    },
    usage: async () => (await bench.harnesses.usage(spec, null, true))?.lines ?? [],
    answering: (bot) => /slow\d* /.test(bot.explain().bottom.join('\n')),
    needsReading: true,
  });
  const verdicts = await playRows(subject, ({ row, state, why }, ms) => {
    const words = `${row}: ${rows[row].promises}`;
    if (state === 'n/a') console.log(`n/a  ${spec.harness}: ${words}: ${why}`);
    else bench.note(state === 'passed', `${words} (${Math.round(ms)} ms)${why === '' ? '' : `: ${why}`}`);
  });
  const passed = verdicts.filter(({ state }) => state === 'passed').length;
  console.log(`     ${spec.harness}: ${passed} of ${verdicts.filter(({ state }) => state !== 'n/a').length} rows`);
}
