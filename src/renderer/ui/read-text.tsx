/** A text of a bot or of a tool: as it came, or set as Markdown where it is that. Loaded with the pages that show one. */
import { useState } from 'react';
import { looksLikeMarkdown } from './looks-like-markdown.ts';
import { Markdown } from './markdown.tsx';
import { TextView } from './text-view.tsx';

/** Characters. Above that, setting it in type would stop the page for long. */
const maxMarkdownLength = 200_000;

export function ReadText({
  text,
  label,
  markdown,
  maxLines = 28,
}: {
  text: string;
  /** Names the region for a screen reader. */
  label: string;
  /** `surely` is set so at first; `rather`, too, where it looks like it. */
  markdown: 'surely' | 'rather' | 'perhaps' | 'no';
  maxLines?: number;
}) {
  const can =
    text.length <= maxMarkdownLength && (markdown === 'surely' || (markdown !== 'no' && looksLikeMarkdown(text)));
  const [wanted, setWanted] = useState<boolean | null>(null);
  const shown = can && (wanted ?? markdown !== 'perhaps');
  return (
    <div className="flex min-w-0 flex-col gap-1">
      {can && (
        <button
          type="button"
          aria-pressed={shown}
          onClick={() => setWanted(!shown)}
          className="h-6 w-fit rounded-control border border-line px-2 text-meta text-muted hover:text-ink aria-pressed:bg-selected aria-pressed:text-ink pointer-coarse:h-10"
        >
          Read as Markdown
        </button>
      )}
      {shown ? (
        <section
          aria-label={label}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
          tabIndex={0}
          className="max-h-[70dvh] min-w-0 overflow-auto rounded-control border border-line bg-panel px-3 py-2"
        >
          <Markdown text={text} />
        </section>
      ) : (
        <TextView text={text} label={label} maxLines={maxLines} wrap />
      )}
    </div>
  );
}
