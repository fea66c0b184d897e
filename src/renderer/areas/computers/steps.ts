/** Turns a run's events into entries of its timeline: an action is one entry, however many events it has. Pure. */
import type { RunEvent } from '../../../contracts/computer-use/run.ts';
import { actionWords, tookWords } from './run-words.ts';

export type EntryState = 'note' | 'running' | 'done' | 'failed' | 'denied' | 'waits';

export interface Entry {
  /** Index of the first event that told of it. */
  readonly key: number;
  readonly at: string;
  readonly words: string;
  readonly state: EntryState;
  /** Why it failed, what the model said, how long it took. */
  readonly detail: string | null;
  /** Screenshots after it. */
  readonly pictures: readonly string[];
}

/** Told by the entries themselves, or by the state of the run. */
const silent: ReadonlySet<RunEvent['event_type']> = new Set([
  'step.started',
  'step.completed',
  'run.ended',
  'run.cancelling',
]);

export function entriesOf(events: readonly RunEvent[]): Entry[] {
  const entries: Entry[] = [];
  const actions = new Map<number, number>();
  let question: number | null = null;
  const patch = (at: number | null | undefined, change: Partial<Entry>) => {
    if (at !== null && at !== undefined) entries[at] = { ...entries[at]!, ...change };
  };
  for (const { index, event_type, at, message, data } of events) {
    const call = typeof data.call_index === 'number' ? data.call_index : -1;
    switch (event_type) {
      case 'action.started':
        actions.set(call, entries.length);
        entries.push({ ...blank(index, at), words: actionOf(data), state: 'running' });
        break;
      case 'action.completed': {
        const took = typeof data.duration_ms === 'number' ? tookWords(data.duration_ms) : null;
        patch(actions.get(call), { state: 'done', detail: took });
        break;
      }
      case 'action.failed':
      case 'action.denied':
        patch(actions.get(call), { state: event_type === 'action.failed' ? 'failed' : 'denied', detail: message });
        break;
      case 'approval.required':
        question = entries.length;
        entries.push({ ...blank(index, at), words: 'Asks for approval', state: 'waits' });
        break;
      case 'approval.resolved':
        patch(question, {
          state: 'note',
          words: data.decision === 'approved' ? 'Approved' : 'Not approved',
        });
        question = null;
        break;
      case 'artifact.created': {
        const { kind, artifact_id: id } = data;
        if (kind !== 'screenshot' || typeof id !== 'string') {
          entries.push({ ...blank(index, at), words: message });
          break;
        }
        const last = entries.findLastIndex((one) => one.state !== 'note');
        patch(last === -1 ? null : last, { pictures: [...(entries[last]?.pictures ?? []), id] });
        break;
      }
      case 'model.response':
        if (message !== '') entries.push({ ...blank(index, at), words: message });
        break;
      case 'run.failed':
      case 'run.expired':
        entries.push({ ...blank(index, at), words: message, state: 'failed' });
        break;
      default:
        if (!silent.has(event_type)) entries.push({ ...blank(index, at), words: message });
    }
  }
  return entries;
}

const blank = (key: number, at: string): Entry => ({ key, at, words: '', state: 'note', detail: null, pictures: [] });

function actionOf({ toolset, member, input }: RunEvent['data']): string {
  const given = typeof input === 'object' && input !== null ? (input as Record<string, unknown>) : {};
  return actionWords(String(toolset), String(member), given);
}

/** Every screenshot in order, with the entry that it belongs to. */
export function picturesOf(entries: readonly Entry[]): readonly { readonly id: string; readonly entry: Entry }[] {
  return entries.flatMap((entry) => entry.pictures.map((id) => ({ id, entry })));
}
