/**
 * Screenshots, downloads, traces and videos of runs: files named by their content, one row each, reported by an event. The same picture twice in a
 * row is kept once. Must not know how one is made.
 */
import { createReadStream, openSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { Artifact } from '../../../contracts/computer-use/run.ts';
import type { Blob, Blobs } from '../../../kit/blobs/blobs.ts';
import type { Ids } from '../../../kit/ids/ids.ts';
import { largestDownload } from '../../../programs/executor/protocol.ts';
import type { Journal } from './journal.ts';
import { insertArtifact, liveRun } from './records.ts';

interface NewArtifact {
  readonly kind: Artifact['kind'];
  /** As it is offered for saving. */
  readonly name: string;
  readonly mediaType: string;
  readonly step: number | null;
}

export interface Artifacts {
  /** Null: it is the picture that the run had last. */
  keepPicture(runId: string, bytes: Uint8Array, artifact: NewArtifact): Promise<string | null>;
  /** A file that no other part needs: it is moved. */
  keepFile(runId: string, file: string, artifact: NewArtifact): Promise<string>;
  /** A file that stays where it is. */
  copyFile(runId: string, file: string, artifact: NewArtifact): Promise<string>;
  /** Records why a requested artifact is not kept, for people who look for it. */
  leaveOut(runId: string, kind: Artifact['kind'], why: string): Promise<void>;
  /** The run has ended. */
  forget(runId: string): void;
  /** The file of artifacts that no row names any more. */
  remove(sha256: string): Promise<void>;
  fileOf(sha256: string): string;
}

export function createArtifacts({
  journal,
  blobs,
  ids,
}: {
  readonly journal: Journal;
  readonly blobs: Blobs;
  readonly ids: Ids;
}): Artifacts {
  /** The last picture of each run that lives. */
  const last = new Map<string, string>();

  async function note(runId: string, blob: Blob, artifact: NewArtifact): Promise<string> {
    const id = ids.next('art');
    await journal.write(runId, ({ tx, at, event }) => {
      liveRun(tx, runId);
      insertArtifact(tx, {
        id,
        run_id: runId,
        kind: artifact.kind,
        name: artifact.name,
        media_type: artifact.mediaType,
        size: blob.size,
        sha256: blob.sha256,
        step: artifact.step,
        created_at: at,
      });
      event({
        type: 'artifact.created',
        message: `Saved a ${artifact.kind}.`,
        data: {
          artifact_id: id,
          kind: artifact.kind,
          media_type: artifact.mediaType,
          size: blob.size,
          step: artifact.step,
        },
      });
    });
    return id;
  }

  const receive = async (source: AsyncIterable<Uint8Array>): Promise<Blob> =>
    (await blobs.receive(source, largestDownload)).keep();

  return {
    async keepPicture(runId, bytes, artifact) {
      const blob = await receive(oneChunk(bytes));
      if (last.get(runId) === blob.sha256) return null;
      last.set(runId, blob.sha256);
      return note(runId, blob, artifact);
    },
    async keepFile(runId, file, artifact) {
      return note(runId, await blobs.adopt(file, openSync(file, 'r+')), artifact);
    },
    async copyFile(runId, file, artifact) {
      return note(runId, await receive(createReadStream(file)), artifact);
    },
    leaveOut: (runId, kind, why) =>
      journal.write(runId, ({ tx, event }) => {
        liveRun(tx, runId);
        event({ type: 'artifact.dropped', message: `The ${kind} was not saved. ${why}`, data: { kind } });
      }),
    forget: (runId) => void last.delete(runId),
    remove: (sha256) => rm(blobs.fileOf(sha256), { force: true }),
    fileOf: (sha256) => blobs.fileOf(sha256),
  };
}

async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
