/** What programs of bots run in: how little they see and reach. */
import { type SandboxMode, sandboxModes } from '../../contracts/factory/team-file.ts';
import { Choice } from './choice.tsx';

const modes = {
  closed: {
    word: 'Closed',
    says: 'They see only the files they work with, and ask you before they reach a new server.',
  },
  files: { word: 'Files', says: 'They see only the files they work with. The network is yours.' },
  none: { word: 'None', says: 'They read and change whatever you can, and reach every server.' },
} as const satisfies Record<SandboxMode, { word: string; says: string }>;

const automatic = {
  key: 'automatic',
  word: 'As closed as possible',
  says: 'For each program the strictest of these that works on this computer.',
} as const;

const choiceOf = (key: SandboxMode) => ({ key, ...modes[key] });
const strictestFirst = [...sandboxModes].reverse();

type SandboxWish = SandboxMode | 'automatic';

/** Where the server may choose, too. */
export function SandboxWishes({ value, onChange }: { value: SandboxWish; onChange: (wish: SandboxWish) => void }) {
  const choices = [automatic, ...strictestFirst.map(choiceOf)];
  return <Choice<SandboxWish> legend="Sandbox" name="sandbox" choices={choices} value={value} onChange={onChange} />;
}

/** `strictest`: the strictest that can be chosen; `why` none stricter. */
export function SandboxChoice({
  value,
  strictest,
  why,
  onChange,
}: {
  value: SandboxMode;
  strictest: SandboxMode;
  why: string | null;
  onChange: (mode: SandboxMode) => void;
}) {
  const choices = strictestFirst.map((mode) =>
    sandboxModes.indexOf(mode) <= sandboxModes.indexOf(strictest)
      ? choiceOf(mode)
      : { ...choiceOf(mode), not: `Not possible: ${why ?? 'this computer cannot make it'}.` },
  );
  return <Choice legend="Sandbox" name="sandbox" choices={choices} value={value} onChange={onChange} />;
}
