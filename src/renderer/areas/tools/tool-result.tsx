/** A tool's answer: its texts, pictures and files formatted for reading, and all of it as JSON. Nothing in it is fetched or run. */
import { CircleX, Download } from 'lucide-react';
import { type ReactNode, useMemo, useState } from 'react';
import type { ContentBlock, ToolInfo, ToolResult } from '../../../contracts/tool-server/tools.ts';
import { ReadText } from '../../ui/read-text.tsx';
import { TextView } from '../../ui/text-view.tsx';
import { type Way, Ways } from '../../ui/ways.tsx';
import { prettyJson, resultAsJson } from './result-words.ts';
import { sizeOfBase64, sizeWords } from './tool-words.ts';

/** Only formats that a browser shows as a picture: an SVG may be a page. */
const pictures = /^image\/(png|jpeg|gif|webp|avif|bmp|svg\+xml)$/;

type View = 'content' | 'structured' | 'json';

export function ToolResultView({ tool, result }: { tool: ToolInfo; result: ToolResult }) {
  const [view, setView] = useState<View>('content');
  const structured = result.structuredContent !== undefined;
  const several = result.content.length > 1;
  const views: readonly Way<View>[] = [
    { key: 'content', word: 'Content' },
    ...(structured ? [{ key: 'structured', word: 'Structured' } as const] : []),
    { key: 'json', word: 'JSON' },
  ];
  const shown = views.find(({ key }) => key === view)?.key ?? 'content';
  return (
    <div className="flex min-w-0 flex-col gap-2" data-result={result.isError ? 'error' : 'ok'}>
      <div className="flex flex-wrap items-center gap-2">
        {result.isError && (
          <p className="inline-flex items-center gap-1.5 text-fail" title="isError">
            <CircleX className="size-3.5 shrink-0" aria-hidden="true" />
            Failed
          </p>
        )}
        <Ways label="Shown as" ways={views} value={shown} onChange={setView} />
      </div>
      {shown === 'json' ? (
        <AsJson value={result} label="Result as JSON" />
      ) : shown === 'structured' ? (
        <AsJson value={result.structuredContent} label="Structured result" />
      ) : result.content.length === 0 ? (
        <p className="text-muted">{structured ? 'Structured content only.' : 'Empty result.'}</p>
      ) : (
        result.content.map((block, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: blocks without identity that never change places
          <Block key={index} block={block} tool={tool} label={several ? `Part ${index + 1}` : 'Text'} />
        ))
      )}
    </div>
  );
}

function AsJson({ value, label }: { value: unknown; label: string }) {
  const text = useMemo(() => resultAsJson(value), [value]);
  return <TextView text={text} label={label} maxLines={28} />;
}

const textIn = (value: unknown): string => (typeof value === 'string' ? value : '');

function Block({ block, tool, label }: { block: ContentBlock; tool: ToolInfo; label: string }): ReactNode {
  const type = textIn(block.mimeType) || 'application/octet-stream';
  switch (block.type) {
    case 'text':
      return (
        <Text
          label={label}
          text={textIn(block.text)}
          markdown={tool.name.startsWith('document.') ? 'surely' : 'perhaps'}
        />
      );
    case 'image':
    case 'audio':
      return <Data data={textIn(block.data)} type={type} name={tool.name} />;
    case 'resource_link':
      return <LinkTo uri={textIn(block.uri)} name={textIn(block.title) || textIn(block.name)} />;
    case 'resource':
      return <Resource resource={block.resource} label={label} />;
    default:
      return <AsJson value={block} label={`${label} (${block.type})`} />;
  }
}

function Resource({ resource, label }: { resource: unknown; label: string }) {
  const { uri, mimeType, text, blob } = (resource ?? {}) as Readonly<Record<string, unknown>>;
  const type = textIn(mimeType);
  return (
    <div className="flex min-w-0 flex-col gap-1">
      <p className="font-mono text-meta wrap-anywhere text-muted">
        {textIn(uri)} {type !== '' && `(${type})`}
      </p>
      {typeof text === 'string' ? (
        <Text label={label} text={text} markdown={type === 'text/markdown' ? 'surely' : 'no'} />
      ) : (
        <Data
          data={textIn(blob)}
          type={type || 'application/octet-stream'}
          name={textIn(uri).split('/').at(-1) || 'file'}
        />
      )}
    </div>
  );
}

function Text({ text, label, markdown }: { text: string; label: string; markdown: 'surely' | 'perhaps' | 'no' }) {
  const json = useMemo(() => prettyJson(text), [text]);
  return <ReadText text={json ?? text} label={label} markdown={json === null ? markdown : 'no'} />;
}

function Data({ data, type, name }: { data: string; type: string; name: string }) {
  const size = sizeWords(sizeOfBase64(data));
  return (
    <figure className="flex min-w-0 flex-col items-start gap-1">
      {pictures.test(type) && (
        <img
          src={`data:${type};base64,${data}`}
          alt={`Result of ${name}`}
          className="max-h-[50dvh] max-w-full rounded-control border border-line object-contain"
        />
      )}
      <figcaption className="flex flex-wrap items-center gap-2 text-meta text-muted">
        {type}, {size}
        <button
          type="button"
          onClick={() => save(data, type, name)}
          className="inline-flex h-6 items-center gap-1 rounded-control px-1.5 hover:bg-raised hover:text-ink pointer-coarse:h-10"
        >
          <Download className="size-3" aria-hidden="true" />
          Save
        </button>
      </figcaption>
    </figure>
  );
}

function save(data: string, type: string, name: string): void {
  let bytes: Uint8Array<ArrayBuffer>;
  try {
    bytes = Uint8Array.from(atob(data), (one) => one.charCodeAt(0));
  } catch {
    // Not base64: what came is all there is to keep.
    bytes = new TextEncoder().encode(data);
  }
  const url = URL.createObjectURL(new Blob([bytes], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** A link only where it leads to the web: everything else is an address for programs. */
function LinkTo({ uri, name }: { uri: string; name: string }) {
  const web = URL.canParse(uri) && /^https?:$/.test(new URL(uri).protocol);
  return (
    <p className="min-w-0 wrap-anywhere">
      {name !== '' && <span className="font-medium">{name} </span>}
      {web ? (
        <a href={uri} target="_blank" rel="noopener noreferrer" className="rounded-control text-accent underline">
          {uri}
        </a>
      ) : (
        <code className="font-mono text-code">{uri}</code>
      )}
    </p>
  );
}
