import { expect, test } from 'vitest';
import { layoutRun, neighbour, nodeHeight, pathTo } from '../../../../src/renderer/areas/work/graph-layout.ts';

const nodes = [
  { nodeId: 'a', depth: 0 },
  { nodeId: 'b', depth: 0 },
  { nodeId: 'c', depth: 1 },
  { nodeId: 'd', depth: 2 },
];
const edges = [
  { from: 'a', to: 'c' },
  { from: 'b', to: 'c' },
  { from: 'c', to: 'd' },
  { from: 'b', to: 'd' },
];

test.each(['right', 'down'] as const)(
  'to the %s, nodes of one depth share a line and nothing overlaps',
  (direction) => {
    const at = layoutRun(nodes, edges, direction);
    const along = direction === 'right' ? 'x' : 'y';
    const across = direction === 'right' ? 'y' : 'x';
    expect(at.get('a')?.[along]).toBe(at.get('b')?.[along]);
    expect(Math.abs((at.get('a')?.[across] ?? 0) - (at.get('b')?.[across] ?? 0))).toBeGreaterThanOrEqual(nodeHeight);
    expect(at.get('c')?.[along]).toBeGreaterThan(at.get('a')?.[along] ?? 0);
    expect(at.get('d')?.[along]).toBeGreaterThan(at.get('c')?.[along] ?? 0);
  },
);

test('five thousand nodes have their places at once, each its own', () => {
  const many = Array.from({ length: 5000 }, (_, index) => ({ nodeId: `n${index}`, depth: index % 10 }));
  const at = layoutRun(many, []);
  expect(new Set([...at.values()].map(({ x, y }) => `${x} ${y}`)).size).toBe(5000);
});

test('the way to a node is everything it waited for, and nothing beside it', () => {
  expect(pathTo('c', edges)).toEqual(new Set(['c', 'a', 'b']));
  expect(pathTo('a', edges)).toEqual(new Set(['a']));
});

test('an arrow key goes straight ahead, and stops at the edge', () => {
  const at = new Map([
    ['a', { x: 0, y: 0 }],
    ['b', { x: 0, y: 72 }],
    ['c', { x: 256, y: 0 }],
    ['d', { x: 256, y: 72 }],
  ]);
  expect(neighbour('b', 'ArrowRight', at)).toBe('d');
  expect(neighbour('d', 'ArrowUp', at)).toBe('c');
  expect(neighbour('c', 'ArrowLeft', at)).toBe('a');
  expect(neighbour('a', 'ArrowLeft', at)).toBeNull();
});
