// Runs apart: most of its time is PostgreSQL's, with a million rows, and is not measured.
/**
 * Beside very many rows of somebody else in every table: whatever a cloud asks its database while it answers the lists, counts and reads
 * of a person with a few goes along an index to what it returns, on both engines. The queue has a test of its own
 * (`work-queue/plans.test.ts`).
 */
import { describe, expect, onTestFinished, test } from 'vitest';
import { createApprovalStore } from '../../src/cloud-api/approvals/store.ts';
import { serverTables } from '../../src/contracts/servers.ts';
import { cloudMigrations } from '../../src/host/cloud-migrations.ts';
import { systemClock } from '../../src/kit/clock/clock.ts';
import { openSharedStore } from '../../src/kit/store/open-shared-store.ts';
import type { OpenedSharedStore, SharedStore } from '../../src/kit/store/shared-store.ts';
import { keepUntilEnd } from '../kit/http/support.ts';
import { sqliteIn } from '../support/engines.ts';
import { signInAs } from '../support/oidc-provider.ts';
import { startSimulator } from '../support/phone/simulator.ts';
import { type AskedStatement, recording, scansOfPostgres, scansOfSqlite } from '../support/plans.ts';
import { postgres } from '../support/postgres.ts';
import { scratchFolder } from '../support/scratch.ts';
import { personWith, startPeople } from './identity/support.ts';
import { fillTables, tablesOf } from './others-rows.ts';

const others = 20_000;

const reads = serverTables
  .find(({ name }) => name === 'cloud')!
  .routes.filter(
    ({ method, path }) => method === 'GET' && !/\/admin\/|stream|\/work\/events|^\/open|^\/login/.test(path),
  )
  .map(({ path }) => path.replace(/:\w+/g, 'own_1').replace('*', 'x'))
  .concat(
    ['pending', 'resolved'].map((state) => `/api/factory/approvals?state=${state}`),
    ['provisioning', 'running', 'stopped'].map((status) => `/v1/computers?status=${status}`),
    '/api/v1/notifications?unread=true',
    '/api/v1/usage?month=2026-01',
    '/api/v1/phone/numbers/own_1/messages?peer=own_1',
  );

/** Small, and read whole. */
const small = ['work_move', 'work_slot', 'work_gate', 'work_turn', 'ticket_key'];
/** Read in full by what they are for, or in one way that nobody takes. */
const known: readonly RegExp[] = [
  // At a start: every call that goes on is looked after.
  /UPDATE phone_call SET look_at = \? WHERE ended_at IS NULL/,
  // At a start, each minute, and to count who is awake: every computer that is there, by an index of those alone.
  /SCAN hosted_computer USING INDEX hosted_computer_(locked|present)$/,
  // Every three seconds: people for whom pushes are held back, by an index of those alone.
  /SCAN notification_quiet USING INDEX notification_quiet_held$/,
  // Where computers are made: the operator’s machines, which are few and nobody’s.
  /computer_host: SELECT h\.id, h\.name, h\.added_at AS "addedAt", h\.removed_at AS "removedAt" FROM/,
  // What is old goes with each try, so that there are few.
  /DELETE FROM pairing_try/,
  // Once a minute, where it falls into the test: old claims, a portion at a time.
  /DELETE FROM edge_claim/,
  // After a fault: what was missed meanwhile.
  /INSERT INTO notification .* SELECT id, seq, user_id/,
  // What is new from a place on, and is not taken yet: it was asked where nothing was new, and is asked again before very many.
  /: SELECT e\.seq, e\.id AS event, /,
  // What is new by its time. Planned for any time a third of all is new; PostgreSQL plans it for the time that it is given.
  /^force_generic_plan: .* FROM user_event (e )?WHERE stored_at > \?/,
];

describe.each(['sqlite', ...(postgres === null ? [] : ['postgres'])])('on %s', (engine) => {
  test('no read of a person looks at what somebody else has', async () => {
    const stop = keepUntilEnd();
    onTestFinished(stop);
    const databaseUrl = engine === 'postgres' ? await postgres!.schema() : null;
    const opening = {
      databaseUrl,
      file: `${scratchFolder()}/cloud.db`,
      migrations: cloudMigrations,
      clock: systemClock,
    };
    const opened: { store: OpenedSharedStore; recorded: SharedStore; asked: Map<string, AskedStatement> }[] = [];
    const { sim, ...simulated } = await startSimulator();
    onTestFinished(async () => simulated[Symbol.asyncDispose]());
    const { apiKey, publicKey, url } = sim;
    const people = await startPeople({
      settings: {
        databaseUrl,
        phone: { carrier: 'simulator', connectionId: '1', webhookUrl: null, apiKey, publicKey, url },
      },
      async openStore(options) {
        const store = await openSharedStore({ ...options, file: opening.file });
        // As of a cloud that has worked for long: what came before now is done with.
        const done = "INSERT INTO edge_position (name, through) VALUES ('fan-out', ?)";
        await store.write((tx) => tx.run(done, Date.now()));
        const recorded = recording(store);
        opened.push({ store, recorded: recorded.store, asked: recorded.asked });
        return { ...recorded.store, notices: [] };
      },
    });
    const ada = await personWith(people, await signInAs('ada', people.origin));
    const { store, recorded, asked } = opened[0]!;
    const tables = await tablesOf(await sqliteIn(scratchFolder()).open(cloudMigrations));
    await fillTables(store, tables, { userId: ada.id, ids: 'own', many: 3 });
    const failed: string[] = [];
    for (const path of reads) {
      const reply = await ada.call('GET', path);
      if (reply.status === 500) failed.push(`${path}: ${reply.text}`);
    }
    expect(failed).toEqual([]);
    await createApprovalStore(recorded).forget(1);
    await people.cloud.close();
    expect(asked.size).toBeGreaterThan(75);

    const after = await openSharedStore(opening);
    onTestFinished(() => after.close());
    await fillTables(after, tables, { userId: 'user_bob', ids: 'other', many: others });
    if (databaseUrl === null) await after.write((tx) => tx.run('ANALYZE'));
    else await postgres!.ask(databaseUrl, 'ANALYZE');
    // What only adds a row reads nothing.
    const found = [...asked.values()].filter(({ sql }) => !/^INSERT INTO \w+ \([^)]*\)\s+VALUES/.test(sql));
    const scans =
      databaseUrl === null
        ? await scansOfSqlite(after, found, small, 'in full')
        : await scansOfPostgres(databaseUrl, found);
    expect(scans.filter((one) => !known.some((each) => each.test(one)))).toEqual([]);
  });
});
