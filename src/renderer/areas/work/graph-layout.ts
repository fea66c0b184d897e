/**
 * Positions of a run's nodes: columns by depth (rows, if there is only room below), with as few crossings as dagre finds. Pure; must not know React
 * or xyflow.
 */
import { Graph, layout } from '@dagrejs/dagre';

export const nodeWidth = 200;
export const nodeHeight = 56;
const columnGap = 56;
const rowGap = 16;
/** Above this the order inside a column is the template's: finding a better one would take seconds. */
const maxOrdered = 250;

interface LayoutNode {
  readonly nodeId: string;
  readonly depth: number;
}
interface LayoutEdge {
  readonly from: string;
  readonly to: string;
}
type Positions = ReadonlyMap<string, { readonly x: number; readonly y: number }>;

/** Which way the depth grows: to the right, or down in a narrow window. */
export type Direction = 'right' | 'down';

/** Top left corners. Only `blocked_by` edges belong here: a loop back would turn the columns around. */
export function layoutRun(
  nodes: readonly LayoutNode[],
  edges: readonly LayoutEdge[],
  direction: Direction = 'right',
): Positions {
  return nodes.length > maxOrdered ? columns(nodes, direction) : ordered(nodes, edges, direction);
}

function ordered(nodes: readonly LayoutNode[], edges: readonly LayoutEdge[], direction: Direction): Positions {
  const graph = new Graph();
  const rankdir = direction === 'right' ? 'LR' : 'TB';
  graph.setGraph({ rankdir, nodesep: rowGap, ranksep: columnGap, ranker: 'longest-path' });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const node of nodes) graph.setNode(node.nodeId, { width: nodeWidth, height: nodeHeight });
  for (const edge of edges) {
    if (graph.hasNode(edge.from) && graph.hasNode(edge.to)) graph.setEdge(edge.from, edge.to);
  }
  layout(graph);
  return new Map(
    nodes.map((node) => {
      const { x, y } = graph.node(node.nodeId);
      // The column is the wave of the board, whatever rank the layout gave it.
      return direction === 'right'
        ? [node.nodeId, { x: node.depth * (nodeWidth + columnGap), y: y - nodeHeight / 2 }]
        : [node.nodeId, { x: x - nodeWidth / 2, y: node.depth * (nodeHeight + columnGap) }];
    }),
  );
}

function columns(nodes: readonly LayoutNode[], direction: Direction): Positions {
  const filled = new Map<number, number>();
  return new Map(
    nodes.map((node) => {
      const row = filled.get(node.depth) ?? 0;
      filled.set(node.depth, row + 1);
      return direction === 'right'
        ? [node.nodeId, { x: node.depth * (nodeWidth + columnGap), y: row * (nodeHeight + rowGap) }]
        : [node.nodeId, { x: row * (nodeWidth + rowGap), y: node.depth * (nodeHeight + columnGap) }];
    }),
  );
}

/** Everything that leads to a node, with itself. */
export function pathTo(nodeId: string, edges: readonly LayoutEdge[]): ReadonlySet<string> {
  const parents = new Map<string, string[]>();
  for (const { from, to } of edges) {
    const known = parents.get(to);
    if (known === undefined) parents.set(to, [from]);
    else known.push(from);
  }
  const lit = new Set([nodeId]);
  const open = [nodeId];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const parent of parents.get(next) ?? []) {
      if (lit.has(parent)) continue;
      lit.add(parent);
      open.push(parent);
    }
  }
  return lit;
}

/** The nearest node in the direction of an arrow key; null at the edge. */
export function neighbour(from: string, key: string, positions: Positions): string | null {
  const here = positions.get(from);
  if (here === undefined) return null;
  let best: { id: string; distance: number } | null = null;
  for (const [id, { x, y }] of positions) {
    if (id === from) continue;
    const dx = x - here.x;
    const dy = y - here.y;
    const ahead =
      key === 'ArrowRight' ? dx : key === 'ArrowLeft' ? -dx : key === 'ArrowDown' ? dy : key === 'ArrowUp' ? -dy : 0;
    const aside = key === 'ArrowRight' || key === 'ArrowLeft' ? Math.abs(dy) : Math.abs(dx);
    if (ahead <= 0) continue;
    // Straight ahead counts more than near: an arrow keeps to its row or column where it can.
    const distance = ahead + 3 * aside;
    if (best === null || distance < best.distance) best = { id, distance };
  }
  return best?.id ?? null;
}
