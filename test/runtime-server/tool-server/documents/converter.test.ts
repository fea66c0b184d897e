/** The conversion program as the runtime drives it: real processes, real documents. */
import { afterAll, expect, test } from 'vitest';
import { AppError } from '../../../../src/contracts/common/errors.ts';
import { programCommand } from '../../../../src/kit/process/programs.ts';
import { createConverter } from '../../../../src/runtime-server/tool-server/documents/converter.ts';

const after = (ms: number, effect: () => void) => {
  const timer = setTimeout(effect, ms).unref();
  return () => clearTimeout(timer);
};
const converter = createConverter({ command: programCommand('converter'), after });
const never = new AbortController().signal;
const ask = { filename: '', mimeType: '', family: null } as const;
const held = (text: string | Uint8Array) => {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text;
  return { size: bytes.length, chunks: [bytes] };
};

afterAll(() => converter.close());

async function failure(work: Promise<unknown>): Promise<AppError> {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(AppError);
  return error as AppError;
}

test('a text comes back as Markdown, and the process is kept for the next one', async () => {
  const first = await converter.convert(held('# A\r\n\r\ntext\r\n'), { ...ask, filename: 'a.md' }, never);
  expect(first).toMatchObject({ kind: 'markdown', family: 'data', charset: 'utf-8', markdown: '# A\n\ntext\n', notes: [] });
  const [pid] = converter.processes();
  await converter.convert(held('more'), ask, never);
  expect(converter.processes()).toEqual([pid]);
});

test('a document of 50 MB goes through, a larger one is refused before a byte of it is read', async () => {
  const line = `${'x'.repeat(1023)}\n`;
  const size = 50 * 1024 * 1024;
  const chunk = Buffer.from(line.repeat(1024));
  const chunks = Array.from({ length: 50 }, () => chunk);
  const whole = await converter.convert({ size, chunks }, ask, never);
  expect(whole.notes[0]).toContain('cut');
  const error = await failure(converter.convert({ size: size + 1, chunks }, ask, never));
  expect(error).toMatchObject({ code: 'usage', fact: expect.stringContaining(String(size + 1)) });
});

test('a tool of one family refuses another one by the name of the right tool', async () => {
  const error = await failure(converter.convert(held('plain'), { ...ask, family: 'pdf' }, never));
  expect(error).toMatchObject({ code: 'usage', action: expect.stringContaining('document.data') });
});
