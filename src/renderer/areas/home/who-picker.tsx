/** Who works on a new run: one bot, or up to four beside each other on the same base. */
import { ChevronDown } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { maxQuickBots } from '../../../contracts/factory/quick-run-routes.ts';
import { Button } from '../../ui/button.tsx';
import { nameOfWho, readWho, type WhoChoice } from '../floor/runs/new-run.ts';

export function WhoPicker({
  options,
  chosen,
  onChange,
}: {
  options: readonly WhoChoice[];
  chosen: readonly string[];
  onChange: (chosen: readonly string[]) => void;
}) {
  const details = useRef<HTMLDetailsElement>(null);
  const [open, setOpen] = useState(false);
  const [model, setModel] = useState('');
  useEffect(() => {
    if (!open) return;
    const close = (event: PointerEvent): void => {
      if (event.target instanceof Node && details.current?.contains(event.target) === false) setOpen(false);
    };
    document.addEventListener('pointerdown', close);
    return () => document.removeEventListener('pointerdown', close);
  }, [open]);
  const full = chosen.length >= maxQuickBots;
  const others = chosen.filter((key) => options.every((one) => one.key !== key));
  const rows = [...options, ...others.map((key): WhoChoice => ({ key, name: nameOfWho(key), not: null }))];
  const canAdd = !full && readWho(model) !== null && !chosen.includes(model.trim());
  const add = () => {
    if (!canAdd) return;
    onChange([...chosen, model.trim()]);
    setModel('');
  };
  const says = chosen.length === 0 ? 'Choose who' : chosen.map(nameOfWho).join(', ');
  return (
    <details
      ref={details}
      open={open}
      onToggle={(event) => setOpen(event.currentTarget.open)}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || !open) return;
        event.stopPropagation();
        setOpen(false);
        details.current?.querySelector('summary')?.focus();
      }}
      className="min-w-0 max-lg:flex-1 max-sm:basis-[45%] sm:relative lg:w-48"
    >
      <summary
        aria-label={`Who: ${says}`}
        title={says}
        className="flex h-8 list-none items-center gap-1.5 rounded-control border border-line bg-window px-2 pointer-coarse:h-10"
      >
        <span className="min-w-0 flex-1 truncate">{says}</span>
        <ChevronDown className="size-3.5 shrink-0 text-muted" aria-hidden="true" />
      </summary>
      <fieldset className="absolute z-20 mt-1 flex max-h-80 w-72 flex-col overflow-y-auto max-sm:inset-x-3 max-sm:w-auto rounded-panel border border-line bg-raised p-2 shadow-float">
        <legend className="sr-only">Who works on it</legend>
        {rows.map(({ key, name, not }) => (
          <label
            key={key}
            className={`flex min-h-7 items-center gap-2 rounded-control px-1.5 pointer-coarse:min-h-10 ${not === null ? 'hover:bg-selected' : 'text-faint'}`}
          >
            <input
              type="checkbox"
              checked={chosen.includes(key)}
              disabled={!chosen.includes(key) && (not !== null || full)}
              onChange={(event) =>
                onChange(event.target.checked ? [...chosen, key] : chosen.filter((one) => one !== key))
              }
              className="size-3.5 shrink-0 accent-accent"
            />
            <span className="min-w-0 flex-1 truncate">{name}</span>
            {not !== null && <span className="shrink-0 text-meta">{not}</span>}
          </label>
        ))}
        <span className="flex gap-1.5 px-1.5 pt-1.5">
          <input
            value={model}
            spellCheck={false}
            autoComplete="off"
            aria-label="Another hosted model"
            placeholder="provider/model"
            disabled={full}
            onChange={(event) => setModel(event.target.value)}
            onKeyDown={(event) => {
              if (event.key !== 'Enter') return;
              event.preventDefault();
              add();
            }}
            className="h-7 min-w-0 flex-1 rounded-control border border-line bg-window px-2 font-mono text-code pointer-coarse:h-10"
          />
          <Button disabled={!canAdd} onClick={add} aria-label="Add this model">
            Add
          </Button>
        </span>
        <p className="px-1.5 pt-1.5 text-meta text-muted">
          {full
            ? `At most ${maxQuickBots} bots work on one run.`
            : 'Choose several to compare: each works in a worktree of its own.'}
        </p>
      </fieldset>
    </details>
  );
}
