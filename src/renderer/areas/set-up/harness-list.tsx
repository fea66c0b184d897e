/** Which agent programs this computer has, and the command that installs or signs in each. */
import { useQuery } from '@tanstack/react-query';
import { CircleAlert, CircleCheck, CircleDashed } from 'lucide-react';
import type { z } from 'zod';
import { isCommand } from '../../../contracts/factory/fix.ts';
import type { doctor } from '../../../contracts/factory/routes.ts';
import { useServices } from '../../base/services.tsx';
import { Command } from '../../ui/copy.tsx';
import { Empty, ListStates, SkeletonRows } from '../../ui/list-states.tsx';

type Check = z.output<(typeof doctor)['answers'][200]>['checks'][number];

const looks = {
  ok: { word: 'Ready', icon: CircleCheck, tone: 'text-muted' },
  warn: { word: 'Not ready', icon: CircleAlert, tone: 'text-ink' },
  missing: { word: 'Not installed', icon: CircleDashed, tone: 'text-faint' },
  unknown: { word: 'Unknown', icon: CircleDashed, tone: 'text-faint' },
} as const;

/** `brief`: the state without the commands that change it, which belong to the set-up. */
export function CheckRow({ check, brief = false }: { check: Check; brief?: boolean }) {
  const look = looks[check.state];
  return (
    <li className="flex flex-col items-start gap-1 border-b border-line px-3 py-2 last:border-b-0">
      <span className="flex w-full items-center gap-2">
        <span className="font-medium">{check.name}</span>
        {check.version !== null && <span className="truncate font-mono text-meta text-muted">{check.version}</span>}
        <span className={`ml-auto inline-flex shrink-0 items-center gap-1.5 text-meta ${look.tone}`}>
          <look.icon className="size-3.5" aria-hidden="true" />
          {look.word}
        </span>
      </span>
      {!brief && check.state !== 'ok' && <span className="break-words text-meta text-muted">{check.detail}</span>}
      {!brief &&
        check.fix !== null &&
        (isCommand(check.fix) ? <Command text={check.fix} /> : <Step text={check.fix} />)}
    </li>
  );
}

function Step({ text }: { text: string }) {
  return <span className="break-words text-meta">{/[.!?]$/.test(text) ? text : `${text}.`}</span>;
}

export function HarnessList({ brief = false }: { brief?: boolean }) {
  const { queries } = useServices();
  const doctorQuery = useQuery(queries.doctor);
  return (
    <ListStates
      source={doctorQuery}
      skeleton={<SkeletonRows count={4} height={40} />}
      isEmpty={(data) => !data.checks.some((check) => check.group === 'harness')}
      empty={<Empty>No agent programs are known.</Empty>}
    >
      {(data) => (
        <ul>
          {data.checks
            .filter((check) => check.group === 'harness')
            .map((check) => (
              <CheckRow key={check.name} check={check} brief={brief} />
            ))}
        </ul>
      )}
    </ListStates>
  );
}
