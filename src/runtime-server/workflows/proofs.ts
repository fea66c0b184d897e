/**
 * Files that prove lines of nodes: streamed in, stored by their hash; the receipt is the ledger's id. Must not know HTTP beyond the parts of a form.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { AppError } from '../../contracts/common/errors.ts';
import { largestProof } from '../../contracts/factory/workflow-routes.ts';
import type { Blobs } from '../../kit/blobs/blobs.ts';
import { openWithin } from '../../kit/files/within.ts';
import type { FormPart } from '../../kit/http/multipart.ts';
import { plainName, proofPath } from './command-turns.ts';
import type { WorkflowDeps } from './deps.ts';
import { nodeOf, type Run, type RunNode } from './model.ts';
import { type Scheduler, unknownRun } from './scheduler.ts';
import { proofFileOf } from './store/pages.ts';
import { loadRun } from './store/runs.ts';
import { type Caller, type NodeRef, takeReport } from './verbs.ts';
import { conflict } from './work.ts';

interface StoredProof {
  readonly file: string;
  readonly name: string;
  readonly mime: string;
  readonly size: number;
}

type UploadAnswer =
  | { readonly path: string; readonly receiptId: string }
  | { readonly dryRun: true; readonly plan: { readonly line: string; readonly path: string; readonly size: number } };

export interface Proofs {
  /** Takes the parts `line` and `file`, in any order. */
  upload(ref: NodeRef, by: Caller, parts: AsyncIterable<FormPart>): Promise<UploadAnswer>;
  find(ref: NodeRef, receiptId: string): Promise<StoredProof>;
}

const maxLineLength = 500;

export function createProofs(deps: WorkflowDeps & { readonly scheduler: Scheduler; readonly blobs: Blobs }): Proofs {
  async function runOf(dagId: string): Promise<Run> {
    const run = await deps.store.read((tx) => loadRun(tx, deps.workspace, dagId));
    if (run === null) throw unknownRun(dagId);
    return run;
  }

  async function upload(ref: NodeRef, by: Caller, parts: AsyncIterable<FormPart>): Promise<UploadAnswer> {
    // Asked before the file is taken in, and again in the operation that records it.
    mayProve(nodeOf(await runOf(ref.dagId), ref.nodeId), by);
    const form = await readForm(deps.blobs, parts);
    const { draft } = form;
    try {
      const line = form.line;
      if (line === null)
        throw new AppError('usage', 'The form has no part "line".', 'Send the line that the file proves.');
      if (ref.dryRun === true) {
        checkLine(nodeOf(await runOf(ref.dagId), ref.nodeId), line);
        const path = proofPath(`${draft.sha256.slice(0, 2)}/${draft.sha256}`);
        draft.drop();
        return { dryRun: true, plan: { line, path, size: draft.size } };
      }
      checkLine(nodeOf(await runOf(ref.dagId), ref.nodeId), line);
      const blob = await draft.keep();
      const file = {
        sha256: blob.sha256,
        path: proofPath(blob.path),
        name: form.name,
        mime: form.mime,
        size: blob.size,
      };
      const receiptId = await deps.scheduler.mutate(ref.dagId, { actor: by.actor, surface: by.surface }, (work) => {
        const node = nodeOf(work.run, ref.nodeId);
        takeReport(work, node, by);
        mayProve(node, by);
        return work.proof(node, line, 'proven', file);
      });
      return { path: file.path, receiptId };
    } catch (error) {
      draft.drop();
      throw error;
    }
  }

  return {
    upload,
    async find(ref, receiptId) {
      const node = nodeOf(await runOf(ref.dagId), ref.nodeId);
      const found = /^\d{1,15}$/.test(receiptId)
        ? await deps.store.read((tx) => proofFileOf(tx, ref.dagId, node.seq, Number(receiptId)))
        : null;
      if (found === null) {
        throw new AppError(
          'not_found',
          `The step has no file with the receipt ${JSON.stringify(receiptId)}.`,
          'See its page for its files.',
        );
      }
      const { name, mime, size } = found;
      const file = join(deps.workspace, found.path);
      const now = await hashOf(deps.workspace, file);
      if (now === found.sha256) return { file, name, mime, size };
      if (now === null) {
        throw new AppError(
          'not_found',
          `The file of receipt ${receiptId} is no longer at ${file}.`,
          'Put it back from a backup.',
        );
      }
      throw new AppError(
        'refused',
        `${file} is not the file that receipt ${receiptId} recorded: it has been changed.`,
        `Put back the file with the SHA-256 ${found.sha256}, or have the line proven again.`,
        { status: 409 },
      );
    },
  };
}

/** SHA-256 of the current file; null when there is none. A changed file proves nothing. */
async function hashOf(workspace: string, file: string): Promise<string | null> {
  const handle = openWithin(workspace, file);
  if (typeof handle !== 'number') return handle.is === 'absent' ? null : 'unfit';
  const hash = createHash('sha256');
  for await (const chunk of createReadStream('', { fd: handle })) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

function mayProve(node: RunNode, by: Caller): void {
  if (by.address !== null && by.address !== node.assignee && by.address !== node.checker) {
    throw new AppError(
      'refused',
      `${node.title} belongs to ${node.assignee}, not to ${by.address}.`,
      'Leave its proof to its assignee.',
    );
  }
  const handed = node.status === 'ready' && node.handed !== 'no';
  if (handed || ['working', 'checking', 'needs_you'].includes(node.status)) return;
  throw conflict(
    node,
    'a proof',
    'Proofs are accepted while a step is in progress, being checked or waiting for a person.',
  );
}

function checkLine(node: RunNode, line: string): void {
  const lines = node.step.proof.map((proof) => proof.line);
  if (lines.length === 0 || lines.includes(line)) return;
  throw new AppError(
    'usage',
    `${JSON.stringify(line)} is not a line of ${node.title}.`,
    `Its lines are: ${lines.join('; ')}.`,
  );
}

interface Form {
  readonly line: string | null;
  readonly draft: Awaited<ReturnType<Blobs['receive']>>;
  readonly name: string;
  readonly mime: string;
}

async function readForm(blobs: Blobs, parts: AsyncIterable<FormPart>): Promise<Form> {
  let line: string | null = null;
  let file: { draft: Form['draft']; name: string; mime: string } | null = null;
  try {
    for await (const part of parts) {
      if (part.name === 'line' && line === null) line = await textOf(part);
      else if (part.name === 'file' && file === null) {
        const draft = await blobs.receive(part.body, largestProof);
        file = { draft, name: plainName(part.filename ?? 'file'), mime: mimeOf(part) };
      } else {
        throw new AppError(
          'usage',
          `The form has an unexpected part ${JSON.stringify(part.name)}.`,
          'Send one "line" and one "file".',
        );
      }
    }
    if (file === null)
      throw new AppError('usage', 'The form has no part "file".', 'Send the file that proves the line.');
    return { line, ...file };
  } catch (error) {
    file?.draft.drop();
    throw error;
  }
}

async function textOf(part: FormPart): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of part.body) {
    size += chunk.byteLength;
    if (size > maxLineLength * 4) break;
    chunks.push(chunk);
  }
  const text = Buffer.concat(chunks).toString('utf8').trim();
  if (text === '' || text.length > maxLineLength || size > maxLineLength * 4) {
    throw new AppError(
      'usage',
      `"line" must have 1 to ${maxLineLength} characters.`,
      'Send the line that the file proves.',
    );
  }
  return text;
}

function mimeOf(part: FormPart): string {
  const type = (part.type ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  return /^[a-z0-9.+-]{1,60}\/[a-z0-9.+-]{1,100}$/.test(type) ? type : 'application/octet-stream';
}
