/**
 * The stand-in of Claude Code with an account: its conversations lie in `CLAUDE_CONFIG_DIR`. `STARTS` names a file that each start is noted in, as JSON.
 */
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';

const flag = (name) => process.argv[process.argv.indexOf(name) + 1];
const config = process.env.CLAUDE_CONFIG_DIR ?? join(homedir(), '.claude');
const resumed = process.argv.includes('--resume');
const id = flag(resumed ? '--resume' : '--session-id');
const transcript = join(config, 'projects', process.cwd().replace(/[^A-Za-z0-9]/g, '-'), `${id}.jsonl`);
const keys = Object.keys(process.env).filter((name) => /^(ANTHROPIC|CLAUDE_CODE)_/.test(name));
appendFileSync(
  process.env.STARTS,
  `${JSON.stringify({ config, resumed, id, keys, said: resumed && existsSync(transcript) ? readFileSync(transcript, 'utf8') : '' })}\n`,
);
if (resumed && !existsSync(transcript)) {
  process.stdout.write(`No conversation found with session ID: ${id}\r\n`);
  process.exit(1);
}
mkdirSync(dirname(transcript), { recursive: true });
process.env.TRANSCRIPT = transcript;
process.env.STAND_IN_WORK = new URL('./limits-work.mjs', import.meta.url).href;
globalThis.standIn = { config, id, transcript, settings: flag('--settings') };
await import('../../runtime-server/harness/stand-in-claude.mjs');
