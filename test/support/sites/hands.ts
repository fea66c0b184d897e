/**
 * Hands on the browser toolset, by reference or by coordinate: where a model would look at the picture to find a place, the script asks
 * the page where its element is. Must not know how a call travels.
 */
import type { ToolsetContent } from '../../../src/contracts/computer-use/toolset.ts';

export type Way = 'reference' | 'coordinate';

/** An element: its role and name as the accessibility tree has them, and where the page's own script finds it. */
export interface Thing {
  readonly role: string;
  readonly name: string;
  /** `iframe#a >> button` looks into a frame of the same origin. */
  readonly css: string;
}

export interface Answered {
  readonly is_error: boolean;
  readonly content: readonly ToolsetContent[];
  readonly browser_state?: {
    readonly tabs: readonly { tab_id: string; title: string; url: string; active: boolean }[];
  };
  readonly error?: { readonly code: string; readonly message: string };
}

export type CallMember = (member: string, input: Record<string, unknown>) => Promise<Answered>;
type Click = 'left_click' | 'right_click' | 'middle_click' | 'double_click' | 'triple_click';

export interface Hands {
  readonly way: Way;
  /** Throws for an error result, with its words. */
  call(member: string, input?: Record<string, unknown>): Promise<Answered>;
  click(thing: Thing, how?: Click, modifiers?: string): Promise<void>;
  hover(thing: Thing): Promise<void>;
  /** Presses on one, releases on the other. */
  drag(from: Thing, to: Thing): Promise<void>;
  /** Brings it into view: by reference at once, by coordinate with the wheel. */
  reveal(thing: Thing): Promise<void>;
  /** Sets a field: by reference with form_input, by coordinate with clicks and keys. */
  fill(thing: Thing, value: string): Promise<void>;
  type(text: string): Promise<void>;
  key(text: string, repeat?: number): Promise<void>;
  ref(thing: Thing): Promise<string>;
  /** Where it can be clicked now, in pixels of the picture. */
  spot(thing: Thing): Promise<{ x: number; y: number }>;
  /** Waits until the text of the page has this. */
  until(text: string): Promise<string>;
  text(): Promise<string>;
}

const tries = 60;

export function createHands(way: Way, callMember: CallMember): Hands {
  async function call(member: string, input: Record<string, unknown> = {}): Promise<Answered> {
    const answer = await callMember(member, input);
    if (answer.is_error) {
      throw new Error(
        `${member} ${JSON.stringify(input).slice(0, 200)}: ${answer.error?.code} ${answer.error?.message}`,
      );
    }
    return answer;
  }
  const wordsOf = (answer: Answered) =>
    answer.content.map((part) => (part.type === 'text' ? part.text : '')).join('\n');

  async function ref({ role, name }: Thing): Promise<string> {
    let seen = '';
    for (let tried = 0; tried < tries; tried += 1) {
      seen = wordsOf(await call('read_page', { filter: 'all', depth: 60 }));
      const line = seen
        .split('\n')
        .find((one) => one.includes(role) && one.includes(`"${name}"`) && /ref_\d+/.test(one));
      if (line !== undefined) return /ref_\d+/.exec(line)![0];
      await call('wait', { duration: 0.05 });
    }
    throw new Error(`There is no ${role} "${name}" in ${seen.slice(0, 2000)}`);
  }

  /** A visible point of it that nothing covers; null if there is none. */
  async function look({ css }: Thing): Promise<{ x: number; y: number; dy: number } | null> {
    const script = `(() => {
      const [first, ...inner] = ${JSON.stringify(css.split(' >> '))};
      let node = document.querySelector(first), left = 0, top = 0, root = document;
      for (const part of inner) {
        if (!node) return null;
        const box = node.getBoundingClientRect();
        if (node.shadowRoot) { root = node.shadowRoot; node = root.querySelector(part); continue; }
        left += box.left + node.clientLeft; top += box.top + node.clientTop;
        root = node.contentDocument; node = root && root.querySelector(part);
      }
      if (!node) return null;
      const box = node.getBoundingClientRect();
      if (box.width === 0 || box.height === 0) return null;
      const steps = [0.5, 0.2, 0.8, 0.05, 0.95, 0.35, 0.65];
      for (const fy of steps) for (const fx of steps) {
        const x = box.left + box.width * fx, y = box.top + box.height * fy;
        const hit = root.elementFromPoint(x, y);
        if (hit && (hit === node || node.contains(hit) || hit.contains(node) && hit.tagName === 'LABEL')) {
          const outer = { x: x + left, y: y + top };
          if (outer.x > 0 && outer.y > 0 && outer.x < innerWidth && outer.y < innerHeight) return JSON.stringify({ ...outer, dy: 0 });
        }
      }
      const middle = box.top + top + box.height / 2;
      return JSON.stringify({ x: -1, y: -1, dy: middle - innerHeight / 2 });
    })()`;
    const said = wordsOf(await call('javascript_exec', { text: script }));
    const found = /\{[^{}]*\}/.exec(said.replaceAll('\\"', '"'));
    return found === null ? null : (JSON.parse(found[0]) as { x: number; y: number; dy: number });
  }

  async function spot(thing: Thing): Promise<{ x: number; y: number }> {
    for (let tried = 0; tried < tries; tried += 1) {
      const at = await look(thing);
      if (at !== null && at.x >= 0) return { x: Math.round(at.x), y: Math.round(at.y) };
      if (at !== null && Math.abs(at.dy) > 40) await wheel(at.dy);
      else await call('wait', { duration: 0.05 });
    }
    throw new Error(`There is no place to click on ${thing.css}`);
  }

  async function wheel(dy: number): Promise<void> {
    const amount = Math.min(10, Math.max(1, Math.round(Math.abs(dy) / 100)));
    const target = { type: 'coordinate', x: 450, y: 300 };
    await call('scroll', { target, scroll_direction: dy > 0 ? 'down' : 'up', scroll_amount: amount });
  }

  const targetOf = async (thing: Thing) =>
    way === 'reference' ? { type: 'ref', ref: await ref(thing) } : { type: 'coordinate', ...(await spot(thing)) };
  const click: Hands['click'] = async (thing, how = 'left_click', modifiers) => {
    await call(how, { target: await targetOf(thing), ...(modifiers === undefined ? {} : { modifiers }) });
  };

  return {
    way,
    call,
    click,
    ref,
    spot,
    hover: async (thing) => {
      await call('hover', { target: await targetOf(thing) });
    },
    drag: async (from, to) => {
      const target = await spot(to);
      await call('left_click_drag', {
        from: { type: 'coordinate', ...(await spot(from)) },
        target: { type: 'coordinate', ...target },
      });
    },
    reveal: async (thing) => {
      if (way === 'reference') await call('scroll_to', { target: { type: 'ref', ref: await ref(thing) } });
      else await spot(thing);
    },
    fill: async (thing, value) => {
      if (way === 'reference') {
        await call('form_input', { target: { type: 'ref', ref: await ref(thing) }, value });
        return;
      }
      await click(thing);
      await call('key', { text: 'ctrl+a' });
      await call('type', { text: value });
    },
    type: async (text) => {
      await call('type', { text });
    },
    key: async (text, repeat) => {
      await call('key', { text, ...(repeat === undefined ? {} : { repeat }) });
    },
    text: async () => wordsOf(await call('get_page_text')),
    until: async (text) => {
      for (let tried = 0; tried < tries; tried += 1) {
        const now = wordsOf(await call('get_page_text'));
        if (now.includes(text)) return now;
        await call('wait', { duration: 0.05 });
      }
      throw new Error(`The page never said ${JSON.stringify(text)}.`);
    },
  };
}
