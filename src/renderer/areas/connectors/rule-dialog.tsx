/** Adds or changes a rule: first its dry run on past events, then, if nothing changed since, the rule. */
import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import type { z } from 'zod';
import type { Rule, RuleMode, RulePlan } from '../../../contracts/connectors/rule.ts';
import type { Subscription } from '../../../contracts/connectors/subscription.ts';
import { ActDialog } from '../../ui/act-dialog.tsx';
import { ActForm } from '../../ui/act-form.tsx';
import { countWords } from '../../ui/count-words.ts';
import { ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Ago } from '../../ui/now.tsx';
import { useAct } from '../../ui/use-act.ts';
import { useAttempt } from '../../ui/use-attempt.ts';
import { cannotRun } from './bot-fields.tsx';
import { EventName } from './event-name.tsx';
import { RuleFields } from './rule-fields.tsx';
import { automationOf, changeOfRule, draftOfRule, problemsOfRule, type RuleDraft } from './rule-form.ts';
import { useConnectorServices, useTouchConnector } from './use-connector-services.ts';

type Plan = z.output<typeof RulePlan>['plan'];

const modeOf = ({ executionMode }: Subscription): RuleMode =>
  executionMode === 'BYPASS_PERMISSIONS' ? 'REQUIRE_APPROVAL' : executionMode;

export function RuleDialog({
  subscription,
  rule,
  onClose,
}: {
  subscription: Subscription;
  /** Null: a new one. */
  rule: Rule | null;
  onClose: () => void;
}) {
  const { api, queries } = useConnectorServices();
  const touch = useTouchConnector();
  const { id: sid, connectorId: id } = subscription;
  const bots = useQuery(queries.connectorBots(id));
  const able = cannotRun(bots.data, subscription.botId) === null;
  const [typed, setTyped] = useState<RuleDraft | null>(rule === null ? null : draftOfRule(rule, ''));
  const draft = typed ?? draftOfRule(null, able ? subscription.botId : '', modeOf(subscription));
  const { tried, form, begin, toFirstProblem } = useAttempt();
  const [plan, setPlan] = useState<Plan | null>(null);
  /** One key for one wish: pressed again after a cut, it is the same rule. */
  const wish = useRef(crypto.randomUUID());
  const problems = problemsOfRule(draft, cannotRun(bots.data, draft.botId));

  const write = useAct(async () => {
    begin();
    if (Object.keys(problems).length > 0) return toFirstProblem();
    const answer = await send(plan === null);
    if ('dryRun' in answer) return setPlan(answer.plan);
    touch(id);
    onClose();
  });

  function send(dryRun: boolean) {
    const dry = dryRun ? { dryRun } : {};
    if (rule !== null) {
      return api.connectors.changeAutomationRule({
        params: { id, sid, rid: rule.id },
        body: { ...changeOfRule(draft, rule), ...dry },
      });
    }
    return api.connectors.createAutomationRule(
      { params: { id, sid }, body: { ...automationOf(draft), ...dry } },
      dryRun ? {} : { idempotencyKey: wish.current },
    );
  }

  return (
    <ActDialog
      title={rule === null ? 'Add a rule' : 'Change the rule'}
      description={`Runs a bot on ${subscription.name} events. First see which past events it would have matched.`}
      label={plan === null ? 'Try on past events' : rule === null ? 'Add the rule' : 'Save the rule'}
      busyLabel={plan === null ? 'Trying' : 'Saving'}
      act={write}
      ready={bots.data !== undefined}
      focusAct={plan !== null}
      onClose={onClose}
    >
      <ActForm form={form} act={write}>
        <ListStates source={bots} skeleton={<SkeletonRows count={4} />} isEmpty={() => false} empty={null}>
          {(list) => (
            <div className="flex flex-col gap-3">
              <RuleFields
                bots={list}
                draft={draft}
                problems={tried ? problems : {}}
                onChange={(change) => {
                  setTyped({ ...draft, ...change });
                  // A plan holds for the rule it was made of.
                  setPlan(null);
                  wish.current = crypto.randomUUID();
                }}
              />
            </div>
          )}
        </ListStates>
        {plan !== null && <PlanShown plan={plan} changes={rule !== null} />}
      </ActForm>
    </ActDialog>
  );
}

function PlanShown({ plan, changes }: { plan: Plan; changes: boolean }) {
  const { looked, matches, runs, pending } = plan;
  const box = useRef<HTMLElement>(null);
  // It stands below what may be longer than the dialog.
  useEffect(() => {
    box.current?.scrollIntoView({ block: 'nearest' });
  }, []);
  return (
    <section
      ref={box}
      aria-label="Dry run"
      data-plan="rule"
      className="scroll-mb-4 rounded-control border border-line bg-window p-2"
    >
      <p>
        {looked === 0 ? (
          'There are no past events to try it on.'
        ) : (
          <>
            Of the last {countWords(looked, 'event')},{' '}
            <span className="font-medium">{matches.length} would have matched</span>, in {countWords(runs, 'job')}.
          </>
        )}
      </p>
      {matches.length > 0 && (
        <ul
          aria-label="Events that would have matched"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
          tabIndex={0}
          className="mt-1 max-h-40 overflow-y-auto text-meta text-muted"
        >
          {matches.map((one) => (
            <li key={one.eventId} className="flex gap-3">
              <span className="flex min-w-0 flex-1">
                <EventName event={one} />
              </span>
              <Ago at={one.receivedAt} />
            </li>
          ))}
        </ul>
      )}
      {changes && pending.length > 0 && (
        <p className="mt-1">The stricter mode also applies to {countWords(pending.length, 'waiting job')}.</p>
      )}
      <p className="mt-1 text-meta text-muted">Nothing has run. The rule applies only to new events.</p>
    </section>
  );
}
