/** Where a new run begins: its form at the top of Home, its key, and links to `/?new=1&prompt=…&repo=…&who=…`. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { lazy, Suspense, useEffect, useMemo, useState } from 'react';
import type { Action } from '../../base/actions.ts';
import { useAddActions } from '../../base/services.tsx';
import { later } from '../../ui/later.ts';
import type { NewRunAsk } from './new-run-form.tsx';

const NewRunForm = lazy(later(() => import('./new-run-form.tsx').then((module) => ({ default: module.NewRunForm }))));

export function NewRunPlace({ onDemo }: { onDemo: () => void }) {
  const { new: begin, prompt, repo, who } = useSearch({ from: '/' });
  const navigate = useNavigate();
  const [ask, setAsk] = useState<NewRunAsk>({ count: 0 });
  const asked = [begin, prompt, repo, who].some((one) => one !== undefined);
  useEffect(() => {
    if (!asked) return;
    setAsk(({ count }) => ({ count: count + 1, prompt, repo, who }));
    // Going back, or loading the page again, does not write over what was typed since.
    void navigate({ to: '/', search: {}, replace: true });
  }, [asked, prompt, repo, who, navigate]);
  const actions = useMemo<readonly Action[]>(
    () => [
      {
        id: 'write-new-run',
        title: 'Write a new run',
        group: 'Work',
        keys: 'n',
        changes: false,
        run: () => setAsk(({ count }) => ({ count: count + 1 })),
      },
    ],
    [],
  );
  useAddActions(actions);
  return (
    <Suspense fallback={<div className="h-[58px] rounded-panel border border-line bg-panel" />}>
      <NewRunForm ask={ask} onDemo={onDemo} />
    </Suspense>
  );
}
