/**
 * What the workspace wants to run without its person's agreement: in words, as a diff, with their answer. Must not decide anything: the answer
 * carries the hash of exactly what was shown.
 */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { visible } from '../../../contracts/approvals/visible.ts';
import type { WaitingFile, WorkspaceTrust } from '../../../contracts/factory/trust-routes.ts';
import { useServices } from '../../base/services.tsx';
import { ActDialog } from '../../ui/act-dialog.tsx';
import { Button } from '../../ui/button.tsx';
import { Check } from '../../ui/choice.tsx';
import { SkeletonRows } from '../../ui/list-states.tsx';
import { Problem } from '../../ui/problem.tsx';
import { TextView } from '../../ui/text-view.tsx';
import { useAct } from '../../ui/use-act.ts';
import { useSeen } from '../../ui/use-seen.ts';

const changes = { new: 'New', changed: 'Changed', removed: 'Removed' } as const;

/** `only`: these files, also where they were refused before; null: all that nobody answered. */
export function TrustDialog({
  only,
  onClose,
  onAgreed,
}: {
  only: readonly string[] | null;
  onClose: () => void;
  /** What waited for the yes can continue. */
  onAgreed?: () => void;
}) {
  const { api, keys, queries } = useServices();
  const client = useQueryClient();
  const { data, error, isFetching } = useQuery(queries.trust);
  // The answer covers what the person read, even if something else begins to wait while the dialog is open.
  const [shown, setShown] = useState<WorkspaceTrust | null>(null);
  if (shown === null && data !== undefined && !isFetching) setShown(data);
  const files = (shown?.files ?? []).filter((file) => (only === null ? !file.refused : only.includes(file.path)));
  const names = [...new Set(files.flatMap((file) => file.loads.map((one) => one.name)))];
  const [allowed, setAllowed] = useState<readonly string[]>([]);
  const answer = async (said: 'yes' | 'no') => {
    const hash = shown?.hash ?? null;
    if (hash === null || files.length === 0) return;
    const named = said === 'yes' && allowed.length > 0 ? { names: [...allowed] } : {};
    try {
      await api.factory.answerTrust({ body: { answer: said, hash, files: files.map((file) => file.path), ...named } });
    } finally {
      await client.invalidateQueries({ queryKey: keys.trust });
    }
    void client.invalidateQueries({ queryKey: keys.teams });
    onClose();
    if (said === 'yes') onAgreed?.();
  };
  const agree = useAct(() => answer('yes'));
  const refuse = useAct(() => answer('no'));
  const { seen, end } = useSeen();
  const missing = names.filter((name) => !allowed.includes(name));
  const wants = [
    ...(seen ? [] : ['scroll to the end of the changes']),
    ...(missing.length === 0 ? [] : [`tick ${missing.join(', ')}`]),
  ].join(' and ');
  return (
    <ActDialog
      title="What may run in this workspace"
      description={shown?.workspace ?? ''}
      label="Agree"
      busyLabel="Agreeing"
      act={{ ...agree, failure: agree.failure ?? refuse.failure }}
      ready={files.length > 0 && wants === ''}
      wants={files.length === 0 || wants === '' ? null : `${wants[0]?.toUpperCase()}${wants.slice(1)} to agree.`}
      other={
        files.length > 0 && (
          <Button kind="quiet" disabled={refuse.busy || agree.busy} onClick={() => refuse.run()}>
            {files.length === 1 ? 'Refuse' : 'Refuse all'}
          </Button>
        )
      }
      onClose={onClose}
    >
      {/* In focus at first: a key that was meant for something else must not tick or agree to anything. */}
      <p data-first="true" tabIndex={-1} className="outline-none">
        {shown !== null && files.length === 0
          ? 'Nothing waits for your yes.'
          : `${files.length === 1 ? 'This file is' : 'These files are'} new or changed since you last agreed. Until you do, ${files.length === 1 ? 'it allows' : 'they allow'} nothing, and changed rules only make Gantry stricter.`}
      </p>
      {shown === null && (error === null ? <SkeletonRows count={3} /> : <Problem error={error} />)}
      {files.map((file) => (
        <FilePart key={file.path} file={file} allowed={allowed} onAllow={setAllowed} />
      ))}
      {files.length > 0 && <div ref={end} aria-hidden="true" className="-mt-3 h-px" />}
    </ActDialog>
  );
}

function FilePart({
  file,
  allowed,
  onAllow,
}: {
  file: WaitingFile;
  allowed: readonly string[];
  onAllow: (names: readonly string[]) => void;
}) {
  return (
    <section aria-label={file.path} className="flex min-w-0 flex-col gap-2 border-t border-line pt-3">
      <h3 className="flex min-w-0 flex-wrap items-baseline gap-2">
        <span className="min-w-0 font-mono text-code break-all">{file.path}</span>
        <span className="text-meta text-muted">{file.refused ? 'Refused' : changes[file.change]}</span>
      </h3>
      <ul className="list-disc pl-5">
        {file.words.map((word) => (
          <li key={word} className="break-words">
            {visible(word)}
          </li>
        ))}
      </ul>
      {file.loads.map(({ bot, name, value }) => (
        <Check
          key={`${bot} ${name}`}
          on={allowed.includes(name)}
          onChange={(on) => onAllow(on ? [...allowed, name] : allowed.filter((one) => one !== name))}
        >
          <span className="min-w-0 break-words">
            Allow {name}: {bot} sets it to {visible(value)}. Every program it starts loads or runs what that names.
          </span>
        </Check>
      ))}
      {file.diff === null ? (
        <p className="text-meta text-muted">The content is not shown: it is too long, or may contain secrets.</p>
      ) : (
        <TextView text={visible(file.diff)} label={`Changes in ${file.path}`} diff whole />
      )}
    </section>
  );
}
