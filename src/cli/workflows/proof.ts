/** `gantry workspace proof`: a file that proves a line of a step, as a form. */
import { basename, extname, resolve } from 'node:path';
import { type CallInput, openRoute } from '../../client/call.ts';
import { AppError } from '../../contracts/common/errors.ts';
import { largestProof, uploadProof } from '../../contracts/factory/workflow-routes.ts';
import { readNamed } from '../../kit/files/within.ts';
import { type Action, type Context, flag, text } from '../command.ts';
import { keptWords, report } from '../report.ts';
import { oneLine } from '../words.ts';

/** What the page may show beside the file; anything else is a download. */
const types: Readonly<Record<string, string>> = {
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.gif': 'image/gif',
  '.webp': 'image/webp',
  '.json': 'application/json',
  '.txt': 'text/plain',
  '.log': 'text/plain',
  '.md': 'text/markdown',
  '.diff': 'text/x-diff',
  '.patch': 'text/x-diff',
};

export const proof: Action = async (context, input) => {
  const file = resolve(context.cwd, text(input, 'file'));
  const bytes = readProof(file);
  const params = { dagId: text(input, 'run'), nodeId: text(input, 'node') };
  const line = text(input, 'line');
  const form = new FormData();
  form.set('line', line);
  form.set('file', new File([bytes], basename(file), { type: types[extname(file)] ?? 'application/octet-stream' }));
  const encoded = new Request('http://form/', { method: 'POST', body: form });
  const body = new Uint8Array(await encoded.arrayBuffer());
  const type = encoded.headers.get('content-type') ?? '';
  const query = { dryRun: flag(input, 'dryRun') ? '1' : undefined };
  const reported = await report(context, uploadProof.op, { params, query, form: { type, bytes: body } });
  if (reported !== null && 'kept' in reported) {
    context.output.result(reported.kept, keptWords);
    return undefined;
  }
  const answer = uploadProof.answers[200].parse(
    reported === null ? await upload(context, { params, query }, type, body) : reported.answer,
  );
  context.output.result(answer, () =>
    'dryRun' in answer
      ? `Would prove ${JSON.stringify(oneLine(line, 200))} by ${answer.plan.path} (${answer.plan.size} bytes).`
      : `${JSON.stringify(oneLine(line, 200))} is proven by ${answer.path}, receipt ${answer.receiptId}.`,
  );
  return undefined;
};

async function upload(
  context: Context,
  asked: CallInput,
  type: string,
  body: Uint8Array<ArrayBuffer>,
): Promise<unknown> {
  const way = await context.connect();
  const wire = {
    baseUrl: way.baseUrl,
    where: way.where,
    ifGone: `If Gantry was stopped, start it with: ${context.names.start}`,
    credentials: () => ({ authorization: `Bearer ${way.token}` }),
    fetch: (url: string, init?: RequestInit) => way.fetch(url, { ...init, body }),
  };
  const response = await openRoute(wire, uploadProof, asked, { headers: { 'content-type': type } });
  return response.json();
}

function readProof(file: string): Uint8Array<ArrayBuffer> {
  const found = readNamed(file, largestProof);
  if (found.is === 'file') return new Uint8Array(found.bytes);
  if (found.is === 'absent') throw new AppError('not_found', `${file} does not exist.`, 'Check the path.');
  throw new AppError('usage', `${file} cannot be uploaded. ${found.why}`, 'Give a file that is small enough.');
}
