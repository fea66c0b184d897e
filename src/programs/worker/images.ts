/** Makes sure that an engine has the image of a task: looks, pulls where that is allowed, and refuses one that is too large. Must not know tasks. */
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { type Engine, engineWords, statusOf } from '../../kit/docker/engine.ts';
import { TaskFailure } from './outcome.ts';

export const pullPolicies = ['missing', 'always', 'never'] as const;
export type PullPolicy = (typeof pullPolicies)[number];

interface ImageSettings {
  readonly pull: PullPolicy;
  /** MiB, unpacked. */
  readonly maxImage: number;
  readonly socket: string;
  readonly note: (words: string) => void;
}

interface FoundImage {
  /** Folders that the image declares as volumes. */
  readonly volumes: readonly string[];
}

const mebibyte = 1024 * 1024;
/** A registry that sends nothing for so long is not waited for. */
const stallMs = 120_000;
/** A line for the person who looks at the worker. */
const tellEveryMs = 5_000;
/** The name becomes part of a path of the engine's API: nothing in it may lead to another one. */
const imageName = /^(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9._/:@-]*$/;

export async function ensureImage(
  engine: Engine,
  image: string,
  settings: ImageSettings,
  signal: AbortSignal,
): Promise<FoundImage> {
  if (!imageName.test(image)) throw failure('no_such_image', `${JSON.stringify(image)} is not the name of an image.`);
  const had = await lookUp(engine, image);
  if (had === null && settings.pull === 'never') {
    throw failure('no_such_image', `The container engine has no image ${image}, and this worker pulls none.`);
  }
  const pulls = had === null || settings.pull === 'always';
  if (pulls) await pull(engine, image, settings, signal);
  const found = pulls ? await lookUp(engine, image) : had;
  if (found === null) {
    throw failure('image_pull_failed', `The container engine says that it pulled ${image}, and does not have it.`);
  }
  if (found.bytes > settings.maxImage * mebibyte) {
    // What this worker has fetched in vain must not fill the disk.
    if (had === null)
      await engine.asks
        .getImage(image)
        .remove()
        .catch(() => {});
    throw tooLarge(image, found.bytes, settings);
  }
  return { volumes: found.volumes };
}

async function lookUp(engine: Engine, image: string) {
  try {
    const { Size, Config } = await engine.asks.getImage(image).inspect();
    return { bytes: Size, volumes: Object.keys(Config.Volumes ?? {}) };
  } catch (error) {
    if (statusOf(error) === 404) return null;
    throw error;
  }
}

/** A line of the engine's answer to a pull. */
interface PullLine {
  readonly id?: string;
  readonly error?: string;
  readonly progressDetail?: { readonly current?: number; readonly total?: number };
}

async function pull(engine: Engine, image: string, settings: ImageSettings, signal: AbortSignal): Promise<void> {
  const { maxImage, note, socket } = settings;
  const ending = new AbortController();
  const stop = AbortSignal.any([signal, ending.signal]);
  const stream = await engine.follows.pull(image, { abortSignal: stop }).catch((error: unknown) => {
    if (signal.aborted) throw error;
    throw failure(statusOf(error) === 404 ? 'no_such_image' : 'image_pull_failed', engineWords(socket, error));
  });
  const layers = new Map<string, { current: number; total: number }>();
  const sum = (part: 'current' | 'total') => [...layers.values()].reduce((all, layer) => all + layer[part], 0);
  let stalled = false;
  const stall = setTimeout(() => {
    stalled = true;
    ending.abort();
  }, stallMs);
  let told = performance.now();
  note(`Pulling ${image}.`);
  try {
    for await (const text of createInterface({ input: stream })) {
      stall.refresh();
      const line = lineOf(text);
      if (line.error !== undefined) throw failure('image_pull_failed', `${image} was not pulled: ${line.error}`);
      const { current = 0, total = 0 } = line.progressDetail ?? {};
      // "Extracting" counts the same bytes once more.
      if (line.id !== undefined && total >= (layers.get(line.id)?.total ?? 0)) layers.set(line.id, { current, total });
      // Packed it is smaller than unpacked: what is too large now is too large in any case.
      if (sum('total') > maxImage * mebibyte) throw tooLarge(image, sum('total'), settings);
      if (performance.now() - told < tellEveryMs) continue;
      told = performance.now();
      note(`Pulling ${image}: ${mib(sum('current'))} of ${mib(sum('total'))} MiB.`);
    }
    signal.throwIfAborted();
    if (stalled) throw new Error('stalled');
    note(`Pulled ${image}.`);
  } catch (error) {
    if (error instanceof TaskFailure || signal.aborted) throw error;
    const why = stalled ? `nothing came for ${stallMs / 1000} s` : (error as Error).message;
    throw failure('image_pull_failed', `${image} was not pulled: ${why}.`);
  } finally {
    clearTimeout(stall);
    ending.abort();
    (stream as Readable).destroy();
  }
}

function lineOf(text: string): PullLine {
  try {
    return JSON.parse(text) as PullLine;
  } catch {
    return {};
  }
}

function tooLarge(image: string, bytes: number, { maxImage }: ImageSettings): TaskFailure {
  return failure('image_too_large', `${image} has ${mib(bytes)} MiB; this worker runs images of at most ${maxImage}.`);
}

const mib = (bytes: number) => Math.ceil(bytes / mebibyte);

function failure(code: string, message: string): TaskFailure {
  return new TaskFailure({ code, message });
}
