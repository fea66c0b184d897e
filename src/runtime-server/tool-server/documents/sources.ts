/**
 * The source of a document: a file inside the caller's root, an address on the internet, or the call itself. Plans the call before anything is read;
 * only then opens it. Must not know formats.
 */
import { createHash } from 'node:crypto';
import { basename, join } from 'node:path';
import { AppError } from '../../../contracts/common/errors.ts';
import { largestInput } from '../../../programs/converter/protocol.ts';
import type { Jail } from '../jail.ts';
import type { ToolPlan } from '../tool.ts';
import type { DocumentSource } from './converter-process.ts';

interface SourceInput {
  readonly path?: string | undefined;
  readonly url?: string | undefined;
  readonly data?: string | undefined;
}

/** The guarded client for addresses that somebody else chose. */
export interface DocumentFetch {
  /** For the policy: which host would be asked. Throws `refused` for an address that is never asked. */
  host(
    url: string,
  ): Pick<ToolPlan<unknown>, 'host' | 'privateHost'> | Promise<Pick<ToolPlan<unknown>, 'host' | 'privateHost'>>;
  /** Follows redirects, each asked with `may`. Throws `refused`, `transport`; `usage` for an answer larger than `largest` bytes. */
  get(
    url: string,
    options: {
      readonly signal: AbortSignal;
      readonly largest: number;
      readonly may: Parameters<ToolPlan<unknown>['run']>[1];
    },
  ): Promise<FetchedDocument>;
}

interface FetchedDocument {
  readonly status: number;
  /** Where it was found in the end. */
  readonly url: string;
  readonly contentType: string;
  readonly body: Uint8Array;
}

interface Opened extends DocumentSource {
  /** The name and type that its source gives; '' where it gives none. */
  readonly filename: string;
  readonly mimeType: string;
  close(): Promise<void>;
}

interface Source {
  /** For the policy. */
  readonly plan: Pick<ToolPlan<unknown>, 'path' | 'host' | 'privateHost'>;
  /** For a person: which document. */
  readonly name: string;
  /** Equal for the same source. */
  readonly key: string;
  open(signal: AbortSignal, may: Parameters<ToolPlan<unknown>['run']>[1]): Promise<Opened>;
}

const pieceBytes = 256 * 1024;

export async function sourceOf(input: SourceInput, jailOf: () => Promise<Jail>, fetch: DocumentFetch): Promise<Source> {
  const given = [input.path, input.url, input.data].filter((one) => one !== undefined);
  if (given.length !== 1) {
    throw new AppError(
      'usage',
      given.length === 0 ? 'No document is given.' : 'More than one document is given.',
      'Give one of path, url and data.',
    );
  }
  if (input.path !== undefined) return fileSource(input.path, await jailOf());
  if (input.url !== undefined) return urlSource(input.url, fetch);
  return dataSource(input.data as string);
}

async function fileSource(path: string, jail: Jail): Promise<Source> {
  const lands = await jail.lands(path, true);
  const shown = lands === '' ? '.' : lands;
  return {
    plan: { path: join(jail.root, lands) },
    name: shown,
    key: `path:${jail.root}:${lands}`,
    async open() {
      const place = await jail.open(path);
      const { handle } = place;
      try {
        if (place.path !== lands) {
          throw new AppError('refused', `${JSON.stringify(path)} now leads elsewhere.`, 'Check it, then try again.', {
            status: 409,
          });
        }
        const found = await handle.stat();
        if (!found.isFile()) throw new AppError('usage', `${JSON.stringify(shown)} is not a file.`, 'Name a document.');
        const { size } = found;
        // Reads the size at opening: a file that grows is read as it was, one that shrinks is an error.
        const chunks =
          size === 0
            ? []
            : handle.createReadStream({ start: 0, end: size - 1, autoClose: false, highWaterMark: pieceBytes });
        return {
          size,
          chunks: checked(chunks, size, shown),
          filename: basename(lands),
          mimeType: '',
          close: () => handle.close(),
        };
      } catch (error) {
        await handle.close();
        throw error;
      }
    },
  };
}

async function* checked(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  size: number,
  shown: string,
): AsyncIterable<Uint8Array> {
  let came = 0;
  for await (const chunk of chunks) {
    came += chunk.length;
    yield chunk;
  }
  if (came !== size)
    throw new AppError('usage', `${JSON.stringify(shown)} was changed while it was read.`, 'Try again.');
}

async function urlSource(url: string, fetch: DocumentFetch): Promise<Source> {
  const plan = await fetch.host(url);
  return {
    plan,
    name: url,
    key: `url:${url}`,
    async open(signal, may) {
      const answer = await fetch.get(url, { signal, largest: largestInput, may });
      if (answer.status < 200 || answer.status > 299) {
        throw new AppError(
          'transport',
          `${url.slice(0, 200)} answered with status ${answer.status}.`,
          'Check the address.',
        );
      }
      return { ...held(answer.body), filename: nameIn(answer.url), mimeType: answer.contentType };
    },
  };
}

function dataSource(data: string): Source {
  const text = data.replace(/^data:[^,]*;base64,/, '');
  // Buffer skips characters outside base64, and would produce another document.
  if (!/^[A-Za-z0-9+/_\-\s]*={0,2}\s*$/.test(text)) {
    throw new AppError('usage', 'data is not base64.', 'Encode the bytes of the document as base64.');
  }
  return {
    plan: {},
    name: 'a document in the call',
    key: `data:${createHash('sha256').update(data).digest('hex')}`,
    open: async () => ({ ...held(Buffer.from(text, 'base64')), filename: '', mimeType: '' }),
  };
}

function held(bytes: Uint8Array): Omit<Opened, 'filename' | 'mimeType'> {
  return { size: bytes.length, chunks: [bytes], close: async () => {} };
}

function nameIn(url: string): string {
  const last = URL.canParse(url) ? (new URL(url).pathname.split('/').pop() ?? '') : '';
  try {
    return decodeURIComponent(last).slice(0, 200);
  } catch {
    return last.slice(0, 200);
  }
}
