/**
 * The other side of the planner's port, in memory: counts steps, keeps what it was told, and answers calls as a test says. What a
 * person or a policy decides is the test's.
 */
import type {
  CallAnswer,
  ModelAnswered,
  PlannedCall,
  PlannerHooks,
} from '../../../../src/runtime-server/computer-use/runs/planner-port.ts';

/** A point; each has another colour, so that pictures can be told apart on the wire. */
export const picture = (n = 0) => ({
  type: 'image' as const,
  media_type: 'image/png' as const,
  data: Buffer.from(`png ${n}`).toString('base64'),
  width: 1280,
  height: 800,
});
export const tabs = (url = 'https://example.org/') => ({
  tabs: [{ tab_id: 't1', title: 'Example', url, active: true }],
});
const screen = { width: 1280, height: 800, scale: 1, frame_width: 1280, frame_height: 800 };

export const done = (
  text: string | null = null,
  more: { state?: boolean; after?: boolean; pictures?: number[] } = {},
): CallAnswer => ({
  kind: 'done',
  result: {
    is_error: false,
    content: [...(text === null ? [] : [{ type: 'text' as const, text }]), ...(more.pictures ?? []).map(picture)],
    ...(more.state !== false && { browser_state: tabs() }),
    screen,
  },
  after: more.after === true ? picture(99) : null,
});
export const failed = (code: string, message: string): CallAnswer => ({
  kind: 'done',
  result: { is_error: true, content: [{ type: 'text', text: message }], error: { code, message }, screen },
  after: null,
});

export interface FakeHands extends PlannerHooks {
  readonly calls: PlannedCall[];
  readonly answers: ModelAnswered[];
  steps: number;
}

let shot = 0;
export function createHands(
  answer: (call: PlannedCall) => CallAnswer | Promise<CallAnswer> = (call) =>
    call.member === 'screenshot' ? done(null, { pictures: [++shot] }) : done(null, { after: true }),
  maxSteps = 20,
): FakeHands {
  const hands: FakeHands = {
    calls: [],
    answers: [],
    steps: 0,
    async step() {
      if (hands.steps >= maxSteps) return false;
      hands.steps += 1;
      return true;
    },
    async answered(one) {
      hands.answers.push(one);
    },
    async call(call) {
      hands.calls.push(call);
      return answer(call);
    },
  };
  return hands;
}
