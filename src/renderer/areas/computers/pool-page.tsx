/** Where hosted computers are made, to read: by what, how they are isolated, their limits, and how much room there is; or why none can be made. */
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { type ComputerPool, maxLifetimeSeconds } from '../../../contracts/hosted-computers/computer.ts';
import { OpenBar } from '../../base/place-frame.tsx';
import { Card } from '../../ui/card.tsx';
import { countWords } from '../../ui/count-words.ts';
import { Fact } from '../../ui/fact.tsx';
import { ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Ago } from '../../ui/now.tsx';
import { ProgressBar } from '../../ui/progress-bar.tsx';
import { Trouble } from '../../ui/trouble.tsx';
import { anyImage } from './image-words.ts';
import { useHandsServices } from './use-hands-services.ts';

type Host = ComputerPool['hosts'][number];

export function PoolPage({ onBack }: { onBack: () => void }) {
  const { queries } = useHandsServices();
  const pool = useQuery(queries.hostedPool);
  return (
    <>
      <OpenBar back="Back to the computers" onBack={onBack} title="Where computers are made" />
      <ListStates source={pool} skeleton={<SkeletonRows count={8} />} isEmpty={() => false} empty={null}>
        {(data) => <Body pool={data} />}
      </ListStates>
    </>
  );
}

function Body({ pool }: { pool: ComputerPool }) {
  const { refused, hosts } = pool;
  const isCluster = pool.driver === 'kubernetes';
  // One machine's room is in the card above. One node of a cluster is one of several: which it is counts.
  const listed = hosts.length > 1 || (isCluster && hosts.some(({ name }) => name !== null));
  return (
    <div className="@container min-w-0 flex-1">
      <div className="flex min-w-0 flex-col gap-3 p-3">
        {refused !== null && (
          <Trouble of="pool" needsPerson={false}>
            No computer can be made now. {refused} Ask your administrator.
          </Trouble>
        )}
        <div className="grid min-w-0 content-start items-start gap-3 @min-[820px]:grid-cols-2">
          <div className="flex min-w-0 flex-col gap-3">
            <Facts title="Driver">
              <Fact name="Driver">{pool.driver}</Fact>
              {refused === null ? (
                <Isolation pool={pool} />
              ) : (
                <Fact name="Isolation">Not known until one can be made</Fact>
              )}
            </Facts>
            <Facts title="Capacity">
              <Capacity pool={pool} />
            </Facts>
          </div>
          <Facts title="Limits of each computer">
            <Limits pool={pool} />
          </Facts>
        </div>
        {listed && <Hosts hosts={hosts} isCluster={isCluster} />}
      </div>
    </div>
  );
}

function Facts({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Card title={title}>
      <dl className="flex flex-col gap-1 px-3 py-2">{children}</dl>
    </Card>
  );
}

const walls: Readonly<Record<ComputerPool['wall'], string>> = {
  namespace: 'Namespaces of its own, on its machine’s kernel',
  gvisor: 'gVisor’s kernel',
  vm: 'A virtual machine',
};

const egressWords: Readonly<Record<ComputerPool['egress'], string>> = {
  enforced: 'Restricted to public addresses, and checked',
  declared: 'Restricted by the engine, unchecked',
  none: 'Not restricted',
};

function Isolation({ pool: { wall, egress, sleep_keeps, idle_seconds, hosts } }: { pool: ComputerPool }) {
  const [only] = hosts;
  return (
    <>
      <Fact name="Isolation">{walls[wall]}</Fact>
      <Fact name="Traffic">{egressWords[egress]}</Fact>
      <Fact name="Last proven">
        {hosts.length === 1 && only !== undefined ? <Proven host={only} /> : 'On each machine, as below'}
      </Fact>
      <Fact name="Sleeps">{timeWords(idle_seconds)} after its last call</Fact>
      <Fact name="Sleep keeps">
        {sleep_keeps === 'memory' ? 'Everything that is open' : 'Only its files; the next call starts it again'}
      </Fact>
    </>
  );
}

function Proven({ host: { egress_proven_at } }: { host: Host }) {
  if (egress_proven_at === null) return 'Not yet; the next start proves it';
  return (
    <>
      <Ago at={egress_proven_at} />, from inside a computer
    </>
  );
}

function Limits({ pool: { driver, hosts, lifetime_seconds, images } }: { pool: ComputerPool }) {
  const able = hosts.filter(({ refused }) => refused === null);
  return (
    <>
      {able.length > 0 && (
        <>
          <Fact name="Memory">{limitWords(able, 'memory_mib', ' MiB')}</Fact>
          <Fact name="Processes">{limitWords(able, 'processes', '')}</Fact>
        </>
      )}
      <Fact name="Lifetime">
        {lifetime_seconds === null
          ? `Until it is deleted, unless it asks for at most ${timeWords(maxLifetimeSeconds)}`
          : `${timeWords(lifetime_seconds)} after each start, unless it asks for less`}
      </Fact>
      <Fact name="Images">
        <Images images={images} driver={driver} />
      </Fact>
    </>
  );
}

function limitWords(able: readonly Host[], limit: 'memory_mib' | 'processes', unit: string): string {
  const all = able.flatMap((host) => host[limit] ?? []);
  if (all.length === 0) return 'Not limited';
  const [least, most] = [Math.min(...all), Math.max(...all)].map((value) => value.toLocaleString());
  const range = least === most ? `${most}${unit}` : `${least} to ${most}${unit}, by computer host`;
  return `${range}${all.length < able.length ? '; not limited on some' : ', unless it asks for less'}`;
}

function Images({ images, driver }: Pick<ComputerPool, 'images' | 'driver'>) {
  if (images === null) return `Any ${anyImage(driver)}`;
  if (images.length === 0) return 'Only the usual one';
  return (
    <ul aria-label="Images">
      {images.map((beginning) => (
        <li key={beginning} className="font-mono text-code">
          {beginning}
        </li>
      ))}
    </ul>
  );
}

function Capacity({ pool: { awake, running, warm, hosts, refused } }: { pool: ComputerPool }) {
  const [only] = hosts;
  return (
    <>
      <Fact name="Awake">
        <span className="flex flex-wrap items-center gap-x-2">
          {awake.toLocaleString()} of {running.toLocaleString()}, in all projects
          {running > 0 && <ProgressBar done={Math.min(awake, running)} total={running} label="Computers awake" />}
        </span>
      </Fact>
      {refused === null && (
        <>
          {hosts.length === 1 && only !== undefined && <Fact name="Made">{roomWords(only)}</Fact>}
          <Fact name="Kept warm">
            {warm === null ? 'None' : `${warm.desktop} desktop, ${warm.shell} shell, ready for the next creates`}
          </Fact>
        </>
      )}
    </>
  );
}

function roomWords({ computers, most }: Host): string {
  if (computers === null) return most === null ? 'Not known' : `At most ${countWords(most, 'computer')}`;
  return most === null ? countWords(computers, 'computer') : `${computers} of ${countWords(most, 'computer')}`;
}

function Hosts({ hosts, isCluster }: { hosts: readonly Host[]; isCluster: boolean }) {
  const [title, aside] = isCluster
    ? ['Nodes', 'The cluster places computers']
    : ['Computer hosts', 'Used in this order'];
  return (
    <Card title={title} aside={aside}>
      <ol>
        {hosts.map((host, index) => (
          <li
            // The list changes only as a whole, and two may have one name.
            // biome-ignore lint/suspicious/noArrayIndexKey: a host has no id here
            key={index}
            className="flex flex-wrap items-baseline gap-x-3 border-b border-line px-3 py-1.5 last:border-b-0"
          >
            <span className="min-w-0 flex-1 basis-40 break-words font-medium">
              {host.name ?? (isCluster ? 'On no node: asleep or stopped' : 'The cloud’s machine')}
            </span>
            <span className="shrink-0 tabular-nums">{host.refused === null && roomWords(host)}</span>
            <span className="w-full min-w-0 break-words text-meta text-muted">
              {host.refused === null ? (
                <>
                  Traffic proven: <Proven host={host} />
                </>
              ) : (
                `Makes none. ${host.refused}`
              )}
            </span>
          </li>
        ))}
      </ol>
    </Card>
  );
}

/** `90 seconds`, `5 minutes`, `2 hours`, `30 days`: in the largest unit that says it exactly. */
function timeWords(seconds: number): string {
  const units = [
    [86_400, 'day'],
    [3600, 'hour'],
    [60, 'minute'],
  ] as const;
  const [length, unit] = units.find(([size]) => seconds % size === 0) ?? ([1, 'second'] as const);
  return countWords(seconds / length, unit);
}
