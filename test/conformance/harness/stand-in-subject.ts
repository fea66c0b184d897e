/** An agent program in a pane with its stand-in: real ptys, adapters, hooks over HTTP, transcripts on disk. What each stand-in rests on, it says itself. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { HarnessName } from '../../../src/contracts/factory/agent.ts';
import type { Harnesses } from '../../../src/runtime-server/harness/harness.ts';
import { openHookEndpoint } from '../../real/hook-endpoint.ts';
import { createScratch } from '../../runtime-server/harness/bench-of-one.ts';
import { createPaneSubject } from './pane-subject.ts';
import type { Subject } from './subject.ts';

export const standIns = [
  'claude',
  'codex',
  'copilot',
  'gemini',
  'opencode',
  'qwen',
] as const satisfies readonly HarnessName[];

/** A line of what a stand-in notes. */
interface Note {
  readonly session?: string;
  readonly prompt?: string;
  readonly ran?: true;
}

/** Its whole lines: the last one may still be on its way. */
export function notesIn(log: string): Note[] {
  if (!existsSync(log)) return [];
  const lines = readFileSync(log, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Note);
}

const agentId = 'kit';

/** `change`: breaks the adapter, in one way. */
export async function openStandIn(
  harness: (typeof standIns)[number],
  change: (harnesses: Harnesses) => Harnesses = (harnesses) => harnesses,
): Promise<{ readonly subject: Subject; close(): void }> {
  const scratch = createScratch();
  scratch.standIn(harness);
  const harnesses = change(scratch.harnesses);
  const paths = scratch.paths(agentId);
  const endpoint = await openHookEndpoint(paths.urlFile);
  writeFileSync(paths.tokenFile, agentId, { mode: 0o600 });
  const log = join(paths.folder, 'stand-in.jsonl');
  const notes = () => notesIn(log);
  const spec = (resume: boolean) =>
    scratch.spec({
      agentId,
      harness,
      resume,
      env: { STAND_IN_LOG: log, STAND_IN_WORK: fileURLToPath(new URL(`./stand-ins/${harness}.mjs`, import.meta.url)) },
    });
  const sessionOf = (words: string) => notes().findLast(({ prompt }) => prompt?.includes(words))?.session;
  let starts = 0;

  const subject = createPaneSubject(harness, {
    people: scratch.people,
    async up(resume) {
      starts += 1;
      const bot = spec(resume);
      const paneId = `pane_${starts}`;
      scratch.panes.start(paneId, await harnesses.prepare(bot, paths));
      const live = harnesses.attach(bot, paneId);
      endpoint.bots.set(agentId, live);
      return live;
    },
    async kill(bot) {
      const info = scratch.panes.get(bot.paneId);
      if (info?.alive) process.kill(info.pid, 'SIGKILL');
    },
    prompts: () => notes().flatMap(({ prompt }) => prompt ?? []),
    together: (first, second) => sessionOf(first) !== undefined && sessionOf(first) === sessionOf(second),
    ran: () => notes().filter(({ ran }) => ran).length,
    usage: async () => (await harnesses.usage(spec(false), null, true))?.lines ?? [],
    answering: () => true,
    needsReading: false,
  });
  return {
    subject,
    close() {
      endpoint.close();
      scratch.close();
    },
  };
}
