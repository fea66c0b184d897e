/**
 * Looks at the target before any decision: the page, the element, whether it is a credential, where the coordinates lie. Must not know who may do
 * what.
 */
import { AppError } from '../../contracts/common/errors.ts';
import type { Looked, Place } from '../../programs/executor/protocol.ts';
import { type Input, inFrame, needsFrame } from './coordinates.ts';
import { ExecutorFault, type ExecutorProgram } from './executor-program.ts';
import type { Hosts } from './hosts.ts';
import type { Sessions } from './sessions.ts';
import type { Upload, Uploads } from './uploads.ts';
import type { Ended, Ends, Screens, Seen, Way } from './way.ts';
import { maskedInput, shownUrl } from './words.ts';

export interface LookingDeps {
  readonly program: Pick<ExecutorProgram, 'request'>;
  readonly sessions: Pick<Sessions, 'open' | 'isOpen' | 'page'>;
  readonly hosts: Pick<Hosts, 'navigation'>;
  readonly uploads: Uploads;
  readonly screens: Screens;
  readonly ends: Ends;
  /** A person watches, and sees the target marked before the action. */
  readonly watched: (place: Place) => boolean;
  /** For sessions that a call opens. */
  readonly headless: boolean;
}

export function createLooking({ program, sessions, hosts, uploads, screens, ends, watched, headless }: LookingDeps) {
  /**
   * The call with the last seen page and frame, where that suffices: it types nothing, so no field matters, and nobody watches. Null: it needs a
   * look.
   */
  function recall(way: Way): Way | null {
    const { call, place, read, row } = way;
    if (place.kind !== 'browser' || !sessions.isOpen(place.session) || watched(place)) return null;
    if (read.member.class !== 'act' || read.member.points !== true || read.input.tab_id !== undefined) return null;
    const page = sessions.page(place.session);
    const screen = screens.of(place);
    if (page === null || screen === null) return null;
    const at = inFrame(read.input, call, screen);
    if ('outside' in at) return null;
    const looked = { screen, url: page.url, credential: false, region: null, element: null };
    return {
      ...way,
      input: at.input,
      looked,
      recalled: true,
      row: { ...row, url: shownUrl(page.url), input: at.input },
    };
  }

  async function look(way: Way): Promise<Seen> {
    const { read, place } = way;
    let { input, to, files } = way;
    if (read.toolset === 'browser' && read.name === 'navigate') {
      const given = String(read.input.url);
      const navigation = hosts.navigation(given);
      if (navigation.kind === 'refused') {
        return ends.notOpened(way, `${given.slice(0, 200)} is blocked: ${navigation.why}.`, navigation.why);
      }
      input = { ...input, url: navigation.url };
      to = navigation.to;
    }
    if (read.toolset === 'browser' && read.name === 'file_upload' && Array.isArray(input.paths)) {
      const found = await handedOver(way, input.paths as readonly string[]);
      if ('answer' in found) return found;
      // The given names are not used from here on: a link may be redirected at any time.
      input = { ...input, paths: found.files.map(({ real }) => real) };
      files = found.files.map(({ path }) => path);
    }
    try {
      if (place.kind === 'browser') await sessions.open(place.session, { headless, trace: false }, 'call');
      if (read.member.class === 'observe' && read.member.points !== true) {
        // The page that was seen last is enough for what only looks.
        const url = place.kind === 'browser' ? (sessions.page(place.session)?.url ?? null) : null;
        return { way: { ...way, input, to, row: { ...way.row, url: shownUrl(url), input } } };
      }
      return { way: await placed({ ...way, input, to, files }) };
    } catch (error) {
      if (!(error instanceof ExecutorFault)) throw error;
      return { answer: await ends.faulted(way, error, (outcome, more) => ends.row(way.row, 'look', outcome, more)) };
    }
  }

  async function handedOver(way: Way, paths: readonly string[]): Promise<Ended | { readonly files: Upload[] }> {
    const files: Upload[] = [];
    for (const path of paths) {
      try {
        files.push(await uploads.find(path));
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        const code = error.code === 'refused' ? 'file_refused' : 'file_not_found';
        return ends.notHanded(way, code, `${error.fact} ${error.action}`);
      }
    }
    return { files };
  }

  /** In the current frame, which may differ from the last one seen. */
  async function placed(way: Way): Promise<Way> {
    const { call, place, read, input, row } = way;
    let screen = screens.of(place);
    if (screen === null && needsFrame(call)) screen = (await lookAt(place, 'screenshot', {})).screen;
    let at = screen === null ? { input } : inFrame(input, call, screen);
    let looked = 'input' in at ? await lookAt(place, read.name, at.input) : null;
    if (looked === null || JSON.stringify(looked.screen) !== JSON.stringify(screen)) {
      const now = (looked ?? (await lookAt(place, 'screenshot', {}))).screen;
      const again = inFrame(input, call, now);
      const moved = JSON.stringify(again) !== JSON.stringify(at);
      at = again;
      if ('input' in at && (moved || looked === null)) looked = await lookAt(place, read.name, at.input);
    }
    if ('outside' in at || looked === null) {
      const where = 'outside' in at ? at.outside : 'there is no frame';
      return ends.invalid(row, `The coordinates are outside: ${where}.`);
    }
    // On a desktop the field that is typed into is unknown.
    const credential = looked.credential || (place.kind === 'desktop' && read.name === 'type');
    const masked = maskedInput(read.name, at.input, credential);
    return { ...way, input: at.input, looked, row: { ...row, url: shownUrl(looked.url), input: masked } };
  }

  async function lookAt(place: Place, member: string, input: Input): Promise<Looked> {
    const { looked } = await program.request({ do: 'look', place, member, input });
    screens.set(place, looked!.screen);
    return looked!;
  }

  return { look, recall };
}
