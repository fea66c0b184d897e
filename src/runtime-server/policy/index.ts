/**
 * The policy of a workspace, reread as soon as its file has changed. A look at the file costs a few microseconds, so it is
 * checked at each decision instead of watched, and no decision uses an old version. Must not know who asks.
 */
import { join } from 'node:path';
import { type SandboxMode, strictestSandbox } from '../../contracts/factory/team-file.ts';
import { printOf, readTextWithin } from '../../kit/files/within.ts';
import { decide, type Rules } from './decide.ts';
import { largestPolicyFile, policyFile, readPolicy } from './file.ts';
import { type Policy, type PolicyProblem, type PolicyVerdict, strictest } from './policy.ts';

export { type Policy, type PolicyAction, type PolicyVerdict, strictest } from './policy.ts';
export { classOf, hostedShell, nameOf, riskOf } from './risk.ts';

type Read = Rules & { readonly problems: readonly PolicyProblem[]; readonly sandbox: SandboxMode };

const nothing: Read = { rules: [], broken: null, problems: [], sandbox: 'none' };
/** A file without its person's yes is read only while that costs little: a larger one counts as unreadable. Bytes. */
const largestUnasked = 64 * 1024;
const waitsNote = `a change of ${policyFile} waits for your yes`;

export function createPolicy({
  workspace,
  trust,
  log,
}: {
  /** Absolute path. */
  readonly workspace: string;
  /** Which content of the file counts, and whether the current one waits for its person's yes. */
  readonly trust: {
    judge(path: string, text: string | null): { readonly waits: boolean; readonly counts: string | null };
    onAnswer?(listener: () => void): () => void;
  };
  readonly log: { warn(message: string, facts?: Record<string, unknown>): void };
}): Policy {
  const path = join(workspace, policyFile);
  let print: string | null = null;
  /** The content that the person agreed to. */
  let agreed = nothing;
  /** Different content that waits for their yes; null: none. */
  let waiting: Read | null = null;
  trust.onAnswer?.(() => {
    print = null;
  });

  function look(): void {
    const now = printOf(path);
    if (now === print) return;
    print = now;
    const found = readTextWithin(workspace, path, largestPolicyFile);
    const unfit = typeof found !== 'string' && found.is === 'unfit' ? found.why : null;
    const text = typeof found === 'string' ? found : null;
    const judged = trust.judge(path, text);
    const lying = unfit !== null ? broken([problem(unfit)]) : readText(text, judged.waits);
    // Nobody can have agreed to unreadable content.
    agreed = judged.waits || unfit !== null ? readText(judged.counts, false) : lying;
    waiting = judged.waits || unfit !== null ? lying : null;
    if (lying.broken !== null) log.warn('The policy of the workspace is invalid.', { problems: lying.problems });
  }

  return {
    decide(action, mode) {
      look();
      const before = decide(agreed, action, mode);
      if (waiting === null) return before;
      return stricter(before, decide(waiting, action, mode));
    },
    problems() {
      look();
      return (waiting ?? agreed).problems;
    },
    sandbox() {
      look();
      return strictestSandbox([agreed.sandbox, waiting?.sandbox ?? 'none']);
    },
  };
}

/** The stricter verdict of the agreed rules and the waiting ones. */
function stricter(before: PolicyVerdict, after: PolicyVerdict): PolicyVerdict {
  if (before.verdict === after.verdict) return before;
  const verdict = strictest([before, after]);
  return { ...verdict, rule: `${verdict.rule} (${waitsNote})` };
}

function readText(text: string | null, waits: boolean): Read {
  if (text === null) return nothing;
  if (waits && Buffer.byteLength(text) > largestUnasked) {
    return broken([problem(`It has more than ${largestUnasked} bytes and waits for your yes.`)]);
  }
  const result = readPolicy(text);
  if (result.ok) return { rules: result.rules, broken: null, problems: [], sandbox: result.sandbox };
  // A mistake elsewhere in the file does not take a sandbox away.
  const [, mode = 'none'] = /^sandbox:\s*["']?(files|closed)\b/m.exec(text) ?? [];
  return { ...broken(result.problems), sandbox: mode as SandboxMode };
}

const problem = (message: string): PolicyProblem => ({ path: '', line: 1, message });

function broken(problems: readonly PolicyProblem[]): Read {
  const first = problems[0]!;
  const where = first.path === '' ? '' : ` (${first.path})`;
  return {
    rules: [],
    broken: `${policyFile} line ${first.line}${where} is invalid: until it is fixed, every action needs approval`,
    problems,
    sandbox: 'none',
  };
}
