/** Builds answers of the toolset route from the executor's results. Must not know stages. */
import { AppError } from '../../contracts/common/errors.ts';
import type { Screen, ToolsetResult } from '../../contracts/computer-use/toolset.ts';
import type { Acted, Fault } from '../../programs/executor/protocol.ts';

export const noScreen: Screen = { width: 0, height: 0, scale: 1, frame_width: 0, frame_height: 0 };
/** Characters of an answer's text that the audit keeps, for a call that comes again. */
const maxKeptLength = 4000;

export function resultOf(acted: Acted, bytes: Uint8Array): ToolsetResult {
  return {
    is_error: false,
    content: [
      ...(acted.shell?.texts ?? []).map((text) => ({ type: 'text' as const, text })),
      ...(acted.text === null ? [] : [{ type: 'text' as const, text: acted.text }]),
      ...(acted.image === null
        ? []
        : [
            {
              type: 'image' as const,
              ...acted.image,
              data: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64'),
            },
          ]),
    ],
    ...(acted.browser_state === null ? {} : { browser_state: acted.browser_state }),
    screen: acted.screen,
    ...(acted.shell?.exec === undefined ? {} : { exec: acted.shell.exec }),
    ...(acted.shell?.file === undefined ? {} : { file: acted.shell.file }),
  };
}

export function errorResult(code: string, message: string, screen: Screen): ToolsetResult {
  return { is_error: true, content: [{ type: 'text', text: message }], screen, error: { code, message } };
}

/** Without pictures. */
export function storedResult(result: ToolsetResult): string {
  const content = result.content.flatMap((one) =>
    one.type === 'text' ? [{ type: 'text' as const, text: one.text.slice(0, maxKeptLength) }] : [],
  );
  return JSON.stringify({ ...result, content });
}

export function readStored(kept: string | null): ToolsetResult | null {
  return kept === null ? null : (JSON.parse(kept) as ToolsetResult);
}

export function invalidCall(message: string): AppError {
  return new AppError(
    'usage',
    message,
    'GET …/toolset/schema?toolset=browser, =computer or =shell says what each member takes.',
    { wireCode: 'invalid_toolset_call' },
  );
}

const advice: Readonly<Record<string, string>> = {
  display_unavailable: 'Start a display, or use the browser toolset; gantry doctor says what is missing.',
  browser_crashed: 'Send the call again: the browser restarts. What the action did before is not undone.',
};

/** The display or the browser is not there. */
export function deviceError(fault: Fault): AppError {
  const code = fault.code === 'display_unavailable' ? fault.code : 'browser_crashed';
  return new AppError('transport', fault.message, advice[code]!, {
    wireCode: code,
    ...(fault.unknownEnd === true ? { unknownEnd: true } : {}),
  });
}
