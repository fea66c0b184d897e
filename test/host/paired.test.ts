/** A computer that pairs with a cloud, as its person sees it from both sides. */
import { expect, test } from 'vitest';
import { startPeople } from '../cloud-api/identity/support.ts';
import { computersOf, pairUp, signIn, startDesk } from './paired-support.ts';

test('a computer pairs by its code, is reached through the cloud, and leaves again', async () => {
  const people = await startPeople();
  const desk = await startDesk();
  const ada = await signIn(people);
  const bob = await signIn(people, 'bob');
  expect(await desk.pairing()).toMatchObject({ state: 'unpaired' });
  const paired = await pairUp(desk, people, ada);
  expect(paired).toMatchObject({ state: 'paired', cloudUrl: people.origin, user: { id: ada.id, name: 'Ada' } });
  expect(await computersOf(ada)).toMatchObject([{ id: paired.computerId, state: 'linked', default: true }]);
  expect(await computersOf(bob)).toEqual([]);
  const health = await ada.call('GET', '/api/factory/teams');
  expect(health.status).toBe(200);
  expect((await bob.call('GET', `/api/factory/teams?computer=${paired.computerId}`)).status).toBe(404);
  const ended = await desk.web('DELETE', '/api/v1/pairing');
  expect(ended.json).toMatchObject({ state: 'unpaired' });
  await expect.poll(() => computersOf(ada)).toEqual([]);
});
