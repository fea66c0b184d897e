/**
 * Markdown of templates and bots, as elements. Raw HTML in it stays text, pictures are left out, and links open outside: its author
 * may not be trustworthy. Loaded with the first text that needs it.
 */
import { lazy, Suspense, useMemo } from 'react';
import type { Components } from 'react-markdown';
import { later } from './later.ts';

/** With tables, task lists and footnotes as GitHub writes them: what documents become. */
const WithTables = lazy(
  later(async () => {
    const [{ default: ReactMarkdown }, { default: gfm }] = await Promise.all([
      import('react-markdown'),
      import('remark-gfm'),
    ]);
    const plugins = [gfm];
    return {
      default: ({ children, own, not }: { children: string; own: Components; not: string[] }) => (
        <ReactMarkdown components={own} disallowedElements={not} remarkPlugins={plugins}>
          {children}
        </ReactMarkdown>
      ),
    };
  }),
);

const components: Components = {
  // The page has a first and a second heading above; those of a text stand below them.
  h1: ({ children }) => <h3 className="mt-4 mb-1 font-semibold break-words first:mt-0">{children}</h3>,
  h2: ({ children }) => <h3 className="mt-4 mb-1 font-semibold break-words first:mt-0">{children}</h3>,
  h3: ({ children }) => <h4 className="mt-2 mb-1 font-medium break-words first:mt-0">{children}</h4>,
  h4: ({ children }) => <h4 className="mt-2 mb-1 font-medium break-words first:mt-0">{children}</h4>,
  p: ({ children }) => <p className="my-1.5 break-words first:mt-0 last:mb-0">{children}</p>,
  ul: ({ children }) => <ul className="my-1.5 list-disc pl-5 break-words">{children}</ul>,
  ol: ({ children }) => <ol className="my-1.5 list-decimal pl-5 break-words">{children}</ol>,
  a: ({ href, children }) => (
    <a href={href} target="_blank" rel="noreferrer noopener" className="break-all text-accent underline">
      {children}
    </a>
  ),
  pre: ({ children }) => (
    <pre className="my-1.5 rounded-control border border-line bg-terminal px-2 py-1.5 font-mono text-code break-words whitespace-pre-wrap">
      {children}
    </pre>
  ),
  code: ({ children }) => <code className="font-mono text-code break-words">{children}</code>,
  blockquote: ({ children }) => (
    <blockquote className="my-1.5 border-l-2 border-line-strong pl-3 text-muted">{children}</blockquote>
  ),
  table: ({ children }) => (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a table that scrolls must be reachable by keyboard
    <div tabIndex={0} className="my-1.5 max-w-full overflow-x-auto">
      <table className="border-collapse">{children}</table>
    </div>
  ),
  th: ({ children }) => <th className="border border-line bg-raised px-2 py-0.5 text-left font-medium">{children}</th>,
  td: ({ children }) => <td className="border border-line px-2 py-0.5 align-top">{children}</td>,
  // A box of a task list is read, not ticked.
  input: ({ checked }) => <span>{checked === true ? '☑' : '☐'}</span>,
};
const disallowed = ['img', 'hr'];

/** `own`: elements that are drawn in another way than those of a text whose author nobody knows, pictures among them. */
export function Markdown({ text, own }: { text: string; own?: Components }) {
  const all = useMemo(() => (own === undefined ? components : { ...components, ...own }), [own]);
  const not = useMemo(() => disallowed.filter((name) => own === undefined || !(name in own)), [own]);
  return (
    <Suspense fallback={<p className="break-words whitespace-pre-wrap">{text}</p>}>
      <WithTables own={all} not={not}>
        {text}
      </WithTables>
    </Suspense>
  );
}
