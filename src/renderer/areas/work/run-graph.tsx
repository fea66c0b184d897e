/**
 * A run as a graph: nodes in columns by depth, loops dashed, the path to the chosen node highlighted. Loaded with the first graph. Must not know
 * where its data comes from.
 */
import '@xyflow/react/dist/base.css';
import './run-graph.css';
import {
  type BuiltInEdge,
  Handle,
  MiniMap,
  type Node,
  type NodeProps,
  Position,
  ReactFlow,
  ReactFlowProvider,
  useReactFlow,
} from '@xyflow/react';
import { useEffect, useMemo, useRef } from 'react';
import type { NodeCard } from '../../../contracts/factory/node.ts';
import type { Flow } from '../../../contracts/factory/workflow.ts';
import { nodeLook, nodeStatus, Status } from '../../ui/status.tsx';
import { type Direction, layoutRun, neighbour, nodeHeight, nodeWidth, pathTo } from './graph-layout.ts';
import { assigneeWords } from './node-card.tsx';

/** More nodes than this have a map of the whole in the corner. */
const mapFrom = 40;

type GraphNode = Node<{ card: NodeCard; lit: boolean; direction: Direction }, 'step'>;

function StepNode({ data: { card, lit, direction }, selected }: NodeProps<GraphNode>) {
  const right = direction === 'right';
  return (
    <div
      data-node={card.stepId}
      data-status={card.status}
      className={`flex h-14 flex-col justify-center gap-0.5 rounded-control border bg-panel px-2.5 ${selected ? 'border-accent bg-selected' : lit ? 'border-accent' : 'border-line'}`}
      style={{ width: nodeWidth }}
    >
      <Handle id="in" type="target" position={right ? Position.Left : Position.Top} isConnectable={false} />
      <Handle id="again" type="target" position={right ? Position.Top : Position.Right} isConnectable={false} />
      <span className="truncate font-medium" title={card.title}>
        {card.title}
      </span>
      <span className="flex items-center gap-2 text-meta">
        <Status look={nodeLook(card)} wire={card.status} />
        <span className="ml-auto min-w-0 truncate text-muted">{assigneeWords(card.assignee)}</span>
      </span>
      <Handle id="out" type="source" position={right ? Position.Right : Position.Bottom} isConnectable={false} />
      <Handle id="failed" type="source" position={right ? Position.Top : Position.Right} isConnectable={false} />
    </div>
  );
}
/** Never larger than its text elsewhere on the page, and never so small at first that it cannot be read. */
const smallest = 0.75;
/** Around the whole, with room for the loops beside it; in the graph's own pixels. */
const margin = 48;

const nodeTypes = { step: StepNode };

/** Words of xyflow that a screen reader would hear, as this page says them. */
const spoken = {
  'node.a11yDescription.default': 'Press Enter to open the step and arrow keys to move between steps.',
  'node.a11yDescription.keyboardDisabled': 'Press Enter to open the step and arrow keys to move between steps.',
  'edge.a11yDescription.default': '',
  'minimap.ariaLabel': 'Map of the run',
};

interface RunGraphProps {
  readonly flow: Flow;
  readonly selected: string | null;
  readonly onOpen: (node: NodeCard) => void;
  readonly direction: Direction;
}

export function RunGraph(props: RunGraphProps) {
  return (
    <ReactFlowProvider>
      <Graph {...props} />
    </ReactFlowProvider>
  );
}

function Graph({ flow, selected, onOpen, direction }: RunGraphProps) {
  const box = useRef<HTMLDivElement>(null);
  const { setCenter, getZoom } = useReactFlow();
  const waits = useMemo(() => flow.edges.filter((edge) => edge.type === 'blocked_by'), [flow.edges]);
  // Positions change only with the shape of the run, never with a status.
  const shape = JSON.stringify([flow.nodes.map((node) => [node.nodeId, node.depth]), waits]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the shape stands for nodes and edges
  const positions = useMemo(() => layoutRun(flow.nodes, waits, direction), [shape, direction]);
  const lit = useMemo(() => (selected === null ? null : pathTo(selected, waits)), [selected, waits]);

  const nodes = useMemo<GraphNode[]>(
    () =>
      flow.nodes.map((card) => ({
        id: card.nodeId,
        type: 'step',
        position: positions.get(card.nodeId) ?? { x: 0, y: 0 },
        width: nodeWidth,
        height: nodeHeight,
        data: { card, lit: lit?.has(card.nodeId) === true, direction },
        selected: card.nodeId === selected,
        ariaLabel: `${card.title}: ${nodeStatus[card.status].word}`,
      })),
    [flow.nodes, positions, lit, selected, direction],
  );
  const edges = useMemo<BuiltInEdge[]>(
    () =>
      flow.edges.map((edge) => {
        const loop = edge.type === 'on_fail';
        const onPath = !loop && lit?.has(edge.from) === true && lit.has(edge.to);
        return {
          id: `${edge.type} ${edge.from} ${edge.to}`,
          source: edge.from,
          target: edge.to,
          // A loop goes around the outside, so that it never runs through a node between its ends.
          sourceHandle: loop ? 'failed' : 'out',
          targetHandle: loop ? 'again' : 'in',
          type: 'smoothstep',
          pathOptions: { borderRadius: 8, offset: loop ? 28 : 20 },
          className: `${loop ? 'loop' : ''} ${onPath ? 'lit' : ''}`,
          zIndex: onPath ? 1 : 0,
          focusable: false,
          interactionWidth: 0,
        };
      }),
    [flow.edges, lit],
  );

  /** The whole run where it can be read, else the chosen step, or the first that is open, in the middle. */
  function show(width: number, height: number): void {
    const all = [...positions.values()];
    const right = Math.max(0, ...all.map((at) => at.x)) + nodeWidth;
    const bottom = Math.max(0, ...all.map((at) => at.y)) + nodeHeight;
    const whole = Math.min(1, width / (right + 2 * margin), height / (bottom + 2 * margin));
    const zoom = whole >= smallest ? whole : 1;
    const open = flow.nodes.find((node) => ['needs_you', 'working', 'checking', 'failed'].includes(node.status));
    const at = whole >= smallest ? undefined : positions.get(selected ?? open?.nodeId ?? flow.nodes[0]?.nodeId ?? '');
    const middle =
      at === undefined ? { x: right / 2, y: bottom / 2 } : { x: at.x + nodeWidth / 2, y: at.y + nodeHeight / 2 };
    void setCenter(middle.x, middle.y, { zoom });
  }
  const showNow = useRef(show);
  showNow.current = show;
  // Again when the run is another, has another shape, or has another place because a step was opened beside it.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the shape stands for what is shown
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => showNow.current(element.clientWidth, element.clientHeight));
    observer.observe(element);
    return () => observer.disconnect();
  }, [shape, flow.dagId, direction]);

  function open(nodeId: string): void {
    const card = flow.nodes.find((node) => node.nodeId === nodeId);
    if (card !== undefined) onOpen(card);
  }

  function focusNode(nodeId: string): void {
    const at = positions.get(nodeId);
    const element = box.current?.querySelector<HTMLElement>(`.react-flow__node[data-id="${CSS.escape(nodeId)}"]`);
    if (element !== null && element !== undefined) {
      element.focus();
      return;
    }
    // Not drawn, because it is out of view: it is brought there first.
    if (at === undefined) return;
    void setCenter(at.x + nodeWidth / 2, at.y + nodeHeight / 2, { zoom: getZoom() }).then(() =>
      requestAnimationFrame(() =>
        box.current?.querySelector<HTMLElement>(`.react-flow__node[data-id="${CSS.escape(nodeId)}"]`)?.focus(),
      ),
    );
  }

  return (
    <div
      ref={box}
      className="run-graph min-h-0 flex-1"
      onKeyDownCapture={(event) => {
        const current = (event.target as HTMLElement).closest<HTMLElement>('.react-flow__node')?.dataset.id;
        if (current === undefined) return;
        if (event.key === 'Enter' || event.key === ' ') {
          event.preventDefault();
          event.stopPropagation();
          open(current);
        } else if (event.key.startsWith('Arrow')) {
          event.preventDefault();
          event.stopPropagation();
          const next = neighbour(current, event.key, positions);
          if (next !== null) focusNode(next);
        }
      }}
    >
      <ReactFlow
        nodes={nodes}
        edges={edges}
        nodeTypes={nodeTypes}
        onNodeClick={(_, node) => open(node.id)}
        nodesDraggable={false}
        nodesConnectable={false}
        edgesFocusable={false}
        elementsSelectable={false}
        nodesFocusable
        disableKeyboardA11y={false}
        onlyRenderVisibleElements={nodes.length > 100}
        deleteKeyCode={null}
        selectionKeyCode={null}
        multiSelectionKeyCode={null}
        minZoom={0.1}
        maxZoom={1.5}
        ariaLabelConfig={spoken}
        aria-label={`Graph of ${flow.title}`}
      >
        {nodes.length > mapFrom && <MiniMap pannable zoomable />}
      </ReactFlow>
    </div>
  );
}
