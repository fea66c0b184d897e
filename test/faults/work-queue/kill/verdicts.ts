/**
 * What must not have happened, by four witnesses that know nothing of each other: the database's history, the lines that the commands
 * themselves wrote down, what the workers said, and for how long each answer told them that a task is their own.
 */
import type { Change, Ended } from './history.ts';
import type { Told } from './told-recorder.ts';

/** A command wrote that it began (`S`) or ended (`E`). */
export interface Mark {
  readonly kind: 'S' | 'E';
  readonly id: string;
  readonly fence: number;
  /** ms since the epoch; one computer, one clock. */
  readonly at: number;
}

/** A worker said what the queue had answered. */
export interface Word {
  readonly worker: string;
  readonly word: string;
  readonly id: string;
  readonly at: number;
}

export interface Seen {
  /** Creations that were answered with 201: key and id. */
  readonly created: ReadonlyMap<string, string>;
  readonly history: readonly Change[];
  readonly tasks: readonly Ended[];
  readonly marks: readonly Mark[];
  readonly words: readonly Word[];
  readonly told: readonly Told[];
  /** When the database's clock was put ahead, on everybody else's, and by how much. */
  readonly passed: readonly { readonly at: number; readonly ms: number }[];
  /** When each worker was killed, with all that it had started. */
  readonly kills: ReadonlyMap<string, readonly number[]>;
}

const ended = new Set(['succeeded', 'failed', 'cancelled']);
const held = new Set(['leased', 'running']);
/** So much the clocks of replicas may differ: half of what a worker ends its job before its lease does. */
const clocksMs = 1000;

export function byTask<T extends { readonly id: string }>(rows: readonly T[]): Map<string, T[]> {
  const tasks = new Map<string, T[]>();
  for (const row of rows) {
    const list = tasks.get(row.id);
    if (list === undefined) tasks.set(row.id, [row]);
    else list.push(row);
  }
  return tasks;
}

/** Tasks that did not end exactly once, whoever is asked; and creations that were answered and are not there, or there twice. */
export function notEndedOnce({ created, history, tasks, marks, words }: Seen): string[] {
  const problems: string[] = [];
  const changes = byTask(history);
  const marksOf = byTask(marks);
  const wordsOf = byTask(words.filter(({ word }) => word === 'succeeded'));
  const known = new Set(tasks.map(({ id }) => id));
  for (const [key, id] of created) if (!known.has(id)) problems.push(`${id} (${key}) was created and is not there`);
  const keys = new Set<string>();
  for (const { id, key, status, fence } of tasks) {
    if (keys.has(key)) problems.push(`${id}: ${key} was created twice`);
    keys.add(key);
    let ends = 0;
    let before = 'queued';
    for (const change of changes.get(id) ?? []) {
      if (ended.has(before) && change.status !== before) problems.push(`${id} went from ${before} to ${change.status}`);
      if (ended.has(change.status) && !ended.has(before)) ends += 1;
      before = change.status;
    }
    if (ends !== 1 || status !== 'succeeded') problems.push(`${id} ended ${ends} times, and is ${status}`);
    const said = wordsOf.get(id)?.length ?? 0;
    if (said > 1) problems.push(`${id}: ${said} workers were told that it is theirs to end`);
    const ran = (marksOf.get(id) ?? []).filter((mark) => mark.kind === 'E' && mark.fence === fence).length;
    if (status === 'succeeded' && ran !== 1) problems.push(`${id}: its last holder ran its command ${ran} times`);
  }
  return problems;
}

/** Moments with two holders: a lease that was given while another was alive, and a command that began while an earlier one ran. */
export function twoHolders({ history, marks, words, kills }: Seen): string[] {
  const problems: string[] = [];
  const holders = new Map<string, string>();
  for (const [id, changes] of byTask(history)) {
    let last: Change | null = null;
    for (const change of changes) {
      if (change.leaseId !== null && change.worker !== null) holders.set(`${id} ${change.fence}`, change.worker);
      const other = last !== null && last.leaseId !== null && change.leaseId !== last.leaseId;
      if (other && held.has(last!.status) && held.has(change.status) && change.at < last!.until!) {
        problems.push(
          `${id}: leased to ${change.worker} ${last!.until! - change.at} ms before ${last!.worker} lost it`,
        );
      }
      last = change;
    }
  }
  const lost = words.filter(({ word }) => word === 'lost');
  for (const [id, all] of byTask(marks)) {
    const begins = all.filter(({ kind }) => kind === 'S').toSorted((a, b) => a.fence - b.fence);
    for (const [index, next] of begins.entries()) {
      const begin = begins[index - 1];
      if (begin === undefined) continue;
      const end = all.find(({ kind, fence }) => kind === 'E' && fence === begin.fence);
      const worker = holders.get(`${id} ${begin.fence}`) ?? '';
      const between = (at: number) => at >= begin.at && at <= next.at;
      const over =
        (end !== undefined && end.at <= next.at) ||
        (kills.get(worker) ?? []).some(between) ||
        lost.some((word) => word.id === id && word.worker === worker && between(word.at));
      if (!over) problems.push(`${id}: began at ${next.fence} while ${worker} still ran ${begin.fence}`);
    }
  }
  return problems;
}

/**
 * Tasks that were given to another while the last one was still told that they are its own: what is stored may say the right thing, and
 * the answers another. And commands that ran though nobody was told of a lease, without which this would see nothing.
 */
export function toldTooLong({ history, marks, told, passed }: Seen): string[] {
  const problems: string[] = [];
  const changes = byTask(history);
  for (const { id, fence, askedAt, ttlMs } of told) {
    const ahead = passed.reduce((sum, { at, ms }) => sum + (at <= askedAt ? ms : 0), 0);
    const next = changes.get(id)?.find((change) => change.fence > fence);
    const early = next === undefined ? 0 : askedAt + ahead + ttlMs - next.at;
    if (early > clocksMs) problems.push(`${id}: given to ${next?.worker} ${early} ms before ${fence} was told to end`);
  }
  const known = new Set(told.map(({ id, fence }) => `${id} ${fence}`));
  for (const { id, fence } of marks)
    if (!known.has(`${id} ${fence}`)) problems.push(`${id}: ${fence} was told to nobody`);
  return problems;
}

/** Acknowledgements that a worker was told are kept, and are not, or not with the result of who was told. */
export function lostAcks({ tasks, words }: Seen): string[] {
  const told = byTask(words.filter(({ word }) => word === 'succeeded'));
  return tasks.flatMap(({ id, status, fence, stdout }) => {
    const worker = told.get(id)?.[0]?.worker;
    if (worker !== undefined && status !== 'succeeded') return [`${id}: the ack of ${worker} is lost, it is ${status}`];
    if (status === 'succeeded' && stdout !== `${fence}\n`) return [`${id}: lease ${fence} ended it, with ${stdout}`];
    return [];
  });
}
