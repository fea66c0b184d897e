/** The order of steps: cycles, ancestors, depths. Pure; works in time linear in steps and edges. */

interface Ordered {
  readonly id: string;
  readonly blockedBy: readonly string[];
}

/** A cycle as the path that closes it (`['a', 'b', 'a']`: b waits for a, a waits for b), or null. Unknown ids are skipped. */
export function findCycle(steps: readonly Ordered[]): string[] | null {
  const byId = new Map(steps.map((step) => [step.id, step]));
  const state = new Map<string, 'open' | 'closed'>();
  for (const start of steps) {
    if (state.has(start.id)) continue;
    // Without recursion: a template may be thousands of steps deep.
    const path: { id: string; next: number }[] = [{ id: start.id, next: 0 }];
    state.set(start.id, 'open');
    while (path.length > 0) {
      const top = path.at(-1) as { id: string; next: number };
      const parent = byId.get(top.id)?.blockedBy[top.next];
      top.next += 1;
      if (parent === undefined) {
        state.set(top.id, 'closed');
        path.pop();
      } else if (state.get(parent) === 'open') {
        const from = path.findIndex((one) => one.id === parent);
        return [...path.slice(from).map((one) => one.id), parent].reverse();
      } else if (byId.has(parent) && !state.has(parent)) {
        state.set(parent, 'open');
        path.push({ id: parent, next: 0 });
      }
    }
  }
  return null;
}

/** Every step that `id` waits for, directly or not. */
export function ancestorsOf(id: string, byId: ReadonlyMap<string, Ordered>): Set<string> {
  const found = new Set<string>();
  const open = [...(byId.get(id)?.blockedBy ?? [])];
  while (open.length > 0) {
    const next = open.pop() as string;
    if (found.has(next)) continue;
    found.add(next);
    open.push(...(byId.get(next)?.blockedBy ?? []));
  }
  return found;
}

/** Length of the longest way from a step without parents; the steps have no cycle. */
export function depthsOf(steps: readonly Ordered[]): Map<string, number> {
  const byId = new Map(steps.map((step) => [step.id, step]));
  const depths = new Map<string, number>();
  for (const start of steps) {
    const open = [start.id];
    while (open.length > 0) {
      const id = open.at(-1) as string;
      const parents = byId.get(id)?.blockedBy ?? [];
      const missing = depths.has(id) ? [] : parents.filter((parent) => !depths.has(parent));
      if (missing.length > 0) {
        open.push(...missing);
        continue;
      }
      if (!depths.has(id)) depths.set(id, Math.max(-1, ...parents.map((parent) => depths.get(parent) as number)) + 1);
      open.pop();
    }
  }
  return depths;
}
