/** Which layout the floor shows: that of all bots, of a team, or one with a name; with the ways to name one and to forget it. */
import { LayoutGrid, Plus, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { ActDialog } from '../../ui/act-dialog.tsx';
import { IconButton } from '../../ui/button.tsx';
import { TextField } from '../../ui/text-field.tsx';
import { useAct } from '../../ui/use-act.ts';
import { type Layouts, maxLayoutNameLength } from './layouts.ts';

export function LayoutMenu({
  layouts,
  teams,
  onChange,
}: {
  layouts: Layouts;
  teams: readonly string[];
  onChange: (layouts: Layouts) => void;
}) {
  const [naming, setNaming] = useState(false);
  const named = layouts.shown.startsWith('name:') ? layouts.shown.slice('name:'.length) : null;
  return (
    <span className="flex shrink-0 items-center gap-1">
      <LayoutGrid className="size-3.5 text-muted" aria-hidden="true" />
      <select
        aria-label="Layout of the panes"
        value={layouts.shown}
        onChange={(event) => onChange(layouts.show(event.target.value))}
        className="h-7 max-w-40 rounded-control border border-line bg-raised px-1.5 text-ink"
      >
        <option value="">All bots</option>
        {teams.length > 0 && (
          <optgroup label="Teams">
            {teams.map((team) => (
              <option key={team} value={`team:${team}`}>
                {team}
              </option>
            ))}
          </optgroup>
        )}
        {layouts.names.length > 0 && (
          <optgroup label="Named">
            {layouts.names.map((name) => (
              <option key={name} value={`name:${name}`}>
                {name}
              </option>
            ))}
          </optgroup>
        )}
      </select>
      <IconButton label="Save this layout under a name" onClick={() => setNaming(true)}>
        <Plus aria-hidden="true" />
      </IconButton>
      {named !== null && (
        <IconButton label={`Delete the layout ${named}`} onClick={() => onChange(layouts.remove(named))}>
          <Trash2 aria-hidden="true" />
        </IconButton>
      )}
      {naming && <NameDialog layouts={layouts} onChange={onChange} onClose={() => setNaming(false)} />}
    </span>
  );
}

function NameDialog({
  layouts,
  onChange,
  onClose,
}: {
  layouts: Layouts;
  onChange: (layouts: Layouts) => void;
  onClose: () => void;
}) {
  const [name, setName] = useState('');
  const given = name.trim();
  const saving = useAct(async () => {
    onChange(layouts.saveAs(given));
    onClose();
  });
  return (
    <ActDialog
      title="Save the layout"
      description="The panes as they are now, under a name. This browser keeps it."
      label={layouts.names.includes(given) ? 'Replace' : 'Save'}
      act={saving}
      ready={given !== ''}
      onClose={onClose}
    >
      <TextField label="Name" value={name} onChange={setName} maxLength={maxLayoutNameLength} required />
    </ActDialog>
  );
}
