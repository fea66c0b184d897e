/** How a computer in a cluster is, from its record and the Pod of its start, and why it is not otherwise. Pure. Must not know how either is asked for. */
import type { V1ContainerState, V1ContainerStatus, V1Pod } from '@kubernetes/client-node';
import { exitCodes, unrestrictedCode } from '../../programs/computer-init/protocol.ts';
import { type ComputerRecord, containers, startsWithinSeconds } from './kubernetes-spec.ts';

type Settled = Pick<ComputerRecord, 'state' | 'why' | 'since'>;

/** Of one that just began, whose Pod may not have been made yet. Milliseconds. */
const podWithin = startsWithinSeconds * 1000 + 30_000;

const statusOfContainer = (
  all: readonly V1ContainerStatus[] | undefined,
  name: string,
): V1ContainerStatus | undefined => all?.find((status) => status.name === name);

/**
 * `pod`: of the record's start. `now`: milliseconds since the epoch. `missingFor`: how long the caller has found no Pod of that start, milliseconds; not
 * by the record's time, because the clock of the replica that wrote it may be another one.
 */
export function settledOf(record: ComputerRecord, pod: V1Pod | undefined, now: number, missingFor: number): Settled {
  const { state } = record;
  if (state !== 'starting' && state !== 'running') return record;
  if (pod === undefined) {
    if (state === 'starting' && missingFor < podWithin) return record;
    return { state: 'stopped', why: 'It ended: its Pod was deleted.', since: now };
  }
  const end = endOf(record, pod, now);
  if (end !== null) return { state: 'stopped', ...end };
  if (state === 'running' || !isUp(pod)) return record;
  return { state: 'running', why: null, since: now };
}

/** Its network was restricted, and its program can be called. */
function isUp({ status }: V1Pod): boolean {
  const network = statusOfContainer(status?.initContainerStatuses, containers.network)?.state?.terminated;
  const computer = statusOfContainer(status?.containerStatuses, containers.computer)?.state?.running;
  const link = statusOfContainer(status?.containerStatuses, containers.link);
  return (
    network?.exitCode === 0 && computer !== undefined && link?.started === true && link.state?.running !== undefined
  );
}

/** When its network was last proven to be restricted. Milliseconds since the epoch; null: not yet. */
export function provenAtOf({ status }: V1Pod): number | null {
  const network = statusOfContainer(status?.initContainerStatuses, containers.network)?.state?.terminated;
  return network?.exitCode === 0 ? timeOf(network.finishedAt) : null;
}

/** Null: it has not ended. */
function endOf(
  record: ComputerRecord,
  { metadata, spec: pod, status }: V1Pod,
  now: number,
): { readonly why: string; readonly since: number } | null {
  // A node's clock may be wrong, so only the time between two of its own moments counts.
  const ended = (why: string, by: V1ContainerState['terminated'] = undefined) => {
    const [from, to] = [timeOf(by?.startedAt), timeOf(by?.finishedAt)];
    const ran = from === null || to === null ? Number.POSITIVE_INFINITY : Math.max(0, to - from);
    return { why, since: Math.min(now, record.since + ran) };
  };
  const asked = record.spec.lifetime;
  const lifetime = asked === null ? null : `Its lifetime of ${asked / 1000} s is over.`;
  if (status?.reason === 'DeadlineExceeded' && lifetime !== null) return ended(lifetime);
  if (status?.reason === 'Evicted') return ended(`It ended: its node evicted it. ${status.message ?? ''}`.trim());
  const of = (name: string) =>
    statusOfContainer([...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])], name)?.state
      ?.terminated;
  const [network, computer, link] = [of(containers.network), of(containers.computer), of(containers.link)];
  if (network !== undefined && network.exitCode !== 0) return ended(wordsOf('It ended', network), network);
  if (link?.exitCode === unrestrictedCode) return ended(wordsOf('It ended', link), link);
  if (computer !== undefined) {
    const { exitCode, reason } = computer;
    if (exitCode === exitCodes.lifetimeOver && lifetime !== null) return ended(lifetime, computer);
    if (reason === 'OOMKilled') return ended('It ended: it used more memory than it may have.', computer);
    const fact = 'It ended unexpectedly';
    // Its program said why it could not begin.
    return ended(record.state === 'starting' ? wordsOf(fact, computer) : `${fact} (code ${exitCode}).`, computer);
  }
  if (link !== undefined) return ended(`It ended: what dials for it ended (code ${link.exitCode}).`, link);
  // What deletes a Pod for this driver writes it into the record first.
  if (metadata?.deletionTimestamp !== undefined) {
    const told = status?.conditions?.find(({ type, status }) => type === 'DisruptionTarget' && status === 'True');
    const why = told?.message ?? `somebody deleted its Pod, or its node ${pod?.nodeName ?? ''} did not answer any more`;
    return ended(`It ended: ${why.replace(/\.$/, '')}.`);
  }
  if (status?.phase === 'Failed' || status?.phase === 'Succeeded') {
    return ended(`It ended: ${status.message ?? status.reason ?? `its Pod is ${status.phase}`}`);
  }
  return null;
}

/** What holds a Pod up that does not start. */
interface Hindrance {
  readonly why: string;
  /** Whether it is worth waiting for: a node may come, and a registry may answer. */
  readonly passes: boolean;
  /** Its image or its settings cannot make a computer. */
  readonly code: 'failed' | 'unsupported' | 'full';
}

const lasting = new Set([
  'InvalidImageName',
  'ErrImageNeverPull',
  'CreateContainerConfigError',
  'RunContainerError',
  'StartError',
]);

/** Null: nothing that can be seen. */
export function hindranceOf({ spec, status }: V1Pod): Hindrance | null {
  const placed = status?.conditions?.find(({ type }) => type === 'PodScheduled');
  if (placed?.status === 'False') {
    const why = `No node takes it: ${placed.message ?? placed.reason}`;
    // Room may come with a node; a disk that is not made soon is not made.
    return { why, passes: true, code: /PersistentVolumeClaim|persistentvolumeclaim/.test(why) ? 'failed' : 'full' };
  }
  for (const { name, state } of [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])]) {
    const { reason = '', message = '' } = state?.waiting ?? {};
    const image = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].find(
      (one) => one.name === name,
    )?.image;
    if (/Image|Pull|Registry/.test(reason)) {
      const why = `The image ${image} cannot be pulled (${reason}): ${message}`;
      return { why, passes: !lasting.has(reason), code: 'unsupported' };
    }
    if (lasting.has(reason) || /Error/.test(reason)) {
      return {
        why: `Its container ${name} cannot begin (${reason}): ${message}`,
        passes: !lasting.has(reason),
        code: 'failed',
      };
    }
  }
  return null;
}

/** What a container said last before it ended. */
export function lastWordsOf({ status }: V1Pod): string {
  const all = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  const said = all.flatMap(({ state }) =>
    state?.terminated?.exitCode !== 0 ? (state?.terminated?.message ?? []) : [],
  );
  return said.join(' ').trim().slice(-4000);
}

/** An image on top of another one may lack what every computer begins with. */
export function couldNotBegin({ status }: V1Pod): boolean {
  const ended = statusOfContainer(status?.containerStatuses, containers.computer)?.state?.terminated;
  return (
    ended !== undefined &&
    (ended.exitCode === 127 ||
      ended.exitCode === 128 ||
      ended.reason === 'StartError' ||
      ended.reason === 'ContainerCannotRun')
  );
}

function wordsOf(fact: string, { message, exitCode }: NonNullable<V1ContainerState['terminated']>): string {
  return message === undefined || message.trim() === '' ? `${fact} (code ${exitCode}).` : `${fact}: ${message.trim()}`;
}

const timeOf = (at: Date | undefined): number | null => (at === undefined ? null : new Date(at).getTime());
