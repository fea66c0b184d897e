/** What a new hosted computer may ask for besides its kind: only what can be held here, each with its bounds. */
import { useQuery } from '@tanstack/react-query';
import {
  type ComputerPool,
  leastLifetimeSeconds,
  leastMemoryMib,
  leastProcesses,
  maxLifetimeSeconds,
} from '../../../contracts/hosted-computers/computer.ts';
import { TextField } from '../../ui/text-field.tsx';
import { anyImage } from './image-words.ts';
import { useHandsServices } from './use-hands-services.ts';

const numbers = ['memory_mib', 'processes', 'lifetime_seconds'] as const;
type NumberField = (typeof numbers)[number];
/** As it is typed; empty: not asked for. */
type LimitsDraft = Readonly<Record<NumberField | 'image', string>>;
export const noLimits: LimitsDraft = { image: '', memory_mib: '', processes: '', lifetime_seconds: '' };

interface Bounds {
  readonly least: number;
  readonly most: number;
}

const labels: Readonly<Record<NumberField, string>> = {
  memory_mib: 'Memory (MiB)',
  processes: 'Processes',
  lifetime_seconds: 'Lifetime (seconds)',
};
const hints: Readonly<Record<NumberField, string>> = {
  memory_mib: 'Empty: the most.',
  processes: 'Threads count too. Empty: the most.',
  lifetime_seconds: 'It ends this long after each start.',
};

/** Null: it cannot be held here, or what can be is not known yet. */
function boundsOf(pool: ComputerPool | undefined): Readonly<Record<NumberField, Bounds | null>> {
  const able = pool?.hosts.filter(({ refused }) => refused === null) ?? [];
  const upTo = (limit: 'memory_mib' | 'processes', least: number) => {
    const all = able.flatMap((host) => host[limit] ?? []);
    return all.length === 0 ? null : { least, most: Math.max(...all) };
  };
  return {
    memory_mib: upTo('memory_mib', leastMemoryMib),
    processes: upTo('processes', leastProcesses),
    lifetime_seconds:
      able.length === 0 ? null : { least: leastLifetimeSeconds, most: pool?.lifetime_seconds ?? maxLifetimeSeconds },
  };
}

function problemOf(typed: string, { least, most }: Bounds): string | undefined {
  if (typed.trim() === '') return undefined;
  const value = /^\d{1,9}$/.test(typed.trim()) ? Number(typed) : -1;
  if (value >= least && value <= most) return undefined;
  return `Enter a whole number from ${least.toLocaleString()} to ${most.toLocaleString()}.`;
}

/** What of it goes into the call; null: something typed is out of its bounds. */
export function useLimits(draft: LimitsDraft) {
  const { queries } = useHandsServices();
  const pool = useQuery(queries.hostedPool).data;
  const bounds = boundsOf(pool);
  const asked: { image?: string } & Partial<Record<NumberField, number>> = {};
  let ready = true;
  const images = pool === undefined || pool.refused !== null ? [] : pool.images;
  if (images?.length !== 0 && draft.image.trim() !== '') asked.image = draft.image.trim();
  for (const field of numbers) {
    const within = bounds[field];
    if (within === null || draft[field].trim() === '') continue;
    if (problemOf(draft[field], within) === undefined) asked[field] = Number(draft[field]);
    else ready = false;
  }
  return { images, driver: pool?.driver ?? '', bounds, asked, ready };
}

function imageWords(images: ComputerPool['images'], driver: string): string {
  if (images === null) return `One ${anyImage(driver)}.`;
  // More would push the fields below out of sight; the page of where computers are made lists all.
  const shown = images.slice(0, 3).join(' or ');
  return `Begins with ${shown}${images.length > 3 ? ', or another that is allowed' : ''}.`;
}

export function CreateLimits({
  draft,
  limits: { images, driver, bounds },
  onChange,
}: {
  draft: LimitsDraft;
  limits: ReturnType<typeof useLimits>;
  onChange: (draft: LimitsDraft) => void;
}) {
  const hasImages = images?.length !== 0;
  if (!hasImages && numbers.every((field) => bounds[field] === null)) return null;
  return (
    <details>
      <summary className="w-fit rounded-control font-medium pointer-coarse:py-2">
        More{' '}
        <span className="font-normal text-meta text-muted">
          {hasImages ? 'image, limits, lifetime' : 'limits, lifetime'}
        </span>
      </summary>
      <div className="mt-2 flex flex-col gap-3 border-l border-line-strong pl-3">
        {hasImages && (
          <TextField
            label="Image"
            description={`${imageWords(images, driver)} Empty: the usual one.`}
            value={draft.image}
            onChange={(image) => onChange({ ...draft, image })}
            spellCheck={false}
            autoCapitalize="none"
            className="font-mono text-code"
          />
        )}
        {numbers.map((field) => {
          const within = bounds[field];
          if (within === null) return null;
          return (
            <TextField
              key={field}
              label={labels[field]}
              description={`${within.least.toLocaleString()} to ${within.most.toLocaleString()}. ${hints[field]}`}
              problem={problemOf(draft[field], within)}
              value={draft[field]}
              onChange={(typed) => onChange({ ...draft, [field]: typed })}
              inputMode="numeric"
              className="max-w-32"
            />
          );
        })}
      </div>
    </details>
  );
}
