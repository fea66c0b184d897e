/** Runs and actions in words a person would say. Pure. */
import type { Run, RunMode } from '../../../contracts/computer-use/run.ts';

export const modeWords: Readonly<Record<RunMode, { readonly word: string; readonly says: string }>> = {
  direct: { word: 'Step by step', says: 'Runs the steps that you write, in order.' },
  intent: { word: 'Task', says: 'A model does the task and asks you before anything risky.' },
  assist: { word: 'Together', says: 'A model does the task and asks you before each step that changes something.' },
};

export const pauseWords: Readonly<Record<NonNullable<Run['pause']>['reason'], string>> = {
  person: 'Paused by you',
  takeover: 'Paused while a person has control',
  control_elsewhere: 'Paused: somebody used the computer’s mouse or keyboard',
  budget: 'Paused: its budget is spent',
};

/** Milliseconds → `0.4 s`, `12 s`. */
export const tookWords = (ms: number): string => `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;

type Input = Readonly<Record<string, unknown>>;
const maxLength = 80;

/** `Click at 312, 480`, `Open https://example.com`. */
export function actionWords(toolset: string, member: string, input: Input = {}): string {
  const at = placeWords(input.target ?? input.coordinate);
  const text = cut(input.text);
  switch (member) {
    case 'navigate':
      return `Open ${cut(input.url)}`;
    case 'left_click':
      return `Click${at}`;
    case 'right_click':
      return `Right-click${at}`;
    case 'double_click':
      return `Double-click${at}`;
    case 'left_click_drag':
      return `Drag${placeWords(input.from ?? input.start_coordinate).replace(' at ', ' from ')}${at.replace(' at ', ' to ')}`;
    case 'type':
      return `Type ${quoted(text)}`;
    case 'key':
      return `Press ${text}`;
    case 'scroll':
      return `Scroll ${cut(input.scroll_direction)}${at}`;
    case 'form_input':
      return `Set${at.replace(' at ', ' ')} to ${quoted(cut(input.value))}`;
    case 'wait':
      return `Wait ${cut(input.duration)} s`;
    case 'screenshot':
      return toolset === 'computer' ? 'Look at the screen' : 'Look at the page';
    case 'read_page':
    case 'get_page_text':
      return 'Read the page';
    case 'javascript_exec':
      return 'Run a script in the page';
    case 'file_upload':
      return `Upload files${at}`;
    case 'find':
      return `Find “${cut(input.query)}”`;
    default: {
      const plain = member.replaceAll('_', ' ');
      return `${plain.charAt(0).toUpperCase()}${plain.slice(1)}${at}`;
    }
  }
}

function placeWords(place: unknown): string {
  if (Array.isArray(place)) return ` at ${place.map(rounded).join(', ')}`;
  if (typeof place !== 'object' || place === null) return '';
  const { x, y, ref } = place as { x?: unknown; y?: unknown; ref?: unknown };
  return typeof ref === 'string' ? ` at ${ref}` : ` at ${rounded(x)}, ${rounded(y)}`;
}

/** What was typed is kept hidden, with how long it was. */
const quoted = (text: string): string => (text.startsWith('••••') ? text : `“${text}”`);

const rounded = (value: unknown): number => Math.round(Number(value));

function cut(value: unknown): string {
  const text = String(value ?? '');
  return text.length > maxLength ? `${text.slice(0, maxLength - 1)}…` : text;
}

/** What a run is called in a list: its task, or its first step. */
export function runName(run: Run): string {
  if (run.task !== null) return run.task;
  const name = run.metadata.name;
  return typeof name === 'string' && name !== '' ? name : 'Steps';
}
