// Runs apart: it makes namespaces, networks and processes of the whole computer.
/** A hosted computer in a cloud of several replicas, of which not all reach the computer host: whichever is asked, it is called over its link. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ToolsetResult } from '../../src/contracts/computer-use/toolset.ts';
import type { HostedComputer } from '../../src/contracts/hosted-computers/computer.ts';
import { keepUntilEnd } from '../kit/http/support.ts';
import { clearAway, type Helper, helperFolder, noComputers, startHelper } from '../support/computers/helper.ts';
import { createWorld, type World } from '../support/computers/world.ts';
import { postgres } from '../support/postgres.ts';
import { type Cluster, personIn, type Replica, startCluster } from './replicas-support.ts';

const missing = noComputers() ?? (postgres === null ? 'no PostgreSQL' : null);
if (missing !== null) console.warn(`Not run: hosted computers of several replicas (${missing}).`);
const patience = 120_000;

describe.skipIf(missing !== null)('a hosted computer of several replicas', () => {
  const stop = keepUntilEnd();
  const [folder, nowhere] = [helperFolder(), helperFolder()];
  let around: World;
  let helper: Helper;
  let cluster: Cluster;
  let key: string;

  beforeAll(async () => {
    around = await createWorld();
    helper = await startHelper({ world: around, folder });
    // The second one is on a machine without a computer host.
    cluster = await startCluster(2, await postgres!.schema(), (n) => ({ computersFolder: n === 1 ? nowhere : folder }));
    const ada = await personIn(cluster, 'ada');
    const [first] = cluster.replicas;
    const body = { id: 'shop', userId: ada.id, hostedDriverEnabled: true };
    await first!.here('POST', '/api/v1/admin/projects', { token: first!.internalToken, body });
    const made = await ada.at[0]!('POST', '/api/v1/keys', { body: { name: 'shop', scopes: ['computers'] } });
    key = (made.json as unknown as { secret: string }).secret;
  }, patience);
  afterAll(async () => {
    await stop();
    await helper?.stop();
    around?.close();
    for (const each of [folder, nowhere]) clearAway(each);
  }, patience);

  const exec = async (replica: Replica, id: string) => {
    const call = { toolset: 'shell', member: 'exec', input: { command: 'echo here', shell: true } };
    const { status, json } = await replica.here('POST', `/v1/computers/${id}/toolset`, { token: key, body: call });
    return { status, said: (json as unknown as ToolsetResult).content?.[0] };
  };
  const here = { status: 200, said: { type: 'text', text: 'here\n' } };

  test('is called at a replica that does not reach it, and dials another one when the one that held its link is gone', {
    timeout: patience,
  }, async () => {
    const [first, second] = cluster.replicas as [Replica, Replica];
    const made = await first.here('POST', '/v1/computers', { token: key, body: { toolset: 'shell' } });
    const { id } = made.json as unknown as HostedComputer;
    expect([made.status, await exec(first, id), await exec(second, id)]).toEqual([201, here, here]);
    const stopped = await second.here('POST', `/v1/computers/${id}/stop`, { token: key });
    expect(stopped.status).toBe(503);
    await first.cloud.close();
    const third = await cluster.start();
    // It goes by what each replica says of itself every few seconds.
    await expect.poll(() => exec(second, id), { timeout: 40_000, interval: 500 }).toEqual(here);
    expect(await exec(third, id)).toEqual(here);
    expect((await third.here('DELETE', `/v1/computers/${id}`, { token: key })).status).toBe(200);
    expect((await helper.ask('list')).length).toBe(0);
    expect((await exec(second, id)).status).toBe(404);
  });
});
