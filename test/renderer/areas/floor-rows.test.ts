import { expect, test } from 'vitest';
import type { Agent, Team } from '../../../src/contracts/factory/agent.ts';
import { isStartable } from '../../../src/renderer/app/is-live.ts';
import { floorRows } from '../../../src/renderer/areas/factory/floor-rows.ts';

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
const show = (filter: string): string[] =>
  floorRows([dev, ops], invalid, [], filter).map((row) =>
    row.kind === 'bot' ? row.agent.address : `${row.kind} ${row.team.name}`,
  );

test('without a filter every team, bot and broken file has its row', () => {
  expect(show('')).toEqual(['team dev', 'web@dev', 'tests@dev', 'team ops', 'deploy@ops', 'invalid draft']);
});

test('a filter keeps the bots that match all its words, with their team', () => {
  expect(show('dev review')).toEqual(['team dev', 'tests@dev']);
  expect(show('idle deploy')).toEqual(['team ops', 'deploy@ops']);
  expect(show('draft')).toEqual(['invalid draft']);
  expect(show('nobody')).toEqual([]);
});

test('a bot shows as the newest list has it, and counts as live with a pane', () => {
  const fresh = bot('web', 'dev', { state: 'working', pane: { id: 'pane_1', attachable: true } });
  const rows = floorRows([dev], [], [fresh], '');
  expect(rows[0]).toMatchObject({ kind: 'team', live: 1 });
  expect(rows[1]).toMatchObject({ kind: 'bot', agent: { state: 'working' } });
});

test('a hosted bot is live without a pane until its team is stopped; the app of a vendor is never said to be', () => {
  const crew = team(
    'crew',
    bot('coder', 'crew', { binding: { type: 'hosted' }, state: 'needs_you' }),
    bot('resting', 'crew', { binding: { type: 'hosted' }, state: 'offline' }),
    bot('outside', 'crew', { binding: { type: 'vendor', vendor: 'acme' } }),
  );
  expect(floorRows([crew], [], [], '')[0]).toMatchObject({ kind: 'team', live: 1 });
  expect(crew.agents.filter(isStartable).map((one) => one.slug)).toEqual(['coder', 'resting']);
});
