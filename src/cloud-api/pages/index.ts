/**
 * The web interface as files; Express serves them, because the dispatcher answers only routes. Serves the built renderer with its
 * Content-Security-Policy, in the build's compressed form if the client accepts that, and its one page for every path that is no file. Must not know
 * what the renderer shows.
 */
import { existsSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import express, { type Request, type RequestHandler, type Response } from 'express';
import Negotiator from 'negotiator';
import { pageHeaders, plainPage } from '../../kit/http/plain-page.ts';

/** Everything from this origin. Styles may be inline, because xterm and React set them; images may be data. */
export const contentSecurityPolicy = [
  "default-src 'self'",
  "script-src 'self'",
  "connect-src 'self'",
  "font-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "object-src 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "form-action 'self'",
].join('; ');

/** The compressed files that the build writes beside a file (vite.config.ts), by the encoding's name; the smallest first. */
const endings = { br: '.br', gzip: '.gz' } as const;
const codings = ['br', 'gzip'] as const;

/** The first of those that the client accepts equally. The published types lack this argument. */
const bySize = (names: string[]): [string[]] => [names, { preferred: [...codings] }] as unknown as [string[]];

function protect(response: Response): void {
  response.setHeader('content-security-policy', contentSecurityPolicy);
  response.setHeader('x-content-type-options', 'nosniff');
  response.setHeader('x-frame-options', 'DENY');
  response.setHeader('referrer-policy', 'no-referrer');
  response.setHeader('cross-origin-opener-policy', 'same-origin');
  response.setHeader('cross-origin-resource-policy', 'same-origin');
}

/** Mounted after the dispatcher, which has checked Host and Origin. */
export function createPages({
  folder,
  buildCommand,
}: {
  /** Folder of the built renderer. */
  readonly folder: string;
  /** The command that builds it, for the page shown when it is missing. */
  readonly buildCommand: string;
}): RequestHandler[] {
  const index = join(folder, 'index.html');
  const files = express.static(folder, {
    index: false,
    redirect: false,
    dotfiles: 'ignore',
    setHeaders: (response, path) => {
      // Names under assets/ carry a hash of their content; every other file is revalidated.
      const hashed = path.startsWith(join(folder, 'assets'));
      response.setHeader('cache-control', hashed ? 'public, max-age=31536000, immutable' : 'no-cache');
    },
  });

  /**
   * Turns the request to the file's compressed form. Each form has its own length, tag and ranges, as a representation of its own. A file that the
   * build did not compress is served as it is.
   */
  function choose(request: Request, response: Response): void {
    const { path } = request;
    // Only names that the build produces: nothing to decode, and no way out of the folder.
    if (!/^(?:\/[\w-][\w.-]*)+$/.test(path)) return;
    const beside = codings.filter((coding) => existsSync(join(folder, path + endings[coding])));
    if (beside.length === 0) return;
    response.vary('Accept-Encoding');
    const [chosen] = new Negotiator(request).encodings(...bySize([...beside, 'identity']));
    const coding = beside.find((one) => one === chosen);
    if (coding === undefined) return;
    response.type(extname(path));
    response.setHeader('content-encoding', coding);
    request.url = path + endings[coding];
  }

  const sendFile: RequestHandler = (request, response, next) => {
    choose(request, response);
    files(request, response, (fault?: unknown) => {
      const status = fault instanceof Error && 'status' in fault ? Number(fault.status) : 500;
      if (fault === undefined || status >= 500) return next(fault);
      response.removeHeader('content-encoding');
      response.removeHeader('content-type');
      response.status(status).json({ error: 'usage', message: 'This part of the file cannot be sent.' });
    });
  };

  return [
    (request, response, next) => {
      protect(response);
      if (request.method === 'GET' || request.method === 'HEAD') next();
      else response.status(404).json({ error: 'not_found', message: 'Only pages are served here.' });
    },
    sendFile,
    (request, response, next) => {
      // A name with a dot asks for a file, and it does not exist.
      if (basename(request.path).includes('.')) {
        response.status(404).json({ error: 'not_found', message: 'There is no such file.' });
      } else if (existsSync(index)) {
        request.url = '/index.html';
        sendFile(request, response, next);
      } else {
        response.writeHead(503, pageHeaders);
        response.end(
          plainPage('The web interface is not built', [
            `Run \`${buildCommand}\` in Gantry’s folder, then reload this page.`,
            'The API and the command line work without it.',
          ]),
        );
      }
    },
  ];
}
