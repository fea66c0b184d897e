/**
 * Sites that a model's run may act on: those that its task names, and those that a person allowed. A page cannot add one, because
 * what a page says is data, not an instruction. In memory: a run does not outlive the runtime. Must not know calls.
 */
import type { MemberClass } from '../../contracts/computer-use/members.ts';
import type { ToolsetCaller } from './gate.ts';
import type { Destination } from './hosts.ts';

export interface Origins {
  isNew(caller: ToolsetCaller, at: Destination | null, kind: MemberClass): boolean;
  letInto(caller: ToolsetCaller, at: Destination | null): void;
}

/** The oldest is forgotten, and asked about again. */
const maxHolders = 200;

export function createOrigins(): Origins {
  const known = new Map<string, Set<string>>();
  return {
    isNew({ byModel, holder, task }, at, kind) {
      if (!byModel || at === null || kind === 'observe') return false;
      return !(known.get(holder.id)?.has(at.origin) ?? false) && !names(task ?? '', at.host);
    },
    letInto({ byModel, holder }, at) {
      if (!byModel || at === null) return;
      const origins = known.get(holder.id) ?? new Set();
      known.delete(holder.id);
      known.set(holder.id, origins.add(at.origin));
      if (known.size > maxHolders) known.delete(known.keys().next().value!);
    },
  };
}

/** As a whole word: `example.org` is not named by `example.org.evil.test`. */
function names(task: string, host: string): boolean {
  const text = task.toLowerCase();
  for (let at = text.indexOf(host); at >= 0; at = text.indexOf(host, at + 1)) {
    const [before, after] = [text[at - 1] ?? ' ', text.slice(at + host.length, at + host.length + 2)];
    if (!/[\w.-]/.test(before) && !/^(?:[\w-]|[.:]\w)/.test(after)) return true;
  }
  return false;
}
