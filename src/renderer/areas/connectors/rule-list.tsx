/** The rules of a subscription and what each does with an event; adding, changing, pausing and removing them, each after a dry run. */
import { useQuery } from '@tanstack/react-query';
import { Pencil, Plus, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { maxRules, type Rule } from '../../../contracts/connectors/rule.ts';
import type { Subscription } from '../../../contracts/connectors/subscription.ts';
import { useOfferUndo } from '../../base/undo.ts';
import { useNameOfBot } from '../../base/use-name-of-bot.ts';
import { moveByArrows } from '../../ui/arrow-rows.ts';
import { Button, IconButton } from '../../ui/button.tsx';
import { countWords } from '../../ui/count-words.ts';
import { Empty, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Ago } from '../../ui/now.tsx';
import { PlanDialog } from '../../ui/plan-dialog.tsx';
import { Problem } from '../../ui/problem.tsx';
import { Switch } from '../../ui/switch.tsx';
import { useAct } from '../../ui/use-act.ts';
import { limitWords, modeWords } from './connector-words.ts';
import { RuleDialog } from './rule-dialog.tsx';
import { sameRule } from './rule-form.ts';
import { useConnectorServices, useTouchConnector } from './use-connector-services.ts';

export function RuleList({ subscription, onJobs }: { subscription: Subscription; onJobs: () => void }) {
  const { queries } = useConnectorServices();
  const rules = useQuery(queries.rules(subscription.connectorId, subscription.id));
  const [open, setOpen] = useState<{ readonly what: 'write' | 'remove'; readonly rule: Rule | null } | null>(null);
  const add = (
    <Button icon={Plus} onClick={() => setOpen({ what: 'write', rule: null })}>
      Add a rule
    </Button>
  );
  return (
    <section aria-label="Rules" onKeyDown={moveByArrows}>
      <ListStates
        source={rules}
        skeleton={<SkeletonRows count={2} height={64} />}
        isEmpty={(list) => list.length === 0}
        empty={
          <Empty action={add}>
            Without a rule, an event only opens a ticket. A rule runs a bot on each event, with your instructions and
            within the limits that you set. Try it on past events before you add it.
          </Empty>
        }
      >
        {(list) => (
          <>
            <ul>
              {list.map((rule) => (
                <RuleRow
                  key={rule.id}
                  rule={rule}
                  connectorId={subscription.connectorId}
                  onChange={() => setOpen({ what: 'write', rule })}
                  onRemove={() => setOpen({ what: 'remove', rule })}
                />
              ))}
            </ul>
            <div className="p-3">
              {list.length < maxRules ? add : <span className="text-muted">Limit reached: {maxRules} rules.</span>}
            </div>
          </>
        )}
      </ListStates>
      {open?.what === 'write' && (
        <RuleDialog subscription={subscription} rule={open.rule} onClose={() => setOpen(null)} />
      )}
      {open?.what === 'remove' && open.rule !== null && (
        <RemoveDialog
          rule={open.rule}
          connectorId={subscription.connectorId}
          onClose={() => setOpen(null)}
          onJobs={onJobs}
        />
      )}
    </section>
  );
}

function RuleRow({
  rule,
  connectorId,
  onChange,
  onRemove,
}: {
  rule: Rule;
  connectorId: string;
  onChange: () => void;
  onRemove: () => void;
}) {
  const { api } = useConnectorServices();
  const touch = useTouchConnector();
  const nameOf = useNameOfBot();
  const name = rule.instructions.split('\n', 1)[0] ?? '';
  const pause = useAct(async () => {
    await api.connectors.changeAutomationRule({
      params: { id: connectorId, sid: rule.subscriptionId, rid: rule.id },
      body: { paused: !rule.paused },
    });
    touch(connectorId);
  });
  return (
    <li data-rule={rule.id} className="border-b border-line">
      <div className="flex min-h-14 items-center gap-3 px-3 py-1.5 max-sm:flex-wrap">
        <button
          type="button"
          data-row="true"
          onClick={onChange}
          className="min-w-0 flex-1 rounded-control text-left max-sm:basis-full"
        >
          <span className={`block truncate font-medium ${rule.paused ? 'text-muted' : ''}`} title={rule.instructions}>
            {name}
          </span>
          <span className="block truncate text-meta text-muted">
            {nameOf(rule.botId)} · {modeWords[rule.executionMode].word} · {limitWords(rule)}
          </span>
          <span className="block text-meta text-faint">
            version <span className="tabular-nums">{rule.version}</span>, <Ago at={rule.updatedAt} />
          </span>
        </button>
        <span className="inline-flex items-center gap-2">
          <span aria-hidden="true" className="text-muted">
            {rule.paused ? 'Paused' : 'Active'}
          </span>
          <Switch label={`Active: ${name}`} on={!rule.paused} disabled={pause.busy} onChange={() => pause.run()} />
        </span>
        <IconButton label={`Change ${name}`} onClick={onChange}>
          <Pencil aria-hidden="true" />
        </IconButton>
        <IconButton label={`Remove ${name}`} onClick={onRemove}>
          <Trash2 aria-hidden="true" />
        </IconButton>
      </div>
      {pause.failure !== null && <Problem error={pause.failure} />}
    </li>
  );
}

function RemoveDialog({
  rule,
  connectorId,
  onClose,
  onJobs,
}: {
  rule: Rule;
  connectorId: string;
  onClose: () => void;
  onJobs: () => void;
}) {
  const { api } = useConnectorServices();
  const touch = useTouchConnector();
  const offerUndo = useOfferUndo();
  const params = { id: connectorId, sid: rule.subscriptionId, rid: rule.id };
  return (
    <PlanDialog
      title="Remove this rule?"
      description={rule.instructions.split('\n', 1)[0] ?? ''}
      planKey={['remove-rule', rule.id, rule.version]}
      readPlan={async (signal) => {
        const answer = await api.connectors.removeAutomationRule({ params, query: { dryRun: 'true' } }, { signal });
        return answer === undefined ? { cancels: [] } : answer.plan;
      }}
      shown={({ cancels }) => (
        <ul className="list-disc pl-5">
          <li>
            {cancels.length === 0 ? (
              'There are no waiting jobs to cancel.'
            ) : (
              <>
                Cancels {countWords(cancels.length, 'waiting job')}.{' '}
                <button type="button" onClick={onJobs} className="rounded-control text-accent underline">
                  Show the jobs
                </button>
              </>
            )}
          </li>
          <li>Current jobs continue, and past jobs stay readable.</li>
          <li>Events still open tickets. Undo brings the rule back; cancelled jobs stay cancelled.</li>
        </ul>
      )}
      label={() => 'Remove'}
      idle="Remove"
      busyLabel="Removing"
      danger
      act={async () => {
        await api.connectors.removeAutomationRule({ params, query: {} });
        const idempotencyKey = crypto.randomUUID();
        offerUndo('Rule removed', async () => {
          await api.connectors.createAutomationRule({ params, body: sameRule(rule) }, { idempotencyKey });
          touch(connectorId);
        });
        touch(connectorId);
      }}
      onClose={onClose}
    />
  );
}
