/**
 * Turns a server's answer to a call into a result that clients can take: long texts are cut with a notice, large images and files are replaced by a
 * note, unknown blocks are left out. Pure. Must not know which tool it was.
 */
import type { ContentBlock, ToolResult } from '../../../contracts/tool-server/tools.ts';
import { isDeeper } from '../../../kit/schemas/limits.ts';
import type { FilledPrompt } from '../foreign-tools.ts';
import { isObject } from './schemas.ts';

/** All text of one result, characters: far more than a model reads, far less than does harm. */
export const maxTextLength = 256 * 1024;
/** One picture, sound or file, base64 characters: model vendors take 5 MB. */
export const largestBlob = 5 * 1024 * 1024;
/** All of them in one result. */
const largestBlobs = 6 * 1024 * 1024;
const maxBlocks = 500;
const deepest = 64;

/**
 * A known block unchanged; any other as text that names its kind: an unknown kind, or a picture that is no base64, would cost the caller the whole
 * answer. `isKnown` is the schema of the protocol.
 */
export function readableBlock(block: unknown, isKnown: (block: unknown) => boolean): unknown {
  if (isKnown(block)) return block;
  if (typeof block === 'string') return { type: 'text', text: block };
  if (!isObject(block) || isDeeper(block, deepest)) return note('a block that cannot be read was left out');
  // Display hints are the least important part of a block.
  const { annotations: _, _meta: __, ...bare } = block;
  if (isKnown(bare)) return bare;
  const type = typeof bare.type === 'string' ? JSON.stringify(bare.type.slice(0, 40)) : 'without a type';
  return { type: 'text', text: `[a block ${type} that cannot be read: ${JSON.stringify(bare)}]` };
}

/** The messages of a prompt, without those that are malformed. `isKnown` as for {@link readableBlock}. */
export function readFilledPrompt(
  sent: Readonly<Record<string, unknown>>,
  isKnown: (block: unknown) => boolean,
): FilledPrompt {
  const left = { text: maxTextLength, blobs: largestBlobs };
  const messages = (Array.isArray(sent.messages) ? sent.messages : []).slice(0, maxBlocks).flatMap((message) => {
    if (!isObject(message) || isDeeper(message, deepest)) return [];
    const role = message.role === 'assistant' ? 'assistant' : 'user';
    return [{ role, content: readBlock(readableBlock(message.content, isKnown) as ContentBlock, left) }];
  });
  const { description } = sent;
  return { ...(typeof description === 'string' ? { description: cut(description, left) } : {}), messages };
}

export function readResult(sent: unknown): ToolResult {
  if (!isObject(sent)) return failure('The server’s answer is not a result.');
  if (isDeeper(sent, deepest)) return failure(`The server’s answer is nested deeper than ${deepest} and was left out.`);
  const blocks = Array.isArray(sent.content) ? sent.content : [];
  const content: ContentBlock[] = [];
  const left = { text: maxTextLength, blobs: largestBlobs };
  for (const block of blocks.slice(0, maxBlocks)) {
    if (isObject(block) && typeof block.type === 'string') content.push(readBlock(block as ContentBlock, left));
  }
  if (blocks.length > maxBlocks) content.push(note(`${blocks.length - maxBlocks} more blocks were left out`));
  const { structuredContent: structured } = sent;
  const isError = sent.isError === true;
  if (structured === undefined) return { content, isError };
  const size = JSON.stringify(structured).length;
  if (size <= maxTextLength) return { content, structuredContent: structured, isError };
  // A client that reads it by a schema must not take half of it for the whole.
  content.push(note(`the structured result of ${size} characters was left out: the limit is ${maxTextLength}`));
  return { content, isError: true };
}

function readBlock(block: ContentBlock, left: { text: number; blobs: number }): ContentBlock {
  if (block.type === 'text') {
    const text = typeof block.text === 'string' ? block.text : '';
    return { ...block, text: cut(text, left) };
  }
  if (block.type === 'image' || block.type === 'audio') return fits(block, block.data, block.mimeType, left);
  if (block.type === 'resource' && isObject(block.resource)) {
    const { resource } = block;
    if (typeof resource.blob === 'string') return fits(block, resource.blob, resource.mimeType, left);
    if (typeof resource.text === 'string')
      return { ...block, resource: { ...resource, text: cut(resource.text, left) } };
  }
  const size = JSON.stringify(block).length;
  if (size > left.text)
    return note(`a block ${JSON.stringify(block.type.slice(0, 40))} of ${size} characters was left out`);
  left.text -= size;
  return block;
}

function cut(text: string, left: { text: number }): string {
  if (text.length <= left.text) {
    left.text -= text.length;
    return text.toWellFormed();
  }
  const kept = text.slice(0, left.text).toWellFormed();
  left.text = 0;
  return `${kept}\n[cut: ${text.length - kept.length} characters more]`;
}

function fits(block: ContentBlock, data: unknown, mimeType: unknown, left: { blobs: number }): ContentBlock {
  const size = typeof data === 'string' ? data.length : 0;
  const kind = typeof mimeType === 'string' ? mimeType.slice(0, 80) : block.type;
  if (size > Math.min(left.blobs, largestBlob)) {
    return note(`${kind} of ${megabytes(size)} was left out: the limit is ${megabytes(largestBlob)}`);
  }
  left.blobs -= size;
  return block;
}

const megabytes = (characters: number) => `${((characters * 3) / 4 / 1024 / 1024).toFixed(1)} MB`;
const note = (text: string): ContentBlock => ({ type: 'text', text: `[${text}]` });

export function failure(text: string): ToolResult {
  return { content: [{ type: 'text', text }], isError: true };
}
