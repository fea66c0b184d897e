/**
 * Whether a run makes progress: how often it has done the same action while nothing that it saw changed. Counts each action separately, so that a
 * loop over several is noticed as well. Must not know how an action is done.
 */
import { createHash } from 'node:crypto';
import type { Toolset } from '../../../contracts/computer-use/members.ts';
import type { ToolsetResult } from '../../../contracts/computer-use/toolset.ts';
import { canonicalJson } from '../../../kit/ledger/canonical.ts';
import { pictureOf, textOf } from './actions.ts';
import type { Picture, PlannedCall } from './planner-port.ts';

/** This many repeats on an unchanged screen: a person would have stopped long before. */
export const maxRepeats = 40;

interface Progress {
  /**
   * After an action: how often it was done since the screen last changed. `result` is null where it was denied; `after` is the picture
   * after it.
   */
  did(call: PlannedCall, result: ToolsetResult | null, after: Picture | null): number;
}

export function createProgress(): Progress {
  const counts = new Map<string, number>();
  const texts = new Map<string, string>();
  /** Pages and desktop are compared separately. */
  const screens = new Map<Toolset, string>();

  /** False where it is the same as before; an unknown value counts as the same. */
  function changed<Key>(known: Map<Key, string>, key: Key, content: string): boolean {
    const now = createHash('sha256').update(content).digest('base64');
    const before = known.get(key);
    known.set(key, now);
    return before !== undefined && before !== now;
  }

  return {
    did(call, result, after) {
      const { toolset, member, input } = call;
      const action = canonicalJson({ toolset, member, input });
      const picture = after ?? (result !== null && member === 'screenshot' ? pictureOf(result) : null);
      const moved = picture !== null && changed(screens, toolset, picture.data);
      // Content below the edge of the picture changes the text of a page and not the picture.
      const reads = result !== null && changed(texts, action, textOf(result));
      if (moved || reads) counts.clear();
      const count = (counts.get(action) ?? 0) + 1;
      counts.set(action, count);
      return count;
    },
  };
}
