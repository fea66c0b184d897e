/** What a computer host says to who runs it when its cloud does not take it. It makes no computers here. */
import { expect, onTestFinished, test } from 'vitest';
import { joinCloud, readCloudToJoin } from '../../src/host/join-cloud.ts';
import { startPeople } from '../cloud-api/identity/support.ts';

test('a token that the cloud does not take is answered with how to get one, not with the words for a paired computer', async () => {
  const people = await startPeople();
  const said: string[] = [];
  const left = () => expect.unreachable('nothing may be asked of it');
  const joined = joinCloud({
    to: readCloudToJoin(people.origin, `host_01M8NMRCVD6ECE9DRAMNB6AKZV.${'0'.repeat(64)}\n`),
    serve: { accept: left, lead: left },
    clock: people.clock,
    tell: (sentence) => said.push(sentence),
  });
  onTestFinished(() => joined.close());
  await expect.poll(() => said[0]).toContain('gantry admin hosts add');
  expect(said[0]).toMatch(
    /^Not linked to http:\S+: The cloud answered 401: .* start it here with the new token\. Gantry keeps dialling\.$/,
  );
  expect(said[0]).not.toContain('pair');
});
