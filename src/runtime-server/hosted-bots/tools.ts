/** Tools with which a hosted bot reports on its own work: nodes and threads. Their verbs check their own rules. */
import { createReadStream } from 'node:fs';
import { basename } from 'node:path';
import { z } from 'zod';
import { AppError } from '../../contracts/common/errors.ts';
import { defineTool, type Tool, type ToolCaller } from '../tool-server/index.ts';
import type { HostedDeps, NodeWork } from './deps.ts';

const Done = z.strictObject({ ok: z.literal(true) });
const ok = { ok: true as const };

/** Kinds by the end of a name; other names use the default of a proof. */
const mimes: Readonly<Record<string, string>> = {
  txt: 'text/plain',
  log: 'text/plain',
  md: 'text/markdown',
  json: 'application/json',
  diff: 'text/x-diff',
  patch: 'text/x-diff',
  html: 'text/html',
  png: 'image/png',
  jpg: 'image/jpeg',
  svg: 'image/svg+xml',
};

/** Names of those below. */
export const reportTools: ReadonlySet<string> = new Set([
  'node.progress',
  'node.proof',
  'node.done',
  'node.fail',
  'thread.reply',
]);

export function createReportTools(deps: {
  readonly nodes: NodeWork;
  readonly reply: HostedDeps['reply'];
  /** Opens a file inside the root. */
  openFile(root: string, path: string): Promise<{ fd: number; close(): Promise<void> }>;
  readonly freshKey: () => string;
}): Tool[] {
  const report = { report: true, readOnly: false, forNodes: true } as const;
  const botOf = ({ bot }: ToolCaller) => {
    if (bot !== null) return bot;
    throw new AppError('usage', 'Only a bot can report on its own work.', 'Use the routes under /api/factory.');
  };
  const nodeOf = (caller: ToolCaller) => {
    if (caller.dagId !== undefined && caller.nodeId !== undefined)
      return { dagId: caller.dagId, nodeId: caller.nodeId };
    throw new AppError('usage', 'You are not working on a step.', 'Call this only while you work on a step.');
  };
  const plan = <Out>(title: string, run: () => Promise<Out>) => ({ risk: 'low' as const, title, summary: title, run });

  return [
    defineTool({
      ...report,
      name: 'node.progress',
      title: 'Note progress',
      description: 'Writes a progress note on the page of your step, for people to read: one or two sentences.',
      input: z.strictObject({ text: z.string().min(1).max(4000) }),
      output: Done,
      plan: ({ text }, caller) =>
        plan('Note progress', async () => {
          await deps.nodes.progress(nodeOf(caller), botOf(caller).address, text);
          return ok;
        }),
    }),
    defineTool({
      ...report,
      name: 'node.proof',
      title: 'Prove a line with a file',
      description:
        'Uploads a file from your folder as proof of one line of your step. line is that line, word for word.',
      input: z.strictObject({ line: z.string().min(1).max(500), path: z.string().min(1).max(4096) }),
      output: z.strictObject({ receiptId: z.string() }),
      plan: ({ line, path }, caller) =>
        plan(`Prove: ${line}`, async () => {
          const file = await deps.openFile(caller.root, path);
          try {
            const content = createReadStream('', { fd: file.fd, autoClose: false, start: 0 });
            const name = basename(path);
            const mime = mimes[name.split('.').at(-1)?.toLowerCase() ?? ''] ?? 'application/octet-stream';
            return await deps.nodes.prove(nodeOf(caller), botOf(caller).address, { line, name, mime, content });
          } finally {
            await file.close();
          }
        }),
    }),
    defineTool({
      ...report,
      name: 'node.done',
      title: 'Mark the step as done',
      description:
        'Marks your step as done; as its checker, accepts it. output is its result, which later steps may read.',
      input: z.strictObject({ output: z.string().max(20_000).optional(), note: z.string().max(2000).optional() }),
      output: Done,
      plan: (given, caller) =>
        plan('Mark the step as done', async () => {
          await deps.nodes.done(nodeOf(caller), botOf(caller).address, {
            ...(given.output !== undefined && { output: given.output }),
            ...(given.note !== undefined && { note: given.note }),
          });
          return ok;
        }),
    }),
    defineTool({
      ...report,
      name: 'node.fail',
      title: 'Give the step up',
      description:
        'Says that you cannot do your step; as its checker, rejects it. reason says why, for the next attempt.',
      input: z.strictObject({ reason: z.string().min(1).max(2000) }),
      output: Done,
      plan: ({ reason }, caller) =>
        plan('Give the step up', async () => {
          await deps.nodes.fail(nodeOf(caller), botOf(caller).address, reason);
          return ok;
        }),
    }),
    defineTool({
      report: true,
      readOnly: false,
      name: 'thread.reply',
      title: 'Reply in a thread',
      description:
        'Posts to one of your threads at once. Your final text of a turn is posted to its thread automatically.',
      input: z.strictObject({ threadId: z.string().min(1).max(200), text: z.string().min(1).max(20_000) }),
      output: Done,
      plan: ({ threadId, text }, caller) =>
        plan('Reply in a thread', async () => {
          await deps.reply(botOf(caller), threadId, text, `tool:${deps.freshKey()}`);
          return ok;
        }),
    }),
  ];
}
