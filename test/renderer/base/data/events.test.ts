import { QueryClient } from '@tanstack/react-query';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Api } from '../../../../src/renderer/base/data/api.ts';
import { createEvents, type Events } from '../../../../src/renderer/base/data/events.ts';
import { keysOf } from '../../../../src/renderer/base/data/keys.ts';

type Listen = Parameters<Api['factory']['factoryEvents']>[1];

let events: Events;
let listen: NonNullable<Listen>;
let told: number;
let released: number;
let client: QueryClient;

beforeEach(async () => {
  vi.useFakeTimers();
  told = 0;
  released = 0;
  const factory = {
    factoryEvents: (_: object, listener: NonNullable<Listen>) => {
      listen = listener;
      return { close: () => {} };
    },
  };
  const release = async () => {
    released += 1;
  };
  client = new QueryClient();
  events = createEvents({
    api: { factory, renewSession: () => {} } as unknown as Api,
    client,
    keys: keysOf(null),
    slots: { take: async () => ({ release }) } as never,
  });
  events.start();
  await vi.advanceTimersByTimeAsync(0);
  events.subscribe(() => {
    told += 1;
  });
});
afterEach(() => {
  events.stop();
  vi.useRealTimers();
});

function comes(agentId: string): void {
  const at = '2026-01-02T03:04:05.678Z';
  const data = { type: 'agent.state', at, data: { agentId, state: 'idle', pane: null } };
  listen.onEvent({ event: 'agent.state', id: null, data });
}
const shown = (): string[] =>
  events.feed().map(({ event }) => (event.type === 'agent.state' ? event.data.agentId : event.type));

test('an event after a silence is shown at once', () => {
  comes('agent_1');
  expect([shown(), told]).toEqual([['agent_1'], 1]);
  vi.advanceTimersByTime(60_000);
  comes('agent_2');
  expect([shown(), told]).toEqual([['agent_2', 'agent_1'], 2]);
});

test('an event keeps the address of its bot, which may be gone when a person reads it', () => {
  client.setQueryData(keysOf(null).agents, { agents: [{ id: 'agent_1', address: 'web@crew' }] });
  comes('agent_1');
  client.setQueryData(keysOf(null).agents, { agents: [] });
  expect(events.feed().map(({ who }) => who)).toEqual(['web@crew']);
});

test('events that come without end are shown together, all of them, newest first', () => {
  for (let count = 0; count < 100; count += 1) {
    comes(`agent_${count}`);
    vi.advanceTimersByTime(5);
  }
  expect(told).toBeLessThanOrEqual(6);
  vi.advanceTimersByTime(1000);
  expect(shown()).toEqual(Array.from({ length: 100 }, (_, index) => `agent_${99 - index}`));
});

test('what came before the stream was stopped is shown, and nothing later', () => {
  comes('agent_1');
  comes('agent_2');
  events.stop();
  expect(shown()).toEqual(['agent_2', 'agent_1']);
  const before = told;
  vi.advanceTimersByTime(60_000);
  expect([told, released]).toEqual([before, 1]);
});

test('an approval that is told again stands once as asked and once as answered', () => {
  const at = '2026-01-02T03:04:05.678Z';
  const approval = {
    id: 'apr_01J8Z3KQ4V6W7X8Y9ZABCDEFGH',
    kind: 'permission',
    title: 'asks to run: make',
    summary: 'make',
    risk: 'low',
    source: 'harness',
    agentId: null,
    requestedAt: at,
    expiresAt: at,
    resolvedAt: null,
    resolvedBy: null,
    appliedAt: null,
    note: null,
  };
  const told = (type: string, state: string, decision: string | null) =>
    listen.onEvent({ event: type, id: 'engine_1~apr-1', data: { type, at, data: { ...approval, state, decision } } });
  told('approval.requested', 'pending', null);
  vi.advanceTimersByTime(1000);
  for (let count = 0; count < 3; count += 1) told('approval.resolved', 'resolved', 'approve');
  vi.advanceTimersByTime(1000);
  told('approval.resolved', 'resolved', 'approve');
  vi.advanceTimersByTime(1000);
  expect(shown()).toEqual(['approval.resolved', 'approval.requested']);
});
