/** Verbs whose input is that of a route: what is typed is checked by the route's own fields, before anybody is asked. */

import { expect, test } from 'vitest';
import { commands, parts } from '../../src/cli/catalogue.ts';
import { run, scratchHome, startEngine } from './support.ts';

test.each([
  [['ledger', 'query', '--limit', '0'], '--limit is "0".\nGive a whole number from 1 to 200.'],
  [['orchestration', 'peers', '--register', 'n', '--ttl', '4'], '--ttl is "4".\nGive a whole number from 5 to 3600.'],
  [['agents', 'capture', 'web', '--lines', '2001'], '--lines is "2001".\nGive a whole number from 1 to 2000.'],
  [['agents', 'runs', '--status', 'odd'], '"odd" is not a valid status.\nUse running, completed, failed'],
])('%j is wrong by the limits of its route, and needs no engine to be', async (argv, words) => {
  const { home } = scratchHome();
  const said = await run({ GANTRY_HOME: home }, argv);
  expect([said.code, said.out]).toEqual([64, '']);
  expect(said.err).toContain(words);
});

test('what is typed becomes the fields of the route, under the names that the route has', async () => {
  const plan = () => ({
    dryRun: true,
    plan: { key: 'src', kind: 'path', holder: 'owner', ttlSeconds: 9, records: [] },
  });
  const { env, seen } = await startEngine({ answers: { claimLease: plan, releaseLease: plan } });
  const claim = ['workspace', 'leases', '--claim-path', 'src', '--ttl', '9', '--note', 'mine', '--dry-run'];
  expect((await run(env, claim)).out).toBe('Would hold src.\n');
  expect(seen.at(-1)?.body).toEqual({ path: 'src', ttlSeconds: 9, note: 'mine', dryRun: true });
  expect((await run(env, ['workspace', 'leases', '--release', 'lease_1', '--dry-run'])).out).toBe(
    'Would release src.\n',
  );
  expect(seen.at(-1)).toMatchObject({ params: { id: 'lease_1' }, query: { dryRun: true } });
});

test('every option of the command line says what it is, also those that come from a route', () => {
  const verbs = [...commands, ...parts.flatMap((part) => part.verbs)];
  expect(verbs.find(({ name }) => name === 'adopt')?.options?.map(({ flags }) => flags)).toEqual([
    '--as <bot>',
    '--team <team>',
    '--take-over',
  ]);
  for (const { name, options = [] } of verbs)
    for (const { flags, about } of options) expect(about, `${name} ${flags}`).toMatch(/\w+ \w+|why/);
});
