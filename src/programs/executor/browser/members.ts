/** The 31 members of the `browser` toolset, each as what it does to a tab. Must not know the wire, sessions' profiles or policy. */
import { type Point, toScreen } from '../../../contracts/computer-use/frame.ts';
import { type BrowserMember, type browserMembers, maxReadLength } from '../../../contracts/computer-use/members.ts';
import { HandsFault } from '../hands.ts';
import type { At } from './at.ts';
import { findElements } from './find-elements.ts';
import { handFiles, setField } from './forms.ts';
import { pageText } from './in-page-text.ts';
import { parseHeld, parseSequence } from './keys.ts';
import { isStep, navigate, step } from './navigate.ts';
import { capture, captureRegion, type Picture } from './screen.ts';
import { runScript } from './script.ts';
import type { Session } from './session.ts';
import { scrolled } from './settle.ts';
import type { Tab } from './tab.ts';
import { aimAt, atOnce, focusOf } from './target.ts';
import { branchOf, readFields, readTree, writeTree } from './tree.ts';
import { holdChord, holding, pauseFor, pressChord, typeText } from './typing.ts';

export interface Done {
  readonly text?: string;
  readonly picture?: Picture;
  /** Reports all tabs, whether or not something changed. */
  readonly tabs?: true;
}

type InputOf<Name extends BrowserMember> = ReturnType<(typeof browserMembers)[Name]['input']['parse']>;
type Members = { readonly [Name in BrowserMember]: (at: At, input: InputOf<Name>) => Promise<Done> };
type Target = InputOf<'left_click'>['target'];

/** CSS pixels of one click of the wheel, as Chromium has it. */
const wheelClick = 100;
const defaultWheelClicks = 3;
/** Levels. */
const defaultDepth = 15;
/** Steps of a drag: pages that follow the pointer need to see it on its way. */
const dragSteps = 10;

const click =
  (button: Button, times = 1) =>
  async (at: At, { target, modifiers }: InputOf<'left_click'>): Promise<Done> => {
    const { session, tab } = at;
    const keys = parseHeld(modifiers);
    const { point, disabled } = await placeOf(at, target);
    at.pointed(point);
    const plain = keys.length === 0 && !session.traced;
    await holding(tab.page, keys, at.signal, () => clickAt(tab, point, { button, times, plain }));
    return disabled ? { text: 'It is disabled, so this may have had no effect.' } : {};
  };

export const members: Members = {
  async navigate(at, { url }) {
    return { text: isStep(url) ? await step(at, url) : await navigate(at, url), tabs: true };
  },
  list_tabs: async ({ session }) => {
    await Promise.all(session.tabs().map((tab) => titleOf(tab)));
    return { text: tabLines(session), tabs: true };
  },
  async new_tab({ session }) {
    const tab = await session.newTab();
    return { text: `Opened ${tab.id}.`, tabs: true };
  },
  async switch_tab({ session, tab }) {
    await session.activate(tab);
    return { text: `${tab.id} is the active tab.`, tabs: true };
  },
  async close_tab({ session, tab }) {
    // Another one first: a browser without a tab ends.
    if (session.tabs().length === 1) await session.newTab();
    await tab.page.close();
    return { text: `Closed ${tab.id}.`, tabs: true };
  },
  async read_page({ tab, timeoutMs }, { filter = 'all', depth = defaultDepth, ref }) {
    const name = ref === undefined ? null : tab.refs.nameOf(ref);
    // First: names of the snapshot are those of the last one.
    const fields = await readFields(tab.page);
    const branches = await readTree(tab.page, timeoutMs);
    const branch = name === null ? null : branchOf(branches, name);
    if (name !== null && branch === null) throw new HandsFault('page', 'stale_ref', `${ref} is no longer on the page.`);
    const head = `${tab.title === '' ? 'Untitled' : tab.title} (${tab.page.url()})`;
    const tree = writeTree(branch === null ? branches : [branch], {
      filter,
      depth,
      fields,
      refOf: tab.refs.ofSnapshot,
    });
    return { text: branch === null ? `${head}\n${tree}` : tree };
  },
  async get_page_text({ tab }) {
    const parts = await Promise.all(tab.page.frames().map((frame) => frame.evaluate(pageText).catch(() => '')));
    const text = parts.filter((part) => part.trim() !== '').join('\n\n');
    const cut = '\n(The text continues.)';
    return { text: text.length > maxReadLength ? text.slice(0, maxReadLength - cut.length) + cut : text };
  },
  find: async ({ tab, timeoutMs }, { query }) => ({ text: await findElements(tab, query, timeoutMs) }),
  read_console: ({ tab }) => Promise.resolve({ text: linesOf(tab.console, 'Nothing was logged.') }),
  read_network: ({ tab }) => Promise.resolve({ text: linesOf(tab.network, 'Nothing was requested.') }),
  screenshot: async ({ tab, screen }) => ({ picture: await capture(tab, screen) }),
  async zoom({ tab, screen }, { region }) {
    const [x0, y0, x1, y1] = region;
    if (x0 === x1 || y0 === y1) throw new HandsFault('invalid', 'outside_frame', 'The region has no size.');
    return { picture: await captureRegion(tab, screen, region) };
  },
  left_click: click('left'),
  right_click: click('right'),
  middle_click: click('middle'),
  double_click: click('left', 2),
  triple_click: click('left', 3),
  async hover(at, { target }) {
    const { point } = await placeOf(at, target);
    await moveTo(at, point);
    return {};
  },
  async left_click_drag(at, { from, target }) {
    const { mouse } = at.tab.page;
    await moveTo(at, toScreen(at.screen, from));
    await mouse.down();
    try {
      await moveTo(at, toScreen(at.screen, target), dragSteps);
    } finally {
      await mouse.up();
    }
    return {};
  },
  async left_mouse_down(at, { target }) {
    await moveTo(at, toScreen(at.screen, target));
    at.tab.pressed = true;
    await at.tab.page.mouse.down();
    return {};
  },
  async left_mouse_up(at, { target }) {
    await moveTo(at, toScreen(at.screen, target));
    await at.tab.page.mouse.up();
    at.tab.pressed = false;
    return {};
  },
  async mouse_move(at, { target }) {
    await moveTo(at, toScreen(at.screen, target));
    return {};
  },
  async scroll(at, { target, scroll_direction, scroll_amount = defaultWheelClicks }) {
    await moveTo(at, toScreen(at.screen, target));
    const by = scroll_amount * wheelClick;
    const [x, y] = { up: [0, -by], down: [0, by], left: [-by, 0], right: [by, 0] }[scroll_direction] as [
      number,
      number,
    ];
    await at.tab.page.mouse.wheel(x, y);
    await scrolled(at.tab);
    return {};
  },
  async scroll_to({ tab }, { target }) {
    const element = await tab.refs.element(target.ref);
    await element.evaluate((one) => one.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' }));
    return {};
  },
  async type({ tab, signal }, { text }) {
    const { takes } = (await atOnce(tab, 'focus')) ?? (await focusOf(tab.page));
    await typeText(tab.page, text, takes, signal);
    return takes === 'keys' ? { text: 'No field had the focus: the page got the keys.' } : {};
  },
  async key({ tab, signal }, { text, repeat = 1 }) {
    const chords = parseSequence(text);
    for (let round = 0; round < repeat; round += 1)
      for (const chord of chords) await pressChord(tab.page, chord, signal);
    return {};
  },
  async hold_key({ tab, signal }, { text, duration }) {
    await holdChord(tab.page, text, duration * 1000, signal);
    return {};
  },
  async wait({ signal }, { duration }) {
    await pauseFor(duration * 1000, signal);
    return {};
  },
  async form_input({ tab, signal }, { target, value }) {
    const element = await tab.refs.element(target.ref);
    await setField(tab.page, element, target.ref, value, signal);
    return {};
  },
  async file_upload({ tab }, { target, paths, document_ids }) {
    if ((document_ids ?? []).length > 0)
      throw new HandsFault('page', 'file_not_found', 'Documents cannot be given by id here. Give paths.');
    const element = await tab.refs.element(target.ref);
    await handFiles(tab.page, element, target.ref, paths ?? []);
    return {};
  },
  javascript_exec: async ({ tab, signal }, { text }) => ({ text: await runScript(tab, text, signal) }),
};

async function placeOf(at: At, target: Target): Promise<{ point: Point; disabled: boolean }> {
  if (target.type === 'coordinate') return { point: toScreen(at.screen, target), disabled: false };
  const element = await at.tab.refs.element(target.ref);
  return aimAt(element, target.ref, at.signal);
}

async function moveTo(at: At, point: Point, steps = 1): Promise<void> {
  at.signal.throwIfAborted();
  at.pointed(point);
  await at.tab.page.mouse.move(point.x, point.y, { steps });
}

function linesOf(lines: string[], none: string): string {
  const all = lines.splice(0);
  if (all.length === 0) return none;
  const kept: string[] = [];
  let length = 0;
  // The latest say most.
  for (const line of all.reverse()) {
    length += line.length + 1;
    if (length > maxReadLength - 100) {
      kept.push('(Earlier ones are left out.)');
      break;
    }
    kept.push(line);
  }
  return kept.reverse().join('\n');
}

function tabLines(session: Session): string {
  return session
    .tabs()
    .map((tab) => `${tab.id}${session.isActive(tab) ? ' (active)' : ''}: ${tab.title} ${tab.page.url()}`)
    .join('\n');
}

/** A page that stands still does not keep the others from being told. */
async function titleOf(tab: Tab): Promise<void> {
  const signal = AbortSignal.timeout(500);
  const late = new Promise<string>((done) => signal.addEventListener('abort', () => done(tab.title), { once: true }));
  tab.title = await Promise.race([tab.page.title().catch(() => tab.title), late]);
}

/** A click at a place of a page. Must not know members. */
export type Button = 'left' | 'right' | 'middle';

const maskOf = { left: 1, right: 2, middle: 4 } as const;
/** As the library presses: pages that ask for it take no force for no press. */
const pressed = 0.5;

/**
 * Clicks by the devtools protocol, unless something is held down, which the library tracks, or a trace is written, which records only what went
 * through the library.
 */
export async function clickAt(
  tab: Pick<Tab, 'page' | 'direct' | 'pressed'>,
  { x, y }: Point,
  { button, times, plain }: { readonly button: Button; readonly times: number; readonly plain: boolean },
): Promise<void> {
  if (!plain || tab.pressed) return tab.page.mouse.click(x, y, { button, clickCount: times });
  const at = { x, y, modifiers: 0 };
  // All at once: the browser keeps their order, and the page has seen them once the last is answered.
  const sent = [tab.direct('Input.dispatchMouseEvent', { ...at, type: 'mouseMoved', button: 'none', buttons: 0 })];
  for (let clickCount = 1; clickCount <= times; clickCount += 1) {
    sent.push(
      tab.direct('Input.dispatchMouseEvent', {
        ...at,
        type: 'mousePressed',
        button,
        buttons: maskOf[button],
        clickCount,
        force: pressed,
      }),
      tab.direct('Input.dispatchMouseEvent', { ...at, type: 'mouseReleased', button, buttons: 0, clickCount }),
    );
  }
  await Promise.all(sent);
}
