/**
 * The one policy of a workspace, read again as soon as its file is another one (architecture.md 13). A look at the file costs a
 * few microseconds, so nothing is watched and nothing is late. Must not know who asks.
 */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { decide, type Rules } from './decide.ts';
import { policyFile, readPolicy } from './file.ts';
import type { Policy, PolicyProblem } from './policy.ts';

export type { Policy, PolicyAction, PolicyMode, PolicyProblem, PolicyVerdict, Verdict } from './policy.ts';
export { type ActionClass, classOf, riskOf } from './risk.ts';

export interface PolicyDeps {
  /** Absolute path. */
  readonly workspace: string;
  readonly log: { warn(message: string, facts?: Record<string, unknown>): void };
}

const nothing: Rules & { readonly problems: readonly PolicyProblem[] } = { rules: [], broken: null, problems: [] };

export function createPolicy({ workspace, log }: PolicyDeps): Policy {
  const path = join(workspace, policyFile);
  let print = '';
  let read = nothing;

  function look(): typeof read {
    const now = fingerprint(path);
    if (now === print) return read;
    print = now;
    read = now === '' ? nothing : load();
    if (read.broken !== null) log.warn('The policy of the workspace cannot be read.', { problems: read.problems });
    return read;
  }

  function load(): typeof read {
    let problems: readonly PolicyProblem[];
    try {
      const result = readPolicy(readFileSync(path, 'utf8'));
      if (result.ok) return { rules: result.rules, broken: null, problems: [] };
      problems = result.problems;
    } catch (error) {
      problems = [{ path: '', line: 1, message: `It cannot be read: ${(error as Error).message}.` }];
    }
    const first = problems[0]!;
    const where = first.path === '' ? '' : ` (${first.path})`;
    const broken = `${policyFile} line ${first.line}${where} is not right: until it is, everything that acts asks`;
    return { rules: [], broken, problems };
  }

  return {
    decide: (action, mode) => decide(look(), action, mode),
    problems: () => look().problems,
  };
}

/** Empty while there is no file, which costs no error: most workspaces have none. Another inode, size or time is another file. */
function fingerprint(path: string): string {
  try {
    const found = statSync(path, { bigint: true, throwIfNoEntry: false });
    return found === undefined ? '' : `${found.ino}.${found.size}.${found.mtimeNs}.${found.ctimeNs}`;
  } catch (error) {
    return `unreadable ${(error as NodeJS.ErrnoException).code}`;
  }
}
