/**
 * Claude Code as far as starting, going on with a conversation and taking messages go: its flags, its transcript, its composer, no
 * model. A conversation that is not there is refused, as the real program does. `STARTS` names a file that each start is noted in;
 * `STAYS` makes it live on when its terminal hangs up.
 */
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';

const flag = (name) => process.argv[process.argv.indexOf(name) + 1];
const resumed = process.argv.includes('--resume');
const id = flag(resumed ? '--resume' : '--session-id');
const transcript = join(homedir(), '.claude', 'projects', process.cwd().replace(/[^A-Za-z0-9]/g, '-'), `${id}.jsonl`);
if (process.env.STARTS) appendFileSync(process.env.STARTS, `${process.pid} ${resumed ? 'resumed' : 'new'} ${id}\n`);
if (resumed && !existsSync(transcript)) {
  process.stdout.write(`No conversation found with session ID: ${id}\r\n`);
  process.exit(1);
}
mkdirSync(dirname(transcript), { recursive: true });
process.env.TRANSCRIPT = transcript;
if (process.env.STAYS) {
  process.on('SIGHUP', () => {});
  setInterval(() => {}, 1000);
  process.stdout.on('error', () => {});
  process.stdin.on('error', () => {});
}
if (resumed) {
  const said = readFileSync(transcript, 'utf8').trim().split('\n').length;
  process.stdout.write(`Going on after ${said} messages.\r\n`);
}
await import('../../runtime-server/harness/stand-in-claude.mjs');
