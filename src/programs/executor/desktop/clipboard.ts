/**
 * Selections of X, for pasting: takes one over with a text, serves it until somebody has read it, and gives back what was there
 * before. Must not know keys.
 */
import { setTimeout as later } from 'node:timers/promises';
import x11, { type Property, type XEvent } from 'x11';
import type { Display } from './display.ts';

/** Milliseconds for the owner of a selection to hand one form of it over. */
const readMs = 500;
/** Bytes of what is kept of the selection before; more of it is not given back. */
const maxKept = 16 * 1024 * 1024;
/** Forms of one selection that are kept. */
const maxForms = 16;
/** Bytes of one request: servers take 256 KiB. */
const piece = 128 * 1024;

/** Milliseconds that a manager of clipboards has to read what is new. */
const managerMs = 10;
const pollMs = 5;
/** Milliseconds without a request after which a paste is over. */
const settleMs = 50;
/** Milliseconds that the text stays for a program that reads it once more, unless something else is done before. */
const lateReadMs = 1000;

/** Not forms of the content, but words about it or requests. */
const notContent = new Set([
  'TARGETS',
  'MULTIPLE',
  'TIMESTAMP',
  'SAVE_TARGETS',
  'DELETE',
  'INSERT_PROPERTY',
  'INSERT_SELECTION',
]);
const textForms = ['UTF8_STRING', 'text/plain;charset=utf-8', 'text/plain', 'TEXT'] as const;
/** Managers of clipboards keep no such content. */
const secretForm = 'x-kde-passwordManagerHint';

export type SelectionName = 'CLIPBOARD' | 'PRIMARY';

interface Form {
  readonly type: number;
  readonly format: number;
  readonly data: Buffer;
}
type Content = ReadonlyMap<number, Form>;

export interface Clipboard {
  /**
   * Puts `text` there, runs `paste`, and resolves once nobody reads it any more: false if nobody did within `waitMs`. The former content returns with
   * {@link Clipboard.restore}, or a little later without it; at once after the signal.
   */
  lend(
    names: readonly SelectionName[],
    text: string,
    paste: () => void,
    waitMs: number,
    signal: AbortSignal,
  ): Promise<boolean>;
  /** Before anything else is done: it might paste. */
  restore(): void;
}

export async function createClipboard(display: Display): Promise<Clipboard> {
  const { client, root } = display;
  const window = client.AllocID();
  client.CreateWindow(window, root, -10, -10, 1, 1, 0, 0, 2, 0, {
    overrideRedirect: 1,
    eventMask: x11.eventMask.PropertyChange ?? 0,
  });
  const atom = (name: string) => display.must<number>((reply) => client.InternAtom(false, name, reply));
  const [targets, incremental, inbox, atomType] = await Promise.all([
    atom('TARGETS'),
    atom('INCR'),
    atom('GANTRY_SELECTION'),
    atom('ATOM'),
  ]);
  const read = createReader(display, window, inbox, incremental);
  const ignored = new Set(await Promise.all([...notContent].map(atom)));

  const served = createServed(display, targets, atomType);

  async function contentOf(selection: number, signal: AbortSignal): Promise<Content | null> {
    const owner = await display.must<number>((reply) => client.GetSelectionOwner(selection, reply));
    if (owner === 0) return null;
    if (owner === window) return served.get(selection) ?? null;
    const list = await read(selection, targets, signal);
    if (list === null) return null;
    const content = new Map<number, Form>();
    let length = 0;
    for (let at = 0; at + 4 <= list.data.length && content.size < maxForms; at += 4) {
      const target = list.data.readUInt32LE(at);
      if (ignored.has(target) || content.has(target)) continue;
      const form = await read(selection, target, signal);
      if (form === null || length + form.data.length > maxKept) continue;
      length += form.data.length;
      content.set(target, form);
    }
    return content;
  }

  /** Gives back what was there before the last text; null: done. */
  let giveBack: (() => void) | null = null;
  const restore = () => {
    giveBack?.();
    giveBack = null;
  };

  return {
    async lend(names, text, paste, waitMs, signal) {
      restore();
      const selections = await Promise.all(names.map(atom));
      const before = await Promise.all(selections.map((selection) => contentOf(selection, signal)));
      const content = await contentFor(text, atom);
      const secret = await atom(secretForm);
      signal.throwIfAborted();
      for (const selection of selections) {
        served.set(selection, content);
        client.SetSelectionOwner(window, selection, 0);
      }
      await display.must((reply) => client.GetInputFocus(reply));
      const back = () =>
        selections.forEach((selection, index) => {
          // Somebody else has copied something since: that stays.
          if (served.get(selection) !== content) return;
          const kept = before[index];
          if (kept == null) served.delete(selection);
          else served.set(selection, kept);
          // Set it even if we stay the owner: programs cache what they read until they learn of a new owner.
          client.SetSelectionOwner(kept == null ? 0 : window, selection, 0);
        });
      let read = false;
      try {
        read = await pasted(selections, secret, paste, waitMs, signal);
        return read;
      } finally {
        if (read) {
          giveBack = back;
          setTimeout(() => giveBack === back && restore(), lateReadMs).unref();
        } else back();
      }
    },
    restore,
  };

  async function pasted(
    selections: readonly number[],
    secret: number,
    paste: () => void,
    waitMs: number,
    signal: AbortSignal,
  ): Promise<boolean> {
    let reads = 0;
    let requests = 0;
    const count = (selection: number, target: number) => {
      if (!selections.includes(selection)) return;
      requests += 1;
      if (target !== secret && target !== targets) reads += 1;
    };
    // Managers of clipboards read as soon as the owner changes; only what comes after the keys is the paste.
    await later(managerMs, undefined, { signal });
    const stopCounting = served.onRead(count);
    try {
      paste();
      for (let waited = 0; waited < waitMs && reads === 0; waited += pollMs) await later(pollMs, undefined, { signal });
      // Chromium reads the text, asks a dozen times for its forms, and reads it again.
      for (let before = -1; before !== requests; ) {
        before = requests;
        await later(settleMs, undefined, { signal });
      }
      return reads > 0;
    } finally {
      stopCounting();
    }
  }
}

/** A text in every form that a program may ask for. */
async function contentFor(text: string, atom: (name: string) => Promise<number>): Promise<Content> {
  const utf8 = await atom('UTF8_STRING');
  const content = new Map<number, Form>();
  const data = Buffer.from(text, 'utf8');
  for (const form of textForms) {
    const target = await atom(form);
    content.set(target, { type: form === 'TEXT' ? utf8 : target, format: 8, data });
  }
  // Older programs ask for Latin-1 alone.
  if (/^[\x00-\xff]*$/.test(text)) {
    const latin = await atom('STRING');
    content.set(latin, { type: latin, format: 8, data: Buffer.from(text, 'latin1') });
  }
  const secret = await atom(secretForm);
  content.set(secret, { type: secret, format: 8, data: Buffer.from('secret') });
  return content;
}

/** What other programs are given when they ask for a selection that is ours. */
function createServed(display: Display, targets: number, atomType: number) {
  const { client } = display;
  /** What is served now, by selection; stays after a paste with what was there before. */
  const served = new Map<number, Content>();
  const readers = new Set<(selection: number, target: number) => void>();

  display.onEvent((event) => {
    if (event.name === 'SelectionClear') served.delete(Number(event.selection));
    if (event.name === 'SelectionRequest') serve(event);
  });

  function serve(event: XEvent): void {
    const [requestor, selection, target, time] = [event.requestor, event.selection, event.target, event.time].map(
      Number,
    ) as [number, number, number, number];
    const content = served.get(selection);
    const property = Number(event.property) || target;
    const form = target === targets ? listOf(content) : content?.get(target);
    if (form !== undefined) write(requestor, property, form);
    client.SendEvent(
      requestor,
      0,
      0,
      {
        name: 'SelectionNotify',
        seq: 0,
        time,
        requestor,
        selection,
        target,
        property: form === undefined ? 0 : property,
      },
      () => true,
    );
    for (const reader of readers) reader(selection, form === undefined ? targets : target);
  }

  function listOf(content: Content | undefined): Form | undefined {
    if (content === undefined) return undefined;
    const data = Buffer.alloc(4 * (content.size + 1));
    [targets, ...content.keys()].forEach((target, index) => {
      data.writeUInt32LE(target, 4 * index);
    });
    return { type: atomType, format: 32, data };
  }

  /** In pieces, of which the first replaces and the others append: one request may not be as long. */
  function write(requestor: number, property: number, { type, format, data }: Form): void {
    for (let at = 0; at === 0 || at < data.length; at += piece)
      client.ChangeProperty(
        at === 0 ? 0 : 2,
        requestor,
        property,
        type,
        format,
        data.subarray(at, at + piece),
        () => true,
      );
  }

  return {
    get: (selection: number) => served.get(selection),
    set: (selection: number, content: Content) => void served.set(selection, content),
    delete: (selection: number) => void served.delete(selection),
    onRead(reader: (selection: number, target: number) => void): () => void {
      readers.add(reader);
      return () => readers.delete(reader);
    },
  };
}

/** Reads one form of a selection that another program owns, whole or in pieces. */
function createReader(display: Display, window: number, inbox: number, incremental: number) {
  const { client } = display;

  function event(matches: (event: XEvent) => boolean, signal: AbortSignal): Promise<XEvent | null> {
    return new Promise((resolve) => {
      const end = (value: XEvent | null) => {
        clearTimeout(timer);
        off();
        signal.removeEventListener('abort', stop);
        resolve(value);
      };
      const stop = () => end(null);
      const timer = setTimeout(stop, readMs);
      const off = display.onEvent((one) => matches(one) && end(one));
      signal.addEventListener('abort', stop);
    });
  }

  const take = () => display.ask<Property>((reply) => client.GetProperty(1, window, inbox, 0, 0, maxKept / 4, reply));

  async function read(selection: number, target: number, signal: AbortSignal): Promise<Form | null> {
    const answered = event((one) => one.name === 'SelectionNotify' && one.target === target, signal);
    client.ConvertSelection(window, selection, target, inbox, 0);
    if (!(await answered)?.property) return null;
    const whole = await take();
    if (whole === null || whole.bytesAfter > 0) return null;
    if (whole.type !== incremental) return { type: whole.type, format: whole.format, data: Buffer.from(whole.data) };
    const pieces: Buffer[] = [];
    let form: Property | null = null;
    for (let length = 0; length <= maxKept; ) {
      // Taking the property is what asks for the next piece; an empty one is the end.
      const next = event((one) => one.name === 'PropertyNotify' && one.atom === inbox && one.state === 0, signal);
      const part = (await next) === null ? null : await take();
      if (part === null) return null;
      if (part.data.length === 0) return form && { type: form.type, format: form.format, data: Buffer.concat(pieces) };
      form = part;
      pieces.push(Buffer.from(part.data));
      length += part.data.length;
    }
    return null;
  }

  return read;
}
