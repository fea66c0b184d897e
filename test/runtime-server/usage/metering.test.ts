import { expect, test } from 'vitest';
import type { Spending } from '../../../src/contracts/factory/spending-routes.ts';
import { noon, openWorld } from './world.ts';

const minute = 60_000;
const hour = 60 * minute;

const spending = (world: Awaited<ReturnType<typeof openWorld>>['world']) => world.call<Spending>('getSpending');

test('an answer in a transcript counts once, over restarts and for whichever bot copied it', async () => {
  const { world, start } = await openWorld();
  world.bot('coder');
  world.bot('twin');
  await start();
  await world.turn('coder', 'a', 12.5);
  // A fork of the conversation holds the same answer.
  await world.turn('twin', 'a', 12.5);
  await world.restart();
  world.transcripts.set('coder', [...(world.transcripts.get('coder') ?? [])]);
  const { today, bots } = await spending(world);
  expect(today).toMatchObject({ requests: 1, cents: 12.5 });
  expect(bots.find(({ address }) => address === 'twin@red')?.today.requests).toBe(0);
  expect(world.reported).toEqual([{ id: 'claude:a', microUsd: 125_000 }]);
});

test('what the harness does not price is priced by the list; an unknown model has tokens and no cents, and is named', async () => {
  const { world, start } = await openWorld();
  world.bot('coder');
  await start();
  world.state('coder', 'working');
  world.said('coder', { id: 'known' });
  world.said('coder', { id: 'unknown', model: 'dream-1' });
  world.state('coder', 'idle');
  await world.clock.advance(4000);
  const { today, unpricedModels } = await spending(world);
  expect(today).toEqual({ requests: 2, inputTokens: 2_000_000, outputTokens: 0, cents: 100, unpriced: 1 });
  expect(unpricedModels).toEqual(['dream-1']);
});

test('what was used before the bot had the conversation is not its', async () => {
  const { world, start } = await openWorld();
  world.bot('coder');
  await start();
  world.said('coder', { id: 'before', at: noon - hour, cents: 100 });
  await world.turn('coder', 'after', 1);
  expect((await spending(world)).today.cents).toBe(1);
});

test('a line that nobody can have used leaves the counting of all others whole', async () => {
  const { world, start } = await openWorld();
  world.bot('coder');
  world.bot('forger');
  await start();
  await world.call('setSpendLimit', { body: { subject: 'coder@red', dailyCents: 500 } });
  world.state('forger', 'working');
  for (const id of ['x', 'y']) world.said('forger', { id, input: 9e18, output: 9e18, cents: 9e14 });
  world.said('forger', { id: 'z', input: 1e300, cents: 1e300 });
  world.state('forger', 'idle');
  await world.clock.advance(4000);
  await world.turn('coder', 'a', 500);
  expect(world.metering.overBudget('coder')).toContain('coder@red spent $5.00');
  expect((await spending(world)).bots.map(({ today }) => today.requests)).toEqual([1, 3]);
});

test('an answer of a time to come counts as of now, not on every day until then', async () => {
  const { world, start } = await openWorld();
  world.bot('coder');
  await start();
  world.state('coder', 'working');
  world.said('coder', { id: 'later', cents: 500, at: noon + 1000 * 24 * hour });
  world.state('coder', 'idle');
  await world.clock.advance(4000);
  expect((await spending(world)).today.cents).toBe(500);
  world.clock.jump(24 * hour);
  expect((await spending(world)).today.cents).toBe(0);
});

test('what a limit shows as spent is of today, also when nobody has spent anything since midnight', async () => {
  const { world, start } = await openWorld();
  world.bot('coder');
  await start();
  await world.call('setSpendLimit', { body: { subject: 'coder@red', dailyCents: 500 } });
  await world.turn('coder', 'a', 300);
  await world.clock.advance(13 * hour);
  const { day, limits } = await spending(world);
  expect([day, limits[0]?.spentCents]).toEqual(['2026-11-23', 0]);
});

test('what a turn uses is seen while it works, and what was used while Gantry was down after it', async () => {
  const { world, start } = await openWorld();
  world.bot('coder');
  await start();
  world.state('coder', 'working');
  world.said('coder', { id: 'early', cents: 1 });
  await world.clock.advance(31_000);
  await expect.poll(async () => (await spending(world)).today.cents).toBe(1);
  world.said('coder', { id: 'down', cents: 2 });
  await world.restart();
  await expect.poll(async () => (await spending(world)).today.cents).toBe(3);
});

test('what a bot uses that has a budget is seen within a second', async () => {
  const { world, start } = await openWorld();
  world.bot('coder');
  world.budgeted.add('coder@red');
  await start();
  world.state('coder', 'working');
  world.said('coder', { id: 'early', cents: 1 });
  await world.clock.advance(1100);
  await expect.poll(async () => (await spending(world)).today.cents).toBe(1);
  world.budgeted.clear();
  world.said('coder', { id: 'later', cents: 1 });
  await world.clock.advance(5000);
  expect((await spending(world)).today.cents).toBe(1);
});

test('a bot that reached its limit takes nothing more until the limit is raised; it is told once', async () => {
  const { world, start } = await openWorld();
  world.bot('coder');
  world.bot('writer');
  await start();
  await world.call('setSpendLimit', { body: { subject: 'coder@red', dailyCents: 500 } });
  await world.turn('coder', 'a', 499);
  expect(world.metering.held('coder')).toBeNull();
  await world.turn('coder', 'b', 1);
  expect(world.metering.overBudget('coder')).toBe(
    'budget: coder@red spent $5.00 of $5.00 a day. Raise the limit or let it continue once; otherwise it continues at 2026-11-23T00:00:00.000Z.',
  );
  expect(world.metering.held('writer')).toBeNull();
  expect(world.metering.shown('coder', { state: 'idle', reason: null, since: noon })).toMatchObject({
    state: 'blocked',
  });
  // What is under way is shown as what it is.
  expect(world.metering.shown('coder', { state: 'working', reason: null, since: noon }).state).toBe('working');
  await world.restart();
  await world.turn('coder', 'c', 10);
  expect(world.asked).toEqual(['coder@red spent $5.00 of $5.00 a day. Raise the limit, or let a bot continue once.']);
  await world.call('setSpendLimit', { body: { subject: 'coder@red', dailyCents: 1000 } });
  expect(world.metering.held('coder')).toBeNull();
});

test('a limit of a team and of all bots counts what they spent together', async () => {
  const { world, start } = await openWorld();
  world.bot('coder');
  world.bot('writer');
  world.bot('other', { team: 'blue', address: 'other@blue' });
  await start();
  await world.call('setSpendLimit', { body: { subject: 'red', dailyCents: 100 } });
  await world.turn('coder', 'a', 60);
  await world.turn('writer', 'b', 60);
  expect([world.metering.held('coder'), world.metering.held('writer')].every((why) => why !== null)).toBe(true);
  expect(world.metering.held('other')).toBeNull();
  await world.call('setSpendLimit', { body: { subject: '*', dailyCents: 100 } });
  expect(world.metering.held('other')).toContain('all bots together spent $1.20 of $1.00 a day');
});

test('let go on once, it takes one message more', async () => {
  const { world, start } = await openWorld();
  world.bot('coder');
  await start();
  await world.call('setSpendLimit', { body: { subject: 'coder@red', dailyCents: 1 } });
  await world.turn('coder', 'a', 5);
  await world.call('letBotGoOn', { params: { id: 'coder' }, body: {} });
  expect(world.metering.held('coder')).toBeNull();
  await world.restart();
  expect(world.metering.held('coder')).toBeNull();
  world.metering.taken('coder');
  expect(world.metering.held('coder')).not.toBeNull();
});

test('the next day it goes on by itself, also when the computer slept over midnight', async () => {
  const { world, start } = await openWorld();
  world.bot('coder');
  await start();
  await world.call('setSpendLimit', { body: { subject: '*', dailyCents: 1 } });
  await world.turn('coder', 'a', 5);
  // Asleep, no timer runs: only the wall clock has moved.
  world.clock.jump(13 * hour);
  await world.clock.advance(31_000);
  expect(world.metering.held('coder')).toBeNull();
  expect((await spending(world)).day).toBe('2026-11-23');
});

test('after a restart limits hold before anything begins, also one whose reset passed meanwhile', async () => {
  const { world, start } = await openWorld();
  for (const id of ['coder', 'writer', 'free']) world.bot(id);
  await start();
  await world.call('setSpendLimit', { body: { subject: 'coder@red', dailyCents: 1 } });
  await world.turn('coder', 'a', 5);
  world.state('writer', 'blocked', limit(noon + hour));
  await world.clock.advance(0);
  await world.restart(2 * hour);
  expect(world.heldAtLoad).toEqual(['coder', 'writer']);
  await world.clock.advance(0);
  expect(world.metering.held('writer')).toBeNull();
});

test('a limit for nobody is refused, and a bot that nothing holds cannot be let go on', async () => {
  const { world, start } = await openWorld();
  world.bot('coder');
  await start();
  const refused = (op: string, input: object) =>
    world.call(op, input).then(String, (error: { fact?: string }) => error.fact);
  expect(await refused('setSpendLimit', { body: { subject: 'coda@red', dailyCents: 1 } })).toContain('coda@red');
  expect(await refused('letBotGoOn', { params: { id: 'coder' }, body: {} })).toContain('No limit applies');
});

const limit = (until: number | null) => ({ reason: 'usage limit: resets 3pm', until });

test('a usage limit is waited out to its reset and a little longer, and what was cut off goes on, once', async () => {
  const { world, start } = await openWorld();
  world.bot('coder');
  await start();
  world.state('coder', 'working');
  world.state('coder', 'blocked', limit(noon + 3 * hour));
  await world.clock.advance(0);
  expect(world.metering.held('coder')).toBe('usage limit: resets 3pm It tries again at 2026-11-22T15:00:45.000Z.');
  // The screen may look idle long before.
  expect(world.metering.shown('coder', { state: 'idle', reason: null, since: noon }).state).toBe('blocked');
  world.cut.clear();
  await world.clock.advance(3 * hour);
  expect(world.told).toEqual([]);
  await world.clock.advance(minute);
  expect(world.metering.held('coder')).toBeNull();
  expect(world.unblocked).toEqual(['coder']);
  expect(world.told).toHaveLength(1);
});

test('a node that was cut off is told to go on by its run, not twice', async () => {
  const { world, start } = await openWorld();
  world.bot('coder');
  await start();
  world.state('coder', 'working');
  world.state('coder', 'blocked', limit(noon + hour));
  expect([...world.cut]).toEqual([['coder@red', true]]);
  await world.clock.advance(hour + 2 * minute);
  expect(world.told).toEqual([]);
});

test('one that was not at work is told nothing', async () => {
  const { world, start } = await openWorld();
  world.bot('coder');
  await start();
  world.state('coder', 'blocked', limit(noon + hour));
  await world.clock.advance(hour + 2 * minute);
  expect([world.told, world.unblocked]).toEqual([[], ['coder']]);
});

test.each([
  ['a restart before the reset', 0, 2 * hour],
  ['a sleep of a day', 24 * hour, minute],
])('it is kept over %s', async (_, asleepMs, thenMs) => {
  const { world, start } = await openWorld();
  world.bot('coder');
  await start();
  world.state('coder', 'working');
  world.state('coder', 'blocked', limit(noon + hour));
  await world.clock.advance(0);
  world.cut.clear();
  if (asleepMs === 0) await world.restart();
  else world.clock.jump(asleepMs);
  if (asleepMs === 0) expect(world.metering.held('coder')).not.toBeNull();
  await world.clock.advance(thenMs);
  expect(world.metering.held('coder')).toBeNull();
  expect(world.told).toHaveLength(1);
});

test('a clock that is set back makes it wait by the clock, never go on early', async () => {
  const { world, start } = await openWorld();
  world.bot('coder');
  await start();
  world.state('coder', 'blocked', limit(noon + hour));
  world.clock.jump(-hour);
  await world.clock.advance(hour + 2 * minute);
  expect(world.metering.held('coder')).not.toBeNull();
  await world.clock.advance(hour);
  expect(world.metering.held('coder')).toBeNull();
});

test('a reset that nobody named needs a person, whose word lets it try', async () => {
  const { world, start } = await openWorld();
  world.bot('coder');
  await start();
  world.state('coder', 'working');
  world.state('coder', 'blocked', limit(null));
  await world.clock.advance(0);
  expect(world.metering.shown('coder', { state: 'blocked', reason: null, since: noon }).state).toBe('needs_you');
  expect([...world.cut]).toEqual([['coder@red', false]]);
  await world.clock.advance(48 * hour);
  expect(world.metering.held('coder')).not.toBeNull();
  await world.call('letBotGoOn', { params: { id: 'coder' }, body: {} });
  expect(world.metering.held('coder')).toBeNull();
});

test('switched off, a bot needs its person although the reset is known; switched on again it waits', async () => {
  const { world, start } = await openWorld();
  world.bot('coder');
  await start();
  await world.call('setWaitOut', { body: { on: false } });
  world.state('coder', 'blocked', limit(noon + hour));
  await world.restart();
  await world.clock.advance(2 * hour);
  expect(world.metering.held('coder')).toContain('waiting for resets is switched off');
  await world.call('setWaitOut', { body: { on: true } });
  await world.clock.advance(10 * minute);
  expect(world.metering.held('coder')).toBeNull();
});

test('a bot that is let go on while waiting is switched off is held no more', async () => {
  const { world, start } = await openWorld();
  world.bot('coder');
  await start();
  world.state('coder', 'blocked', limit(noon + hour));
  await world.clock.advance(0);
  const off = world.call('setWaitOut', { body: { on: false } });
  await world.call('letBotGoOn', { params: { id: 'coder' }, body: {} });
  await off;
  expect(world.metering.held('coder')).toBeNull();
});

test('a bot that a person has work again is held no more; one that is refused right after its reset is not asked at once', async () => {
  const { world, start } = await openWorld();
  world.bot('coder');
  await start();
  world.state('coder', 'blocked', limit(noon + hour));
  world.state('coder', 'working');
  await world.clock.advance(0);
  expect(world.metering.held('coder')).toBeNull();
  world.state('coder', 'blocked', limit(noon - minute));
  await world.clock.advance(4 * minute);
  expect(world.metering.held('coder')).not.toBeNull();
  await world.clock.advance(2 * minute);
  expect(world.metering.held('coder')).toBeNull();
});
