/** What stands first in the palette. */

import { defaultFilter } from 'cmdk';
import { expect, test } from 'vitest';
import { enterActsOn, indexPalette, orderPalette } from '../../../src/renderer/app/palette-order.ts';
import type { FoundGroup, FoundRow } from '../../../src/renderer/app/use-found.ts';
import type { Action } from '../../../src/renderer/base/actions.ts';

const action = (title: string, group: Action['group'], more: Partial<Action> = {}): Action => ({
  id: title.toLowerCase().replaceAll(' ', '-'),
  title,
  group,
  run: () => {},
  ...more,
});
const row = (title: string, group: FoundGroup): FoundRow => ({
  key: `here ${group} ${title}`,
  group,
  title,
  text: '',
  at: null,
  href: '/',
});
const actions = [
  action('Approve what is selected', 'Inbox', { changes: 'at once' }),
  action('Start a run', 'Work'),
  action('Open scribe@demo', 'Bots', { thing: 'scribe@demo' }),
  action('Stop demo', 'Teams'),
  action('Settings of this computer', 'Settings'),
  action('Ledger', 'Go to'),
  action('Start shipping', 'This page', { id: 'press-Start shipping', changes: 'at once' }),
];
const index = indexPalette(
  actions,
  ['Inbox', 'Work', 'Bots', 'Teams', 'Settings', 'Go to', 'This page'],
  ['Runs', 'Messages', 'Events', 'Numbers'],
);
const lines = (typed: string, rows: readonly FoundRow[] = []) =>
  orderPalette(typed, index, rows).groups.map(
    ({ name, items }) => `${name}: ${items.map((one) => ('action' in one ? one.action.title : one.row.title))}`,
  );

test('before anything is typed all commands stand in their groups, what changes nothing first', () => {
  expect(lines('')).toEqual([
    'Go to: Ledger',
    'Inbox: Approve what is selected',
    'Work: Start a run',
    'Bots: Open scribe@demo',
    'Teams: Stop demo',
    'Settings: Settings of this computer',
    'This page: Start shipping',
  ]);
});

test('what is named exactly so, or begins so, stands before every command that has its words or letters', () => {
  expect(lines('ship', [row('Ship it', 'Runs'), row('we ship now', 'Messages')])).toEqual([
    'Runs: Ship it',
    'This page: Start shipping',
    'Messages: we ship now',
    'Did you mean: Settings of this computer',
  ]);
  expect(lines('ledger', [row('ledger.verified', 'Events'), row('Ledger', 'Runs')])).toEqual([
    'Go to: Ledger',
    'Runs: Ledger',
    'Events: ledger.verified',
  ]);
  expect(lines('scribe', [row('to scribe', 'Messages')])).toEqual(['Bots: Open scribe@demo', 'Messages: to scribe']);
});

test('commands that only have the letters stand last, behind all that was found', () => {
  expect(lines('sta', [row('a statement', 'Messages'), row('Stage 2', 'Runs')])).toEqual([
    'Work: Start a run',
    'This page: Start shipping',
    'Runs: Stage 2',
    'Messages: a statement',
    'Did you mean: Approve what is selected',
  ]);
});

test('a number is found by its first digits with or without its country, and letters of a button mean nothing', () => {
  const found = [row('+1 303 555 0100', 'Numbers')];
  expect(lines('(303) 555', found)[0]).toBe('Numbers: +1 303 555 0100');
  expect(lines('+1 303', found)[0]).toBe('Numbers: +1 303 555 0100');
  expect(lines('sshg').join()).not.toContain('Start shipping');
});

test('nothing that changes something is first until it is named: not by a letter, nor by letters that stand apart', () => {
  // Where only such fit, Enter acts on none of them.
  expect(enterActsOn('s', { key: 's', action: actions[1]! })).toBe(false);
  expect(enterActsOn('start', { key: 's', action: actions[1]! })).toBe(true);
  expect(lines('st', [row('a stage', 'Messages')])[0]).toBe('Messages: a stage');
  expect(lines('start')[0]).toBe('Work: Start a run');
  const both = [action('Mark all notifications read', 'Inbox'), action('Home', 'Go to')];
  const only = orderPalette('', indexPalette(both, ['Inbox', 'Go to'], []), []);
  expect(only.groups[0]?.items[0]).toMatchObject({ action: { title: 'Home' } });
});

test('Enter acts at once only on what was typed whole: words of it lead to what was found, or to nothing', () => {
  const approve = { key: 'a', action: actions[0]! };
  const press = { key: 'p', action: actions.at(-1)! };
  for (const typed of ['app', 'approve', 'approve what is']) {
    expect([typed, enterActsOn(typed, approve)]).toEqual([typed, false]);
    expect(lines(typed, [row('please approve', 'Messages')])[0]).toBe('Messages: please approve');
    // It stays where it is read first, before commands that only have the letters.
    expect(lines(typed)[0]).toBe('Inbox: Approve what is selected');
  }
  expect(enterActsOn('Approve what is selected', approve)).toBe(true);
  expect([enterActsOn('start shi', press), enterActsOn('start shipping', press)]).toEqual([false, true]);
  // What shows first what it would do is named by less.
  expect(enterActsOn('sta', { key: 's', action: actions[1]! })).toBe(true);
  const letters = [actions[0]!, action('A peaceful place', 'Go to')];
  expect(orderPalette('app', indexPalette(letters, ['Inbox', 'Go to'], []), []).groups[0]?.name).toBe('Inbox');
});

test('what has the letters is what the list itself gives a score, however they are typed', () => {
  const names = [
    'Open bot-1@team-17',
    'Settings: Usage',
    'Take over',
    'Show or hide the words of the rail',
    'A b',
    'aab',
    'abb',
  ];
  const typed = [
    'xyzzy',
    'bto',
    'opne',
    'tk ovr',
    'sets',
    'seett',
    'ab',
    'ba',
    'aabb',
    'ssho',
    'wrods',
    '1-7',
    'ot',
    'ha',
    'hhide',
  ];
  for (const name of names) {
    const one = action(name, 'Work');
    const found = typed.filter((text) => orderPalette(text, indexPalette([one], ['Work'], []), []).groups.length > 0);
    expect([name, found]).toEqual([name, typed.filter((text) => defaultFilter(`${one.title} ${one.id}`, text) > 0)]);
  }
});

test('among ten thousand, what is named stands first, whatever changes something does not, and what fits less is not counted', () => {
  const bots = Array.from({ length: 10_000 }, (_, at) => {
    const address = `bot-${at % 50}@team-${Math.floor(at / 50)}`;
    return action(`Open ${address}`, 'Bots', { thing: address, changes: false });
  });
  const many = indexPalette([...bots, action('Open everything', 'Work', { changes: 'at once' })], ['Work', 'Bots'], []);
  const first = (typed: string) => orderPalette(typed, many, []).groups[0]?.items[0];
  expect(first('bot-7@team-199')).toMatchObject({ action: { thing: 'bot-7@team-199' } });
  expect(first('open')).toMatchObject({ action: { group: 'Bots' } });
  expect(orderPalette('xyzzy', many, [])).toEqual({ groups: [], more: 0 });
});

test('of ten thousand that fit, sixty are drawn and the others are counted; a command is not lost among them', () => {
  const bots = Array.from({ length: 10_000 }, (_, at) => action(`Open bot-${at}`, 'Bots', { thing: `bot-${at}` }));
  const many = indexPalette([...bots, action('Board', 'Go to')], ['Bots', 'Go to'], ['Runs']);
  const found = Array.from({ length: 8 }, (_, at) => row(`Build ${at}`, 'Runs'));
  const { groups, more } = orderPalette('b', many, found);
  // No bot is named by a letter, so what only leads somewhere is first wherever it stands in the list.
  expect(groups[0]?.items[0]).toMatchObject({ action: { title: 'Board' } });
  expect(groups.flatMap(({ items }) => items)).toHaveLength(60);
  expect(more).toBe(10_001 + 8 - 60);
  const untyped = orderPalette('', many, []);
  expect(untyped.groups.map(({ name, items }) => [name, items.length])).toEqual([
    ['Go to', 1],
    ['Bots', 24],
  ]);
  expect(untyped.more).toBe(10_001 - 25);
});

test('a name is found by the beginning of any of its words, whatever stands before it', () => {
  const names = ['Öffnen straße', 'Tool (beta)', 'web2go', 'größe-x', 'a@b'];
  const begun = (typed: string) =>
    names.filter((title) => {
      const { groups } = orderPalette(typed, indexPalette([action(title, 'Go to')], ['Go to'], []), []);
      return groups.some(({ name }) => name === 'Go to');
    });
  expect(begun('str')).toEqual(['Öffnen straße']);
  expect(begun('öff')).toEqual(['Öffnen straße']);
  expect(begun('beta')).toEqual(['Tool (beta)']);
  expect(begun('go')).toEqual([]);
  expect(begun('ße')).toEqual([]);
  expect(begun('x')).toEqual(['größe-x']);
  expect(begun('b a')).toEqual(['a@b']);
});
