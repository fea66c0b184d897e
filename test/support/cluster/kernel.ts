/**
 * What clusters set in the kernel of the whole machine, and how it is put back after the last of several that run at the same time. Must not know who
 * sets it.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** What a kubelet sets. */
const changed = ['vm/overcommit_memory', 'vm/panic_on_oom', 'kernel/panic', 'kernel/panic_on_oops'];
/** Counts that many containers use up. */
const raised = {
  'fs/inotify/max_user_instances': 8192,
  'kernel/keys/root_maxkeys': 1_000_000,
  'kernel/keys/root_maxbytes': 25_000_000,
};
let clusters = 0;

/**
 * Answers how to put it back. `held`: a folder that is gone after a restart of the machine, as what was set is. It has a file for each cluster, named by
 * its process, and one with what was there before the first, because a later cluster finds only what an earlier one has set.
 */
export function keepKernel(settings = '/proc/sys', held = '/run/gantry-test-clusters'): () => void {
  const before = join(held, 'before.json');
  mkdirSync(held, { recursive: true });
  const files = [...changed, ...Object.keys(raised)].filter((name) => existsSync(join(settings, name)));
  const now = Object.fromEntries(files.map((name) => [name, readFileSync(join(settings, name), 'utf8')]));
  // One that was killed has put nothing back, so what it found still counts.
  if (!existsSync(before)) writeFileSync(before, JSON.stringify(now));
  clusters += 1;
  const own = `${process.pid}-${clusters}`;
  writeFileSync(join(held, own), '');
  for (const [name, least] of Object.entries(raised)) {
    if (name in now && Number(now[name]) < least) writeFileSync(join(settings, name), String(least));
  }
  return () => {
    rmSync(join(held, own), { force: true });
    if (!existsSync(before) || readdirSync(held).some(isHeld)) return;
    for (const [name, value] of Object.entries(JSON.parse(readFileSync(before, 'utf8')) as Record<string, string>))
      writeFileSync(join(settings, name), value);
    rmSync(held, { recursive: true, force: true });
  };
}

function isHeld(file: string): boolean {
  const [pid] = /^\d+(?=-)/.exec(file) ?? [];
  return pid !== undefined && existsSync(`/proc/${pid}`);
}
