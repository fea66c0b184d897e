/**
 * The video and the trace of a run, kept as artifacts before its last event. A failed recording goes to the log and ends nothing. Must not know what
 * happens in between.
 */
import { mkdirSync } from 'node:fs';
import { extname, join } from 'node:path';
import type { Place } from '../../../programs/executor/protocol.ts';
import type { ToolsetGate } from '../gate.ts';
import type { Artifacts } from './artifacts.ts';

interface Recording {
  /** Once the browser or the display is there. */
  begin(place: Place): Promise<void>;
  finish(): Promise<void>;
}

const mediaTypes: Readonly<Record<string, string>> = {
  '.webm': 'video/webm',
  '.mp4': 'video/mp4',
  '.mkv': 'video/x-matroska',
  '.zip': 'application/zip',
};
const typeOf = (file: string) => mediaTypes[extname(file)] ?? 'application/octet-stream';

export const noRecording: Recording = { begin: async () => {}, finish: async () => {} };

export function createRecording({
  runId,
  sessionId,
  gate,
  artifacts,
  folder,
  onFault,
}: {
  readonly runId: string;
  readonly sessionId: string;
  readonly gate: Pick<ToolsetGate, 'record' | 'saveTrace'>;
  readonly artifacts: Artifacts;
  /** On the file system of the artifacts: finished files move. */
  readonly folder: string;
  readonly onFault: (what: string, fault: unknown) => void;
}): Recording {
  let video: { stop(): Promise<string | null> } | null = null;
  let ofBrowser = false;
  mkdirSync(folder, { recursive: true, mode: 0o700 });

  async function keep(kind: 'video' | 'trace', make: () => Promise<string | null>): Promise<void> {
    try {
      const file = await make();
      if (file === null) return;
      await artifacts.keepFile(runId, file, {
        kind,
        name: `${kind}${extname(file)}`,
        mediaType: typeOf(file),
        step: null,
      });
    } catch (fault) {
      onFault(`The ${kind} of a run could not be saved.`, fault);
    }
  }

  async function trace(): Promise<string | null> {
    const { file, secret } = await gate.saveTrace(sessionId, join(folder, `${runId}.zip`));
    if (secret) await artifacts.leaveOut(runId, 'trace', 'It would show what was typed into a password field.');
    return file;
  }

  return {
    async begin(place) {
      ofBrowser ||= place.kind === 'browser';
      if (video !== null) return;
      // Set before it is waited for: one video a run, of where it acts first.
      video = { stop: async () => null };
      try {
        video = await gate.record(place, join(folder, `${runId}.webm`));
      } catch (fault) {
        onFault('A run could not be recorded.', fault);
      }
    },
    async finish() {
      if (video !== null) await keep('video', video.stop);
      if (ofBrowser) await keep('trace', trace);
    },
  };
}
