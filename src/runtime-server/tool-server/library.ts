/**
 * The resources of MCP clients beside tools: templates and prompts of attached servers, boards and results of runs, and files of the caller's root
 * by a template. Files are read through the tool that reads files, so that root, policy and person decide as for any call. Must not know where
 * boards and runs are kept.
 */
import { createHash } from 'node:crypto';
import { AppError } from '../../contracts/common/errors.ts';
import { resourcePlaces } from '../../contracts/tool-server/mcp.ts';
import type {
  ListedPrompt,
  ListedResource,
  McpRequest,
  PromptProvider,
  ResourceContents,
  ResourceProvider,
} from '../../kit/mcp/service.ts';
import { promptCall } from './callable.ts';
import type { FilledPrompt, ForeignTools } from './foreign-tools.ts';
import type { ToolOutcome } from './registry.ts';
import type { WireCalls } from './wire-calls.ts';

/** Reads the factory. `agentId`: the bot that reads, null for a person. */
export interface Library {
  prompts(): readonly ListedPrompt[];
  /** `usage` for a value that does not fit. */
  prompt(name: string, args: Readonly<Record<string, string>>): { readonly description: string; readonly text: string };
  boards(): Promise<readonly { readonly id: string; readonly title: string; readonly about: string }[]>;
  board(id: string): Promise<object | null>;
  /** Newest first, the last ones. */
  runs(
    agentId: string | null,
  ): Promise<readonly { readonly id: string; readonly title: string; readonly about: string }[]>;
  run(id: string, agentId: string | null): Promise<object | null>;
}

const json = 'application/json';
const { boards, runs } = resourcePlaces;
const files = 'file:///';
/** The largest file that is read as a resource, bytes: it is sent whole. */
const largestFile = 4 * 1024 * 1024;

const templates = [
  { uriTemplate: `${boards}{campaignId}`, name: 'board', title: 'Board of a campaign', mimeType: json },
  { uriTemplate: `${runs}{runId}`, name: 'run', title: 'A run and its result', mimeType: json },
  {
    uriTemplate: `${files}{+path}`,
    name: 'file',
    title: 'A file',
    description: 'path is relative to the working folder, or absolute inside it.',
  },
];

export function libraryProviders({
  library,
  calls,
  foreign,
}: {
  readonly library: Library;
  readonly calls: WireCalls;
  /** Prompts of attached servers. */
  readonly foreign: Pick<ForeignTools, 'prompts'>;
}): {
  readonly prompts: PromptProvider;
  readonly resources: ResourceProvider;
} {
  const readerOf = ({ principal }: McpRequest) => principal.agentId ?? null;
  return {
    prompts: {
      list() {
        const own = library.prompts();
        const taken = new Set(own.map(({ name }) => name));
        const attached = (foreign.prompts?.list() ?? []).filter(({ name }) => !taken.has(name));
        return listing([...own, ...attached.map(({ server: _, ...prompt }): ListedPrompt => prompt)]);
      },
      async get(name, args, { principal, signal }) {
        const attached = foreign.prompts?.list().some((prompt) => prompt.name === name) === true;
        if (attached && !library.prompts().some((prompt) => prompt.name === name)) {
          const outcome = await calls.call(promptCall(name), args, principal, signal);
          if (outcome.isError) throw notNow(outcome);
          return outcome.structured as FilledPrompt;
        }
        const { description, text } = library.prompt(name, args);
        return { description, messages: [{ role: 'user', content: { type: 'text', text } }] };
      },
    },
    resources: {
      async list(request) {
        const [known, ran] = await Promise.all([library.boards(), library.runs(readerOf(request))]);
        const entry =
          (prefix: string) =>
          ({ id, title, about }: (typeof known)[number]): ListedResource => ({
            uri: prefix + encodeURIComponent(id),
            name: id,
            title,
            ...(about === '' ? {} : { description: about }),
            mimeType: json,
          });
        return listing([...known.map(entry(boards)), ...ran.map(entry(runs))]);
      },
      templates: () => ({ items: templates, revision: 1 }),
      async read(uri, request) {
        if (uri.startsWith(boards)) return asJson(uri, await library.board(after(uri, boards)));
        if (uri.startsWith(runs)) return asJson(uri, await library.run(after(uri, runs), readerOf(request)));
        if (uri.startsWith(files)) return readFile(uri, calls, request);
        return null;
      },
    },
  };
}

function listing<T>(items: readonly T[]): { readonly items: readonly T[]; readonly revision: string } {
  return { items, revision: createHash('sha256').update(JSON.stringify(items)).digest('base64url') };
}

function after(uri: string, prefix: string): string {
  try {
    return decodeURIComponent(uri.slice(prefix.length));
  } catch {
    return '';
  }
}

function asJson(uri: string, found: object | null): readonly ResourceContents[] | null {
  return found === null ? null : [{ uri, mimeType: json, text: JSON.stringify(found, null, 2) }];
}

interface FilePart {
  readonly content: string;
  readonly size: number;
  readonly next: number | null;
}

async function readFile(uri: string, calls: WireCalls, request: McpRequest): Promise<ResourceContents[] | null> {
  const path = after(uri, files);
  if (path === '' || path.includes('\0')) return null;
  // Tried first as an absolute path; outside of the root it is taken as relative to it.
  for (const named of [`/${path}`, path]) {
    for (const encoding of ['utf8', 'base64'] as const) {
      const content = await whole(named, encoding, calls, request);
      if (content === null) continue;
      const mimeType = mimeOf(path, encoding);
      return [encoding === 'utf8' ? { uri, mimeType, text: content } : { uri, mimeType, blob: content }];
    }
  }
  return null;
}

/** Null: it is not there, lies outside, or is not of this encoding. */
async function whole(
  path: string,
  encoding: 'utf8' | 'base64',
  calls: WireCalls,
  { principal, signal }: McpRequest,
): Promise<string | null> {
  const parts: string[] = [];
  for (let offset: number | null = 0; offset !== null; ) {
    const outcome: ToolOutcome = await calls.call('file.read', { path, encoding, offset }, principal, signal);
    if (outcome.isError) {
      if (outcome.verdict?.verdict === 'deny' || outcome.open) throw notNow(outcome);
      return null;
    }
    const { content, size, next }: FilePart = outcome.structured as FilePart;
    if (size > largestFile) {
      const fact = `${path} has ${size} bytes; a resource may have ${largestFile}.`;
      throw new AppError('usage', fact, 'Read it in parts with the tool file.read.');
    }
    parts.push(content);
    offset = next;
  }
  if (encoding === 'utf8') return parts.join('');
  return Buffer.concat(parts.map((part) => Buffer.from(part, 'base64'))).toString('base64');
}

function notNow({ text, open, approvalId }: ToolOutcome): AppError {
  return new AppError('refused', text, '', open ? { wireCode: 'approval_required', extra: { approvalId } } : {});
}

const kinds: Readonly<Record<string, string>> = {
  json,
  md: 'text/markdown',
  html: 'text/html',
  css: 'text/css',
  csv: 'text/csv',
  xml: 'application/xml',
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  svg: 'image/svg+xml',
  pdf: 'application/pdf',
};

function mimeOf(path: string, encoding: 'utf8' | 'base64'): string {
  const ending = /\.([a-z0-9]+)$/i.exec(path)?.[1]?.toLowerCase() ?? '';
  return kinds[ending] ?? (encoding === 'utf8' ? 'text/plain' : 'application/octet-stream');
}
