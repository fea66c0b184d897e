/**
 * Computer hosts on further machines: administrators add them, each joins with its token, and the cloud reaches it over the link that it dials. Must not
 * know how computers are made.
 */
import type { Duplex } from 'node:stream';
import { AppError } from '../../contracts/common/errors.ts';
import { adminAddHost, adminListHosts, adminRemoveHost } from '../../contracts/hosted-computers/hosts.ts';
import { iso } from '../../kit/clock/clock.ts';
import type { Timers } from '../../kit/clock/timers.ts';
import { type BoundRoute, bind } from '../../kit/http/types.ts';
import type { Ids } from '../../kit/ids/ids.ts';
import type { Link } from '../link/link.ts';
import type { Credentials } from './credentials.ts';
import type { OfferingDriver } from './driver.ts';
import type { HostRow, HostStore } from './hosts-store.ts';
import { createHostDriver } from './namespace.ts';

/** Its driver. It is over two kinds of pipe: `engine` speaks its protocol, `peer` leads to the computer that the first line names. */
export function createJoinedDriver(
  { id, name }: Pick<HostRow, 'id' | 'name'>,
  link: Link,
  timers: Timers,
): OfferingDriver {
  const known = `The computer host ${name}`;
  return createHostDriver(
    {
      name: known,
      open: () => link.open(id, 'engine'),
      async openTo(computer): Promise<Duplex> {
        const pipe = await link.open(id, 'peer');
        pipe.write(`${computer}\n`);
        return pipe;
      },
      words: (fault) =>
        fault instanceof AppError ? `${known} is not linked.` : `${known} does not answer: ${(fault as Error).message}`,
    },
    timers,
  );
}

export function createHostRoutes({
  hosts,
  ids,
  onlyDriver,
  tokenOf,
  link,
  end,
  lost,
}: {
  readonly hosts: HostStore;
  readonly ids: Ids;
  /** The driver that makes every computer of this cloud, so that no joined host ever gets one; null if joined hosts do. */
  readonly onlyDriver: string | null;
  readonly tokenOf: Credentials['tokenOfHost'];
  readonly link: Pick<Link, 'state'>;
  readonly end: (hostId: string, reason: string) => void;
  /** A computer is gone with its host. */
  readonly lost: (computer: string) => Promise<void>;
}): readonly BoundRoute[] {
  const said = async (row: HostRow & { readonly computers: number }) => {
    const { id, name, computers } = row;
    return { id, name, addedAt: iso(row.addedAt), linked: (await link.state(id)).linked, computers };
  };
  const unknown = (id: string) => {
    const fact = `There is no computer host ${JSON.stringify(id)}.`;
    return new AppError('not_found', fact, 'List them with `gantry admin hosts ls`.', { wireCode: 'host_not_found' });
  };
  const refuseIfUnused = (name: string) => {
    if (onlyDriver === null) return;
    throw new AppError(
      'refused',
      `The computer host ${JSON.stringify(name)} was not added: the driver ${onlyDriver} makes all computers of this cloud, in its own container engine, and none on further machines.`,
      'To use further machines, delete the computers that the engine has and start the cloud without GANTRY_COMPUTERS_ENGINE.',
      { status: 409, wireCode: 'hosts_not_used' },
    );
  };
  return [
    bind(adminListHosts, async () => ({ body: { hosts: await Promise.all((await hosts.counted()).map(said)) } })),
    bind(adminAddHost, async ({ body: { name, dryRun } }) => {
      refuseIfUnused(name);
      if (dryRun === true) return { body: { dryRun, plan: { name } } };
      const id = ids.next('host');
      await hosts.add(id, name);
      return { body: { id, name, token: tokenOf(id) } };
    }),
    bind(adminRemoveHost, async ({ params: { id }, query: { dryRun } }) => {
      if (dryRun === true) {
        const row = (await hosts.counted()).find((one) => one.id === id);
        if (row === undefined) throw unknown(id);
        return { body: { dryRun, plan: { name: row.name, computers: row.computers } } };
      }
      const row = await hosts.remove(id);
      if (row === null) throw unknown(id);
      end(id, 'This computer host was removed.');
      for (const computer of await hosts.computersOf(id)) await lost(computer);
      return { body: { ...(await said(row)), linked: false } };
    }),
  ];
}
