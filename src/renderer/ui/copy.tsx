/** Things a person copies: shortened ids, and commands to run in a terminal. */
import { Check, Copy } from 'lucide-react';
import { Fragment, type ReactNode, useState } from 'react';

function useCopied(text: string): [boolean, () => void] {
  const [copied, setCopied] = useState(false);
  const copy = () => {
    void navigator.clipboard.writeText(text).then(() => {
      setCopied(true);
      setTimeout(() => setCopied(false), 1500);
    });
  };
  return [copied, copy];
}

/** `delivery_01K9…8Q2F`. */
export function shortId(id: string): string {
  return id.length > 18 ? `${id.slice(0, id.indexOf('_') + 5)}…${id.slice(-4)}` : id;
}

/** The whole id on hover and in the clipboard. */
export function ShortId({ id }: { id: string }) {
  const [copied, copy] = useCopied(id);
  return (
    <button
      type="button"
      onClick={copy}
      title={`${id} (click to copy)`}
      className="inline-flex items-center rounded-control font-mono text-meta pointer-coarse:min-h-6"
    >
      {copied ? 'Copied' : shortId(id)}
    </button>
  );
}

/** A line may end behind a slash, so that an address is not broken within a word. */
function breakable(text: string): ReactNode {
  return text.split(/(?<=[/?])/).map((part, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: parts of one text that never change places
    <Fragment key={index}>
      {index > 0 && <wbr />}
      {part}
    </Fragment>
  ));
}

export function Command({ text }: { text: string }) {
  const [copied, copy] = useCopied(text);
  return (
    <button
      type="button"
      onClick={copy}
      title="Copy"
      className="group inline-flex max-w-full items-center gap-2 rounded-control border border-line bg-window px-2 py-0.5 text-left font-mono text-code hover:border-line-strong pointer-coarse:py-2"
    >
      <span className="min-w-0 wrap-anywhere">{breakable(text)}</span>
      {copied ? (
        <Check className="size-3 shrink-0 text-muted" aria-hidden="true" />
      ) : (
        <Copy className="size-3 shrink-0 text-faint group-hover:text-muted" aria-hidden="true" />
      )}
      <span className="sr-only">{copied ? 'Copied' : 'Copy'}</span>
    </button>
  );
}
