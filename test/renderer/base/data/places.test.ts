import { expect, test } from 'vitest';
import { AppError } from '../../../../src/contracts/common/errors.ts';
import type { Agent } from '../../../../src/contracts/factory/agent.ts';
import type { Computer } from '../../../../src/contracts/link/computers.ts';
import {
  botName,
  botsOf,
  type Floor,
  homeOf,
  type Place,
  type PlacedBot,
  placedBot,
  placesOf,
} from '../../../../src/renderer/base/data/places.ts';
import { describeProblem } from '../../../../src/renderer/ui/describe-problem.ts';

const at = '2026-01-02T03:04:05.678Z';
const computer = (id: string, more: Partial<Computer> = {}): Computer => ({
  id,
  cloudId: `cc_${id}`,
  name: id,
  state: 'linked',
  since: at,
  default: false,
  pairedAt: at,
  version: '1.0.0',
  embedded: false,
  ...more,
});
const own = { id: 'desk', name: 'desk' };

test('at a cloud of many the default computer needs no name and stands first, the others follow by theirs', () => {
  const places = placesOf(null, [computer('b'), computer('c', { default: true }), computer('a', { state: 'away' })]);
  expect(places.map((one) => [one.name, one.scope, one.away])).toEqual([
    ['c', null, false],
    ['a', 'a', true],
    ['b', 'b', false],
  ]);
});

test('on a paired computer its own page reaches it without a name and without the link, whatever is the default', () => {
  const places = placesOf(own, [computer('desk', { state: 'away' }), computer('tower', { default: true })]);
  expect(places.map((one) => [one.name, one.scope, one.away])).toEqual([
    ['desk', null, false],
    ['tower', 'tower', false],
  ]);
  expect(homeOf(own, [computer('tower', { default: true })])).toBe('desk');
});

test('before the list is there, and where nobody keeps one, the own computer is all there is; at a cloud there is none', () => {
  expect(placesOf(own, undefined).map((one) => one.id)).toEqual(['desk']);
  expect(placesOf(own, []).map((one) => one.id)).toEqual(['desk']);
  expect(placesOf(null, undefined)).toEqual([]);
  expect(homeOf(null, [])).toBeNull();
});

const place = { id: 'desk', name: 'desk', scope: null, away: false, since: null };
const tower = { ...place, id: 'tower', name: 'tower', scope: 'tower' };
const bot = (id: string, name: string, team: string, more: Partial<Agent> = {}, at: Place = place): PlacedBot =>
  placedBot({ id, name, address: `${name}@${team}`, runner: 'local', stateReason: null, ...more } as Agent, at, [
    place,
    tower,
  ]);

test('a bot that two computers list stands once, with the first of them', () => {
  const twice = bot('agent_1', 'web', 'dev');
  const floor = (bots: PlacedBot[]): Floor => ({ place, bots, teams: [], invalid: [], known: true, error: null });
  expect(botsOf([floor([twice]), floor([{ ...twice, place: { ...place, id: 'tower' } }])])).toEqual([twice]);
});

test('a bot is called by its name, with its team or its computer only where others share it', () => {
  const bots = [
    bot('1', 'web', 'dev'),
    bot('2', 'web', 'ops'),
    bot('3', 'docs', 'dev'),
    bot('4', 'web', 'dev', { runner: 'remote:computer_3', machine: 'computer_3' }, tower),
    bot('5', 'web', 'dev', { runner: 'remote:tower', machine: 'tower' }),
  ];
  expect(bots.map((one) => botName(one, bots))).toEqual([
    'web@dev on desk',
    'web@ops',
    'docs',
    'web@dev on another computer',
    // It belongs to a team of desk; its pane names the computer it runs on, too.
    'web@dev on tower',
  ]);
});

test('bots of runs from a prompt are told apart by what the runs are called, not by the team that Gantry made', () => {
  const ofRun = (id: string, team: string, title: string) =>
    placedBot(
      { id, name: 'claude', address: `claude@${team}`, runner: 'local', stateReason: null } as Agent,
      place,
      [place],
      title,
    );
  const bots = [
    ofRun('1', 'round-the-total-8eaz', 'Round the total'),
    ofRun('2', 'mend-the-roof-2x1k', 'Mend the roof'),
    bot('3', 'web', 'dev'),
  ];
  expect(bots.map((one) => botName(one, bots))).toEqual(['claude · Round the total', 'claude · Mend the roof', 'web']);
  const twice = [ofRun('1', 'mend-the-roof-1aaa', 'Mend the roof'), ofRun('2', 'mend-the-roof-2x1k', 'Mend the roof')];
  expect(twice.map((one) => botName(one, twice))).toEqual(['claude@mend-the-roof-1aaa', 'claude@mend-the-roof-2x1k']);
});

test('a bot that is read again unchanged stays the same object, so that nothing is drawn again for it', () => {
  const agent = { id: '1', name: 'web', address: 'web@dev', runner: 'local', stateReason: null } as Agent;
  const places = [place, tower];
  const before = placedBot(agent, place, places);
  expect(placedBot(agent, place, places)).toBe(before);
  expect(placedBot(agent, tower, places)).not.toBe(before);
  expect(placedBot(agent, place, places, 'Mend the roof')).not.toBe(before);
  expect(placedBot({ ...agent, stateReason: 'asks' }, place, places).stateReason).toBe('asks');
});

test('times in what a server says are those of the person’s clock, and what it quotes stays', () => {
  const at = '2026-11-21T19:02:05.587Z';
  const here = new Date(at).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' });
  const stateReason = `tower cannot be reached since ${at}: no route`;
  expect(bot('1', 'web', 'dev', { stateReason }).stateReason).toBe(`tower cannot be reached since ${here}: no route`);
  const error = new AppError('transport', `Not linked, since ${at}.`, `"${at}" is no day.`);
  expect(describeProblem(error)).toMatchObject({ fact: `Not linked, since ${here}.`, action: `"${at}" is no day.` });
});
