/** Limits of sandboxed bots that the kernel holds: when one is told, and what is said of a program that it ended. */
import { expect, test } from 'vitest';
import { createBotCaps } from '../../../src/runtime-server/agents/bot-caps.ts';
import type { PaneInfo } from '../../../src/runtime-server/panes/pane-engine.ts';
import { createTestClock } from '../../support/test-clock.ts';

function paneOf(agent: string, more: { processor?: number } = {}): PaneInfo {
  const caps = JSON.stringify({ memory: 64, processes: 40, ...more });
  const labels = { agent, team: 'dev', slug: agent, workspace: '/w', harness: 'shell', cwd: '/w', caps };
  return { id: `pane_${agent}`, labels, pid: 1, alive: true } as unknown as PaneInfo;
}

function open() {
  const clock = createTestClock();
  const panes: PaneInfo[] = [];
  /** What the kernel has counted, by agent. */
  const counted: Record<string, { memory: number; processes: number; processor?: number }> = {};
  const caps = createBotCaps({
    ...{ clock, timers: clock, log: { warn() {} } },
    panes: { list: () => panes },
    keeper: {
      heldBy: { memory: 'cgroup', processes: 'cgroup', processor: 'cgroup', disk: 'watched' },
      make: () => [],
      hits: (key) => ({ memory: 0, processes: 0, processor: 0, ...counted[key] }),
      tidy() {},
    },
  });
  return { clock, panes, counted, caps };
}

const hitsOf = (opened: ReturnType<typeof open>, agent: string) =>
  opened.caps.of(agent).caps?.map(({ what, hits }) => [what, hits]);

test('a limit that a new bot reaches before the first look is told; what was counted before Gantry began is not', async () => {
  const opened = open();
  const { clock, panes, counted, caps } = opened;
  panes.push(paneOf('old'));
  counted.old = { memory: 3, processes: 0 };
  caps.start();
  panes.push(paneOf('new'));
  counted.new = { memory: 1, processes: 2 };
  await clock.advance(2000);
  expect(hitsOf(opened, 'old')).toEqual([
    ['memory', 0],
    ['processes', 0],
  ]);
  expect(hitsOf(opened, 'new')).toEqual([
    ['memory', 1],
    ['processes', 2],
  ]);
  counted.old = { memory: 4, processes: 0 };
  await clock.advance(2000);
  expect(hitsOf(opened, 'old')?.[0]).toEqual(['memory', 1]);
  caps.close();
});

test('a bot that starts again counts from zero, also where its pane is the same', async () => {
  const opened = open();
  const { clock, panes, counted, caps } = opened;
  caps.start();
  panes.push(paneOf('dev'));
  counted.dev = { memory: 5, processes: 0 };
  await clock.advance(2000);
  counted.dev = { memory: 1, processes: 0 };
  await clock.advance(2000);
  expect(hitsOf(opened, 'dev')?.[0]).toEqual(['memory', 6]);
  caps.close();
});

test('a bot that has to wait for the processor is told once, and again only after it had not to', async () => {
  const opened = open();
  const { clock, panes, counted, caps } = opened;
  caps.start();
  panes.push(paneOf('dev', { processor: 0.5 }));
  const after = async (processor: number) => {
    counted.dev = { memory: 0, processes: 0, processor };
    await clock.advance(2000);
    return hitsOf(opened, 'dev')?.[2];
  };
  expect(await after(20)).toEqual(['processor', 1]);
  expect(await after(40)).toEqual(['processor', 1]);
  expect(await after(40)).toEqual(['processor', 1]);
  expect(await after(41)).toEqual(['processor', 2]);
  caps.close();
});

test('of a program that ended it is said that it was over its memory only where that was just before', async () => {
  const { clock, panes, counted, caps } = open();
  caps.start();
  const pane = paneOf('dev');
  panes.push(pane);
  await clock.advance(2000);
  expect(caps.endedOver(pane)).toBeNull();
  counted.dev = { memory: 1, processes: 0 };
  expect(caps.endedOver(pane)).toBe('it was over its 64 MiB of memory');
  await clock.advance(2000);
  expect(caps.endedOver(pane)).toBe('it was over its 64 MiB of memory');
  await clock.advance(6000);
  expect(caps.endedOver(pane)).toBeNull();
  expect(caps.endedOver({ ...pane, labels: { ...pane.labels, caps: '{"processes":40}' } })).toBeNull();
  caps.close();
});

test('a program without a pane is kept in its limits and shown until it ends', async () => {
  const opened = open();
  const { clock, counted, caps } = opened;
  caps.start();
  const release = caps.follow({ agentId: 'agent', pid: 1, caps: { memory: 64 }, disk: null });
  counted.agent = { memory: 2, processes: 0 };
  await clock.advance(2000);
  expect(hitsOf(opened, 'agent')).toEqual([['memory', 2]]);
  release();
  expect(caps.of('agent')).toEqual({});
  caps.close();
});
