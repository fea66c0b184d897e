/** A person's actions on a node: open its gate, accept, try again, skip, take over, give up. Each shows its plan first. */
import { useState } from 'react';
import type { NodeCard, NodePlan } from '../../../contracts/factory/node.ts';
import type { FactoryApi } from '../../base/data/api.ts';
import { useServices } from '../../base/services.tsx';
import { Button } from '../../ui/button.tsx';
import { PlanDialog } from '../../ui/plan-dialog.tsx';
import { nodeStatus, Status } from '../../ui/status.tsx';
import { AreaField } from '../../ui/text-field.tsx';
import { causeWords } from './board-groups.ts';

type Verb = 'gate' | 'done' | 'retry' | 'claim' | 'skip' | 'fail';

const verbs: Readonly<
  Record<Verb, { button: string; title: string; about: string; danger?: true; note?: string; needsNote?: true }>
> = {
  gate: {
    button: 'Open the gate',
    title: 'Open the gate of',
    about: 'The step continues once it is open.',
    note: 'Note',
  },
  done: {
    button: 'Accept',
    title: 'Accept',
    about: 'You confirm that the step is done. Later steps start.',
    note: 'Note',
  },
  retry: { button: 'Retry', title: 'Retry', about: 'The step starts over.' },
  claim: { button: 'Take over', title: 'Take over', about: 'You do the step yourself. Accept it when it is done.' },
  skip: { button: 'Skip', title: 'Skip', about: 'The run continues without the step.', note: 'Reason' },
  fail: {
    button: 'Give up',
    title: 'Give up',
    about: 'The step counts as failed.',
    danger: true,
    note: 'Reason',
    needsNote: true,
  },
};

/** The verbs that the node's state allows; the server judges again. The first is the one that is most likely wanted. */
export function verbsFor(card: NodeCard): readonly Verb[] {
  const atGate = card.gate?.state === 'waiting';
  switch (card.status) {
    case 'needs_you':
      if (atGate) return ['gate', 'skip'];
      // Tried again, it would only wait for its budget again.
      if (card.cause === 'over_budget') return ['skip', 'done', 'claim', 'fail'];
      return card.cause === 'proof_to_accept'
        ? ['done', 'retry', 'skip', 'fail']
        : ['retry', 'done', 'claim', 'skip', 'fail'];
    case 'checking':
      return card.cause === 'reviewing' ? ['done', 'fail'] : [];
    case 'ready':
      return ['claim', 'skip', 'fail'];
    case 'new':
      return ['skip'];
    case 'blocked':
      return atGate ? ['gate', 'skip'] : ['skip'];
    case 'failed':
      return ['retry', 'skip'];
    case 'working':
      if (card.assignee === 'owner') return ['done', 'fail'];
      return card.assignee === 'shell' || card.assignee === 'queue' ? [] : ['fail'];
    default:
      return [];
  }
}

export function NodeVerbs({ card }: { card: NodeCard }) {
  const [ask, setAsk] = useState<Verb | null>(null);
  const allowed = verbsFor(card);
  if (allowed.length === 0 && ask === null) return null;
  return (
    <div className="flex flex-wrap gap-1.5 px-3">
      {allowed.map((verb, index) => (
        <Button
          key={verb}
          kind={index === 0 && card.status === 'needs_you' ? 'primary' : index === 0 ? 'plain' : 'quiet'}
          onClick={() => setAsk(verb)}
        >
          {verbs[verb].button}
        </Button>
      ))}
      {ask !== null && <VerbDialog card={card} verb={ask} onClose={() => setAsk(null)} />}
    </div>
  );
}

function VerbDialog({ card, verb, onClose }: { card: NodeCard; verb: Verb; onClose: () => void }) {
  const { api } = useServices();
  const [note, setNote] = useState('');
  const { button, title, about, danger, note: noteLabel, needsNote } = verbs[verb];
  const params = { dagId: card.dagId, nodeId: card.nodeId };
  return (
    <PlanDialog
      title={`${title} “${card.title}”`}
      description={`${about} Nothing has happened yet.`}
      planKey={['node', card.nodeId, verb, card.status]}
      readPlan={async () => planOf(await callVerb(api.factory, verb, params, note.trim() || '…', true))}
      label={() => (needsNote === true && note.trim() === '' ? null : button)}
      danger={danger}
      focusAct={needsNote !== true}
      act={async () => {
        await callVerb(api.factory, verb, params, note.trim(), false);
      }}
      onClose={onClose}
      fields={
        noteLabel !== undefined && (
          <AreaField label={noteLabel} required={needsNote} value={note} rows={2} onChange={setNote} />
        )
      }
      shown={({ plan }) => (
        <p className="flex flex-wrap items-center gap-x-2">
          <Status look={nodeStatus[plan.from]} wire={plan.from} />
          <span aria-hidden="true">→</span>
          <Status look={nodeStatus[plan.to]} wire={plan.to} />
          <span className="text-muted">{causeWords({ cause: plan.cause, detail: null })}</span>
        </p>
      )}
    />
  );
}

function planOf(answer: NodeCard | NodePlan): NodePlan {
  if ('dryRun' in answer) return answer;
  throw new Error('The server acted on a dry run.');
}

function callVerb(
  factory: FactoryApi,
  verb: Verb,
  params: { dagId: string; nodeId: string },
  note: string,
  dryRun: boolean,
): Promise<NodeCard | NodePlan> {
  const dry = dryRun ? { dryRun } : {};
  const noted = note === '' || dryRun ? {} : { note };
  switch (verb) {
    case 'gate':
      return factory.gateNode({ params, body: { ...noted, ...dry } });
    case 'done':
      return factory.doneNode({ params, body: { ...noted, ...dry } });
    case 'retry':
      return factory.retryNode({ params, body: dry });
    case 'claim':
      return factory.claimNode({ params, body: dry });
    case 'skip':
      return factory.skipNode({ params, body: { ...(note === '' || dryRun ? {} : { reason: note }), ...dry } });
    case 'fail':
      return factory.failNode({ params, body: { reason: note, ...dry } });
  }
}
