/** A proof's file: its location, and as much of its text as a screen shows. Must not know how it is shown. */
import { fillPath } from '../../../client/call.ts';
import { AppError } from '../../../contracts/common/errors.ts';
import { readProof } from '../../../contracts/factory/workflow-routes.ts';

/** More of a text is not shown but can be opened; bytes. */
const shownBytes = 512 * 1024;

export function proofUrl(dagId: string, nodeId: string, receiptId: string): string {
  return fillPath(readProof.path, { dagId, nodeId, receiptId });
}

type ProofKind = 'image' | 'diff' | 'text' | 'other';

export function proofKind(file: { readonly name: string; readonly mime: string }): ProofKind {
  if (/^image\/(png|jpeg|gif|webp)$/.test(file.mime)) return 'image';
  if (/\.(diff|patch)$/i.test(file.name) || /\b(x-)?(diff|patch)\b/.test(file.mime)) return 'diff';
  if (file.mime.startsWith('text/') || /\b(json|xml|yaml|toml|javascript|typescript)\b/.test(file.mime)) return 'text';
  return /\.(log|txt|md|json|ya?ml|csv|tsv|xml|ts|tsx|js|jsx|py|go|rs|sh|css)$/i.test(file.name) ? 'text' : 'other';
}

interface ProofText {
  readonly text: string;
  /** There is more than what is shown. */
  readonly cut: boolean;
}

export async function readProofText(url: string, signal: AbortSignal): Promise<ProofText> {
  const response = await fetch(url, { signal, credentials: 'same-origin' });
  if (!response.ok || response.body === null) {
    throw new AppError('not_found', `The file could not be read (status ${response.status}).`, 'Open it in a new tab.');
  }
  const decoder = new TextDecoder();
  const reader = response.body.getReader();
  let text = '';
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { text: text + decoder.decode(), cut: false };
    size += value.byteLength;
    if (size > shownBytes) {
      void reader.cancel();
      return { text: text + decoder.decode(value.subarray(0, value.byteLength - (size - shownBytes))), cut: true };
    }
    text += decoder.decode(value, { stream: true });
  }
}
