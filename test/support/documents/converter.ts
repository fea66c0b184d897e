/** The real conversion program for tests, and short ways to ask it. */
import { expect } from 'vitest';
import { AppError } from '../../../src/contracts/common/errors.ts';
import { programCommand } from '../../../src/kit/process/programs.ts';
import {
  type ConvertAsk,
  type ConvertedDocument,
  createConverter,
} from '../../../src/runtime-server/tool-server/documents/converter.ts';

export const after = (ms: number, effect: () => void): (() => void) => {
  const timer = setTimeout(effect, ms).unref();
  return () => clearTimeout(timer);
};

export const held = (document: string | Uint8Array) => {
  const bytes = typeof document === 'string' ? Buffer.from(document) : document;
  return { size: bytes.length, chunks: [bytes] };
};

export function startConverter(
  command: readonly [string, ...string[]] = programCommand('converter'),
  { ocr = false }: { ocr?: boolean } = {},
) {
  const converter = createConverter({ command, after, ocr });
  const convert = (
    document: string | Uint8Array,
    filename = '',
    more: Partial<ConvertAsk> = {},
    signal = new AbortController().signal,
  ): Promise<ConvertedDocument> =>
    converter.convert(held(document), { filename, mimeType: '', family: null, ...more }, signal);
  return { ...converter, converter, convert };
}

/** What work failed with; it must be an error made for a person. */
export async function failure(work: Promise<unknown>): Promise<AppError> {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(AppError);
  return error as AppError;
}
