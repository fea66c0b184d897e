import { expect, test } from 'vitest';
import type { Agent, Team } from '../../../../src/contracts/factory/agent.ts';
import { type FloorRow, floorRows } from '../../../../src/renderer/areas/floor/floor-rows.ts';
import { type Floor, type Place, placedBot } from '../../../../src/renderer/base/data/places.ts';
import { isStartable } from '../../../../src/renderer/base/is-live.ts';

function bot(slug: string, team: string, more: Partial<Agent> = {}): Agent {
  return {
    id: `agent_${slug}`,
    slug,
    name: slug,
    address: `${slug}@${team}`,
    team,
    role: null,
    binding: { type: 'terminal', harness: 'shell' },
    state: 'idle',
    stateReason: null,
    stale: false,
    currentNode: null,
    proof: { proven: 0, total: 0 },
    pane: null,
    machine: 'computer_1',
    runner: 'local',
    queueDepth: 0,
    since: '2026-01-02T03:04:05.678Z',
    ...more,
  };
}
const team = (name: string, ...agents: Agent[]): Team => ({ name, preset: null, presets: [], agents, edges: [] });
const dev = team('dev', bot('web', 'dev'), bot('tests', 'dev', { role: 'reviewer' }));
const ops = team('ops', bot('deploy', 'ops'));
const invalid = [{ name: 'draft', problems: [{ path: 'bots', line: 3, message: 'is empty' }] }];
const here: Place = { id: 'computer_1', name: 'desk', scope: null, away: false, since: null };
const there: Place = { id: 'computer_2', name: 'tower', scope: 'computer_2', away: false, since: null };

const floor = (teams: readonly Team[], more: Partial<Floor> = {}): Floor => ({
  place: here,
  bots: [],
  teams,
  invalid: [],
  known: true,
  error: null,
  ...more,
});
const written = (rows: readonly FloorRow[]): string[] =>
  rows.map((row) => {
    if (row.kind === 'bot') return row.bot.address;
    if (row.kind === 'computer') return `computer ${row.place.name}`;
    return row.kind === 'none' ? `none of ${row.floor.place.name}` : `${row.kind} ${row.team.name}`;
  });
const show = (filter: string): string[] => written(floorRows([floor([dev, ops], { invalid })], filter));

test('without a filter every team, bot and broken file has its row', () => {
  expect(show('')).toEqual(['team dev', 'web@dev', 'tests@dev', 'team ops', 'deploy@ops', 'invalid draft']);
});

test('a filter keeps the bots that match all its words, with their team', () => {
  expect(show('dev review')).toEqual(['team dev', 'tests@dev']);
  expect(show('idle deploy')).toEqual(['team ops', 'deploy@ops']);
  expect(show('draft')).toEqual(['invalid draft']);
  expect(show('nobody')).toEqual([]);
});

test('the team of a run from a prompt is found by the title of the run, which its bots carry too', () => {
  const run = { ...team('mend-2x1k', bot('claude', 'mend-2x1k')), title: 'Repair the roof' };
  const rows = floorRows([floor([dev, run])], 'repair the');
  expect(rows).toMatchObject([
    { kind: 'team', team: { title: 'Repair the roof' } },
    { kind: 'bot', bot: { teamTitle: 'Repair the roof' } },
  ]);
});

test('a bot shows as the newest list has it, and counts as live with a pane', () => {
  const fresh = bot('web', 'dev', { state: 'working', pane: { id: 'pane_1', attachable: true } });
  const rows = floorRows([floor([dev], { bots: [placedBot(fresh, here, [here])] })], '');
  expect(rows[0]).toMatchObject({ kind: 'team', live: 1 });
  expect(rows[1]).toMatchObject({ kind: 'bot', bot: { state: 'working' } });
});

test('a hosted bot is live without a pane until its team is stopped; the app of a vendor is never said to be', () => {
  const crew = team(
    'crew',
    bot('coder', 'crew', { binding: { type: 'hosted' }, state: 'needs_you' }),
    bot('resting', 'crew', { binding: { type: 'hosted' }, state: 'offline' }),
    bot('outside', 'crew', { binding: { type: 'vendor', vendor: 'acme' } }),
  );
  expect(floorRows([floor([crew])], '')[0]).toMatchObject({ kind: 'team', live: 1 });
  expect(crew.agents.filter(isStartable).map((one) => one.slug)).toEqual(['coder', 'resting']);
});

test('several computers each have a heading, also one whose teams are not there to be seen; a filter leaves out what does not match', () => {
  const floors = [floor([dev]), floor([], { place: there, known: false })];
  expect(written(floorRows(floors, ''))).toEqual([
    'computer desk',
    'team dev',
    'web@dev',
    'tests@dev',
    'computer tower',
    'none of tower',
  ]);
  expect(written(floorRows(floors, 'web'))).toEqual(['computer desk', 'team dev', 'web@dev']);
});

test('nobody is live on a computer that is away, whatever was known last, and teams of one name are two rows', () => {
  const live = team('dev', bot('web', 'dev', { id: 'agent_far', pane: { id: 'pane_9', attachable: true } }));
  const rows = floorRows([floor([dev]), floor([live], { place: { ...there, away: true } })], '');
  const teams = rows.filter((row) => row.kind === 'team');
  expect(teams.map((row) => [row.place.name, row.live])).toEqual([
    ['desk', 0],
    ['tower', 0],
  ]);
  expect(new Set(rows.map((row) => row.key)).size).toBe(rows.length);
});

test('a bot that runs on a computer that is away does not count as live in its team either', () => {
  const guest = bot('web', 'dev', {
    pane: { id: 'pane_1', attachable: true },
    machine: there.id,
    runner: `remote:${there.id}`,
  });
  const live = (away: boolean) =>
    floorRows([floor([team('dev', guest)]), floor([], { place: { ...there, away } })], '')[1];
  expect([live(false), live(true)]).toMatchObject([{ live: 1 }, { live: 0 }]);
});
