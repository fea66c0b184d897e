/**
 * The web interface as files (architecture.md, "Ideas" 1: Express keeps static files and the shell around the dispatcher).
 * Serves the built renderer with its Content-Security-Policy, and its one page for every path that is no file.
 * Must not know what the renderer shows.
 */
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import express, { type RequestHandler, type Response } from 'express';
import { pageHeaders, plainPage } from '../../kit/http/plain-page.ts';

/** desktop.md 6.1.5: everything from here, styles may be inline (xterm and React set them), images may be data. */
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

export interface PagesDeps {
  /** Folder of the built renderer. */
  readonly folder: string;
  /** How it is built, for the page that says it is not. */
  readonly buildCommand: string;
}

function protect(response: Response): void {
  response.setHeader('content-security-policy', contentSecurityPolicy);
  response.setHeader('x-content-type-options', 'nosniff');
  response.setHeader('x-frame-options', 'DENY');
  response.setHeader('referrer-policy', 'no-referrer');
  response.setHeader('cross-origin-opener-policy', 'same-origin');
  response.setHeader('cross-origin-resource-policy', 'same-origin');
}

/** Mounted after the dispatcher, which has checked Host and Origin. */
export function createPages({ folder, buildCommand }: PagesDeps): RequestHandler[] {
  const index = join(folder, 'index.html');
  const files = express.static(folder, {
    index: false,
    redirect: false,
    dotfiles: 'ignore',
    setHeaders: (response, path) => {
      // Names under assets/ carry a hash of their content; everything else is asked for again.
      const hashed = path.startsWith(join(folder, 'assets'));
      response.setHeader('cache-control', hashed ? 'public, max-age=31536000, immutable' : 'no-cache');
    },
  });
  return [
    (request, response, next) => {
      protect(response);
      if (request.method === 'GET' || request.method === 'HEAD') next();
      else response.status(404).json({ error: 'not_found', message: 'Only pages are served here.' });
    },
    files,
    (request, response) => {
      // A name with a dot asks for a file, and there is none.
      if (basename(request.path).includes('.')) {
        response.status(404).json({ error: 'not_found', message: 'There is no such file.' });
      } else if (existsSync(index)) {
        response.setHeader('cache-control', 'no-cache');
        response.sendFile(index, { cacheControl: false });
      } else {
        response.writeHead(503, pageHeaders);
        response.end(
          plainPage('The web interface is not built', [
            `Run \`${buildCommand}\` in the folder of Gantry, then reload this page.`,
            'The API and the command line work without it.',
          ]),
        );
      }
    },
  ];
}
