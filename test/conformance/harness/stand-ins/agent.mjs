/**
 * What a stand-in does with a prompt in the conformance kit, whatever program it stands in for: it notes that it took the prompt, works for a moment,
 * and reports as its program does. `RUNSHELL` makes it ask first, `SLOW` makes it work until it is interrupted, `BUSY` for longer. `STAND_IN_LOG`
 * names the file of its notes. As its program, it runs a prompt that begins with `!` or `/` as a command.
 */
import { appendFileSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const turnMs = 60;
const busyMs = 700;

const note = (entry) => append(process.env.STAND_IN_LOG, entry);

/** One more line of JSON in a file. */
export function append(file, entry) {
  mkdirSync(dirname(file), { recursive: true });
  appendFileSync(file, `${JSON.stringify(entry)}\n`);
}

/** The word after an option, or null. */
export function option(...names) {
  const at = process.argv.findIndex((word) => names.includes(word));
  return at < 0 ? null : process.argv[at + 1];
}

/** What Claude Code and Qwen Code call the folder of a project. */
export const slug = () => process.cwd().replace(/[^A-Za-z0-9]/g, '-');

/** `begins` and `ends` report a turn; `asks` answers whether a person said yes. */
export function createWork({ session, begins, asks = (turn) => turn.ask(), ends }) {
  async function act(prompt, turn) {
    if (prompt.includes('RUNSHELL')) {
      if (await asks(turn)) note({ ran: true });
    } else if (prompt.includes('SLOW')) await new Promise(() => {});
    else await delay(prompt.includes('BUSY') ? busyMs : turnMs);
    return 'done';
  }
  return async (prompt, turn) => {
    if (/^[!/]/.test(prompt)) return note({ command: prompt });
    note({ session, prompt });
    await begins(prompt);
    const how = await Promise.race([act(prompt, turn), turn.interrupted]);
    return how === 'done' ? ends() : undefined;
  };
}
