/** The docs: their pages by chapter, one page as it reads, and a search through all of them. Nothing of it leaves the computer. */
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { type ReactNode, useEffect, useMemo, useRef } from 'react';
import type { Components } from 'react-markdown';
import type { Action } from '../../base/actions.ts';
import { useAddActions } from '../../base/services.tsx';
import { useNarrow } from '../../base/use-narrow.ts';
import { filterAction } from '../../base/way-back.ts';
import { Empty, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Markdown } from '../../ui/markdown.tsx';
import { contents, firstPage, titleOf } from './contents.ts';
import { anchorOf, docLink, docPicture, findIn, type Hit, shownText } from './markdown-parts.ts';
import { addressOfPicture, isPage, readAll, readPage } from './read-docs.ts';

export function DocsPage() {
  const search = useSearch({ from: '/docs' });
  const navigate = useNavigate();
  const narrow = useNarrow();
  const page = useRef<HTMLDivElement>(null);
  const query = search.q ?? '';
  const actions = useMemo<readonly Action[]>(() => [filterAction(page, 'Search the docs')], []);
  useAddActions(actions);
  const open = search.doc ?? (narrow || query !== '' ? null : firstPage);
  const field = (
    <input
      type="search"
      data-filter="true"
      aria-label="Search the docs"
      placeholder="Search"
      value={query}
      onChange={(event) => {
        const q = event.target.value === '' ? undefined : event.target.value;
        void navigate({ to: '/docs', search: (old) => ({ ...old, q, doc: undefined, at: undefined }), replace: true });
      }}
      className="h-7 w-full min-w-0 rounded-control border border-line bg-window px-2 text-ink placeholder:text-muted pointer-coarse:h-10"
    />
  );
  const title = open === null ? 'Docs' : (titleOf(open) ?? 'Docs');
  return (
    <div ref={page} className="flex min-w-0 flex-1">
      {!narrow && (
        <nav aria-label="Pages of the docs" className="flex w-60 shrink-0 flex-col border-r border-line bg-panel">
          <div className="shrink-0 border-b border-line p-2">{field}</div>
          <div className="min-h-0 flex-1 overflow-y-auto">
            <Contents current={open} />
          </div>
        </nav>
      )}
      <main className="flex min-h-0 min-w-0 flex-1 flex-col">
        <header className="flex h-10 shrink-0 items-center gap-3 border-b border-line bg-panel px-4 pointer-coarse:h-12">
          <h1 className="min-w-0 flex-1 truncate text-title font-semibold">{title}</h1>
          {open !== null && (narrow || query !== '') && (
            <Link
              to="/docs"
              search={(old) => ({ ...old, doc: undefined, at: undefined })}
              className="inline-flex shrink-0 items-center text-accent underline pointer-coarse:min-h-10"
            >
              {query === '' ? 'All pages' : 'Results'}
            </Link>
          )}
        </header>
        {narrow && open === null && <div className="shrink-0 border-b border-line p-2">{field}</div>}
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a text that scrolls must be reachable by keyboard */}
        <section aria-label={title} tabIndex={0} className="min-h-0 flex-1 overflow-y-auto" data-scroll="true">
          {open !== null ? (
            <Text page={open} at={search.at} />
          ) : query !== '' ? (
            <Results query={query} />
          ) : (
            <Contents current={null} />
          )}
        </section>
      </main>
    </div>
  );
}

function Contents({ current }: { current: string | null }) {
  return contents.map(({ title, pages }) => (
    <section key={title} aria-label={title} className="py-2">
      <h2 className="px-3 py-1 text-meta font-medium text-muted">{title}</h2>
      <ul>
        {pages
          .filter(([page]) => isPage(page))
          .map(([page, name]) => (
            <li key={page}>
              <Link
                to="/docs"
                search={{ doc: page }}
                aria-current={page === current ? 'page' : undefined}
                className={`flex min-h-7 items-center px-3 hover:bg-raised pointer-coarse:min-h-11 ${page === current ? 'bg-selected font-medium' : ''}`}
              >
                {name}
              </Link>
            </li>
          ))}
      </ul>
    </section>
  ));
}

function Text({ page, at }: { page: string; at: string | undefined }) {
  const text = useQuery({
    queryKey: ['docs', page],
    queryFn: () => readPage(page),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const components = useMemo(() => partsOf(page), [page]);
  return (
    <ListStates
      source={text}
      skeleton={<SkeletonRows count={12} />}
      isEmpty={(markdown) => markdown === null}
      empty={<Empty>There is no page “{page}” in the docs of this version.</Empty>}
    >
      {(markdown) => (
        <article className="max-w-[84ch] px-4 py-3 leading-relaxed">
          <Markdown text={shownText(markdown ?? '')} own={components} />
          <Landing at={at} page={page} />
        </article>
      )}
    </ListStates>
  );
}

/** Scrolls to the heading that a link names, once the text, which is drawn a moment later, has it. */
function Landing({ at, page }: { at: string | undefined; page: string }) {
  const mark = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    const article = mark.current?.closest('article');
    const scroller = article?.closest('[data-scroll]');
    if (!article || !scroller) return;
    scroller.scrollTop = 0;
    if (at === undefined) return;
    const land = (): boolean => {
      const heading = article.querySelector(`#${CSS.escape(idOf(page, at))}`);
      heading?.scrollIntoView();
      return heading !== null;
    };
    if (land()) return;
    const drawn = new MutationObserver(() => {
      if (land()) drawn.disconnect();
    });
    drawn.observe(article, { childList: true, subtree: true });
    return () => drawn.disconnect();
  }, [at, page]);
  return <span ref={mark} />;
}

const idOf = (page: string, anchor: string) => `docs-${page}-${anchor}`;

function Results({ query }: { query: string }) {
  const all = useQuery({ queryKey: ['docs'], queryFn: readAll, staleTime: Number.POSITIVE_INFINITY });
  return (
    <ListStates
      source={all}
      skeleton={<SkeletonRows count={8} />}
      isEmpty={(pages) => findIn(pages, query, 1).length === 0}
      empty={<Empty>No page of the docs has all the words of “{query}”.</Empty>}
    >
      {(pages) => (
        <ul>
          {findIn(pages, query).map((hit) => (
            <Result key={`${hit.page} ${hit.at} ${hit.excerpt}`} hit={hit} />
          ))}
        </ul>
      )}
    </ListStates>
  );
}

function Result({ hit }: { hit: Hit }) {
  return (
    <li className="border-b border-line">
      <Link
        to="/docs"
        search={(old) => ({ ...old, doc: hit.page, at: hit.at })}
        className="block max-w-[84ch] px-4 py-2 hover:bg-raised"
      >
        <span className="font-medium">{hit.heading}</span> <span className="text-muted">{titleOf(hit.page)}</span>
        <span className="block break-words text-muted">{hit.excerpt}</span>
      </Link>
    </li>
  );
}

/** CSS pixels of the pictures: each is of a window, wide or as narrow as a phone's. */
const wide = { width: 1440, height: 900 };
const narrow = { width: 390, height: 844 };

/**
 * Links between pages stay in the app, headings can be linked to, what leads to files of the repository is only named, and pictures are those that the
 * docs ship.
 */
function partsOf(page: string): Components {
  const heading = (Tag: 'h2' | 'h3' | 'h4', look: string) =>
    function Heading({ children }: { children?: ReactNode }) {
      return (
        <Tag id={idOf(page, anchorOf(textOf(children)))} className={look}>
          {children}
        </Tag>
      );
    };
  return {
    h2: heading('h2', 'mt-6 mb-1 text-title font-semibold first:mt-0'),
    h3: heading('h3', 'mt-4 mb-1 font-semibold first:mt-0'),
    h4: heading('h4', 'mt-3 mb-1 font-medium first:mt-0'),
    img: ({ src, alt = '' }) => {
      const path = typeof src === 'string' ? docPicture(src, page) : null;
      const address = path === null ? null : addressOfPicture(path);
      if (path === null || address === null) return <span className="text-muted">{alt}</span>;
      // Its size is known before it is there, so that nothing below it moves.
      const size = path.endsWith('-390.png') ? narrow : wide;
      return (
        <a href={address} target="_blank" rel="noreferrer noopener" title="Open at full size" className="my-2 block">
          <img
            src={address}
            alt={alt}
            {...size}
            loading="lazy"
            className="h-auto max-w-full rounded-control border border-line"
          />
        </a>
      );
    },
    a: ({ href = '', children }) => {
      const link = docLink(href, page, isPage);
      if (link !== null) {
        return (
          <Link
            to="/docs"
            search={(old) => ({ ...old, doc: link.page, at: link.at })}
            className="break-words text-accent underline"
          >
            {children}
          </Link>
        );
      }
      if (!/^https?:/.test(href)) return <span title={href}>{children}</span>;
      return (
        <a href={href} target="_blank" rel="noreferrer noopener" className="break-words text-accent underline">
          {children}
        </a>
      );
    },
  };
}

function textOf(node: ReactNode): string {
  if (typeof node === 'string' || typeof node === 'number') return String(node);
  if (Array.isArray(node)) return node.map(textOf).join('');
  const inner = (node as { props?: { children?: ReactNode } } | null | undefined)?.props?.children;
  return inner === undefined ? '' : textOf(inner);
}
