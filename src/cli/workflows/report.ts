/** `gantry workflows report`: a run as one HTML file. */
import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { openRoute } from '../../client/call.ts';
import { AppError } from '../../contracts/common/errors.ts';
import { getRunReport } from '../../contracts/factory/workflow-routes.ts';
import { type Action, flag, optionalText, text } from '../command.ts';

export const report: Action = async (context, input) => {
  const dagId = text(input, 'run');
  const out = optionalText(input, 'out') ?? `report-${dagId.replaceAll(/[^\w-]/g, '_')}.html`;
  const way = await context.connect();
  const wire = {
    baseUrl: way.baseUrl,
    where: way.where,
    ifGone: `If Gantry was stopped, start it with: ${context.names.start}`,
    credentials: () => ({ authorization: `Bearer ${way.token}` }),
    fetch: way.fetch,
  };
  const response = await openRoute(wire, getRunReport, { params: { dagId } }, { headers: { accept: 'text/html' } });
  const html = await response.text();
  if (out === '-') {
    context.output.result({ run: dagId, html }, () => html);
    return undefined;
  }
  const file = resolve(context.cwd, out);
  write(file, html, flag(input, 'force'));
  const bytes = Buffer.byteLength(html);
  context.output.result({ run: dagId, file, bytes }, () => `Wrote the report of ${dagId} to ${file}.`);
  return undefined;
};

function write(file: string, html: string, force: boolean): void {
  try {
    writeFileSync(file, html, { flag: force ? 'w' : 'wx', mode: 0o600 });
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code;
    if (code === 'EEXIST') {
      throw new AppError('refused', `${file} exists already.`, 'Give --force to replace it, or --out another file.');
    }
    throw new AppError('usage', `${file} cannot be written (${code}).`, 'Give --out a file in a folder that exists.', {
      cause,
    });
  }
}
