/** A node's proofs, shown in place: pictures, logs, diffs and texts; anything else can be opened. */
import { useQuery } from '@tanstack/react-query';
import { BadgeCheck, CircleDashed, CircleX, ExternalLink } from 'lucide-react';
import type { NodePage } from '../../../contracts/factory/node.ts';
import { onComputer } from '../../base/data/api.ts';
import { useServices } from '../../base/services.tsx';
import { Empty } from '../../ui/list-states.tsx';
import { Ago } from '../../ui/now.tsx';
import { Problem } from '../../ui/problem.tsx';
import { looksLikeDiff } from '../../ui/text-lines.ts';
import { TextView } from '../../ui/text-view.tsx';
import { proofKind, proofUrl, readProofText } from './proof-files.ts';

type File = NodePage['files'][number];
type Proof = NodePage['proofs'][number];

/** The lines to prove, as the server lists them (`- [x] line`), in its order. */
export function proofLines(proofMd: string): { line: string; proven: boolean; note: string | null }[] {
  return proofMd.split('\n').flatMap((row) => {
    const [, mark, line, note] = /^- \[(x| )\] (.*?)(?: \((missing|optional)\))?$/.exec(row) ?? [];
    return line === undefined ? [] : [{ line, proven: mark === 'x', note: note ?? null }];
  });
}

export function Proofs({ page, roomy }: { page: NodePage; roomy: boolean }) {
  const lines = proofLines(page.proofMd);
  const newest = page.proofs.toReversed();
  const others = newest.filter((proof) => !lines.some((one) => one.line === proof.line));
  if (lines.length === 0 && newest.length === 0) {
    return <Empty>This step needs no proof, and none was uploaded.</Empty>;
  }
  const rows = [
    ...lines.map((one) => ({ ...one, proofs: newest.filter((proof) => proof.line === one.line) })),
    ...others.map((proof) => ({
      line: proof.line,
      proven: proof.outcome === 'proven',
      note: null,
      proofs: [proof],
    })),
  ];
  return (
    <ul className="flex flex-col gap-3 px-3">
      {rows.map((row) => (
        <li key={`${row.line} ${row.proofs[0]?.receiptId ?? ''}`} data-proof={row.line} className="min-w-0">
          <p className="flex items-start gap-1.5">
            <Mark proven={row.proven} rejected={row.proofs[0]?.outcome === 'rejected'} />
            <span className="min-w-0 flex-1 break-words">
              {row.line}
              {row.note !== null && <span className="text-muted"> ({row.note})</span>}
            </span>
            {row.proofs[0] !== undefined && (
              <span className="shrink-0 text-meta text-faint">
                <Ago at={row.proofs[0].at} />
              </span>
            )}
          </p>
          {row.proofs.map((proof, index) => (
            <ProofBody key={proof.receiptId} proof={proof} page={page} latest={index === 0} roomy={roomy} />
          ))}
        </li>
      ))}
    </ul>
  );
}

function Mark({ proven, rejected }: { proven: boolean; rejected: boolean }) {
  const [Icon, tone, word] = rejected
    ? [CircleX, 'text-fail', 'rejected']
    : proven
      ? [BadgeCheck, 'text-proven', 'proven']
      : [CircleDashed, 'text-muted', 'not proven yet'];
  return (
    <span className={`mt-[3px] ${tone}`} title={word}>
      <Icon className="size-3.5" aria-hidden="true" />
      <span className="sr-only">{word}: </span>
    </span>
  );
}

/** The newest file of a line is open; those of earlier attempts open on request. */
function ProofBody({ proof, page, latest, roomy }: { proof: Proof; page: NodePage; latest: boolean; roomy: boolean }) {
  const { computer } = useServices();
  const file = page.files.find((one) => one.receiptId === proof.receiptId);
  if (file === undefined) return null;
  const { dagId, nodeId } = page.card;
  const url = onComputer(proofUrl(dagId, nodeId, file.receiptId), computer);
  const body = <ProofFile file={file} url={url} roomy={roomy} />;
  if (latest) return <div className="mt-1.5 pl-5">{body}</div>;
  return (
    <details className="mt-1 pl-5">
      <summary className="rounded-control text-meta text-muted">
        Earlier: {file.name}, <Ago at={proof.at} />
      </summary>
      <div className="mt-1.5">{body}</div>
    </details>
  );
}

function ProofFile({ file, url, roomy }: { file: File; url: string; roomy: boolean }) {
  const kind = proofKind(file);
  return (
    <figure className="flex min-w-0 flex-col gap-1" data-file={file.name} data-kind={kind}>
      {kind === 'image' ? (
        <a href={url} target="_blank" rel="noreferrer" className="block w-fit max-w-full rounded-control">
          <img
            src={url}
            alt={file.name}
            loading="lazy"
            className="max-h-80 max-w-full rounded-control border border-line bg-terminal"
          />
        </a>
      ) : kind === 'other' ? null : (
        <ProofText file={file} url={url} roomy={roomy} />
      )}
      <figcaption className="flex items-center gap-2 text-meta text-muted">
        <span className="min-w-0 truncate font-mono" title={`${file.path}\nsha256 ${file.sha256}`}>
          {file.name}
        </span>
        <span className="shrink-0 tabular-nums">{formatSize(file.size)}</span>
        <a
          href={url}
          target="_blank"
          rel="noreferrer"
          aria-label={`Open ${file.name} in a new tab`}
          className="ml-auto inline-flex shrink-0 items-center gap-1 rounded-control hover:text-ink"
        >
          <ExternalLink className="size-3" aria-hidden="true" />
          Open
        </a>
      </figcaption>
    </figure>
  );
}

function ProofText({ file, url, roomy }: { file: File; url: string; roomy: boolean }) {
  // What a receipt names never changes: it is kept by its hash.
  const text = useQuery({ queryKey: ['proof', url], queryFn: ({ signal }) => readProofText(url, signal) });
  if (text.error !== null) return <Problem error={text.error} />;
  if (text.data === undefined) return <div className="h-20 rounded-control border border-line bg-terminal" />;
  return (
    <>
      <TextView
        text={text.data.text}
        label={file.name}
        diff={looksLikeDiff(text.data.text, file.name, file.mime)}
        maxLines={roomy ? 30 : 14}
      />
      {text.data.cut && <p className="text-meta text-muted">The file is cut off here. Open it to see the rest.</p>}
    </>
  );
}

/** `812 B`, `12 kB`, `3.4 MB`. */
function formatSize(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${Math.round(bytes / 1000)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}
