/** What an action would touch, without acting: for the policy, for approvals and for the live view. Must not know members. */
import { toImage, toScreen } from '../../../contracts/computer-use/frame.ts';
import type { Screen } from '../../../contracts/computer-use/toolset.ts';
import type { Look, Looked } from '../protocol.ts';
import { describe } from './in-page.ts';
import type { Tab } from './tab.ts';
import { atOnce, focusOf, lyingAt } from './target.ts';

const typing = new Set(['type', 'key', 'hold_key', 'form_input']);

export async function lookAt(tab: Tab, screen: Screen, { member, input }: Look): Promise<Looked> {
  const url = tab.page.url();
  const nothing: Looked = { screen, url, credential: false, region: null, element: null };
  // Facts that are unknown now are reported by the action's own fault.
  const touched = await touchedBy(tab, screen, member, input).catch(() => null);
  if (touched === null) return nothing;
  const { words, credential, box } = touched;
  return {
    ...nothing,
    credential: credential && typing.has(member),
    region: box === null ? null : regionOf(screen, box),
    element: words,
  };
}

interface Touched {
  readonly words: string;
  readonly credential: boolean;
  /** Of the page's viewport. */
  readonly box: { readonly x: number; readonly y: number; readonly width: number; readonly height: number } | null;
}

async function touchedBy(tab: Tab, screen: Screen, member: string, input: Look['input']): Promise<Touched | null> {
  const target = input.target as { type: string; ref: string; x: number; y: number } | undefined;
  if (target?.type === 'ref') {
    const element = await tab.refs.element(target.ref);
    const [described, box] = await Promise.all([element.evaluate(describe), element.boundingBox()]);
    return { words: described.words, credential: described.credential, box };
  }
  const inFrames = async (coming: ReturnType<typeof focusOf>): Promise<Touched> => {
    const { words, credential, box, element } = await coming;
    const inner = (await element.ownerFrame()) !== tab.page.mainFrame();
    const [x, y, width, height] = box;
    return { words, credential, box: inner ? await element.boundingBox() : { x, y, width, height } };
  };
  const place = target?.type === 'coordinate' ? toScreen(screen, target) : typing.has(member) ? 'focus' : null;
  if (place === null) return null;
  const found = await atOnce(tab, place);
  if (found !== null) {
    const [x, y, width, height] = found.box;
    return { words: found.words, credential: found.credential, box: { x, y, width, height } };
  }
  return inFrames(place === 'focus' ? focusOf(tab.page) : lyingAt(tab.page, place));
}

function regionOf(screen: Screen, box: NonNullable<Touched['box']>): Looked['region'] {
  const { x, y } = toImage(screen, { x: box.x, y: box.y });
  return { x, y, width: Math.round(box.width / screen.scale), height: Math.round(box.height / screen.scale) };
}
