/**
 * Subscribes a bot to an event: which events, by a form made from the event's schema; which bot handles them; and whether a rule runs it
 * automatically.
 */
import { useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useRef, useState } from 'react';
import { AppError } from '../../../contracts/common/errors.ts';
import {
  type EventDefinition,
  type ExecutionMode,
  executionModes,
  Subscription,
} from '../../../contracts/connectors/subscription.ts';
import { OpenBar } from '../../base/place-frame.tsx';
import { Button } from '../../ui/button.tsx';
import { Choice } from '../../ui/choice.tsx';
import { formSchemaOf } from '../../ui/form-schema.ts';
import { Kbd } from '../../ui/kbd.tsx';
import { Empty, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Problem } from '../../ui/problem.tsx';
import { firstTexts } from '../../ui/schema-fields.ts';
import { TextView } from '../../ui/text-view.tsx';
import { useAct } from '../../ui/use-act.ts';
import { useAttempt } from '../../ui/use-attempt.ts';
import { argumentsOf } from '../tools/arguments.ts';
import { ArgumentsForm } from '../tools/arguments-form.tsx';
import type { ToolDraft } from '../tools/tool-calls.ts';
import { BotField, cannotRun, ModeChoice } from './bot-fields.tsx';
import { RuleFields } from './rule-fields.tsx';
import { automationOf, draftOfRule, problemsOfRule } from './rule-form.ts';
import { useConnectorServices, useTouchConnector } from './use-connector-services.ts';
import type { WithinConnector } from './within.ts';

export function SubscribePage({ id, connector, go, onBack, event }: WithinConnector & { event: string }) {
  const { queries } = useConnectorServices();
  const events = useQuery(queries.connectorEvents(id));
  const one = events.data?.events.find(({ name }) => name === event);
  return (
    <>
      <OpenBar
        back={`Back to ${connector?.name ?? 'the connector'}`}
        onBack={onBack}
        within={connector === undefined ? undefined : { name: connector.name, onOpen: () => go({ connector: id }) }}
        title={event}
      />
      <ListStates
        source={events}
        skeleton={<SkeletonRows count={8} />}
        isEmpty={() => one === undefined}
        empty={
          <Empty action={<Button onClick={onBack}>Show available events</Button>}>
            {events.data?.error?.message ?? `This service offers no event named ${event}.`}
          </Empty>
        }
      >
        {() => one !== undefined && <Body id={id} event={one} onDone={(sub) => go({ connector: id, sub }, true)} />}
      </ListStates>
    </>
  );
}

function Body({ id, event, onDone }: { id: string; event: EventDefinition; onDone: (sub: string) => void }) {
  const { api, queries } = useConnectorServices();
  const touch = useTouchConnector();
  const bots = useQuery(queries.connectorBots(id));
  const schema = useMemo(() => formSchemaOf(event.inputSchema), [event.inputSchema]);
  const [args, setArgs] = useState<ToolDraft>(() => ({
    texts: schema === null ? {} : firstTexts(schema),
    json: schema === null ? '{}' : null,
  }));
  const [rule, setRule] = useState(() => draftOfRule(null, ''));
  const [runs, setRuns] = useState(false);
  const [ticketMode, setTicketMode] = useState<ExecutionMode>('REQUIRE_APPROVAL');
  const form = useRef<HTMLFormElement>(null);
  const { tried, begin, toFirstProblem } = useAttempt(form);
  const { problems, values } = argumentsOf(schema, args);
  const ready = bots.data !== undefined;
  useEffect(() => {
    // Where there is no keyboard, a field in focus would open the one on the screen.
    if (!ready || matchMedia('(pointer: coarse)').matches) return;
    if (document.activeElement?.matches('input, textarea, select') === true) return;
    form.current?.querySelector<HTMLElement>('input, textarea, select')?.focus();
  }, [ready]);
  const wrong = runs
    ? problemsOfRule(rule, cannotRun(bots.data, rule.botId))
    : rule.botId === ''
      ? { botId: 'Required.' }
      : {};
  const shown: typeof wrong = tried ? wrong : {};

  const subscribe = useAct(async () => {
    begin();
    if (values === null || Object.keys(wrong).length > 0) return toFirstProblem();
    const { botId, ...automation } = automationOf(rule);
    try {
      const { subscription } = await api.connectors.subscribeToConnectorEvent({
        params: { id },
        body: {
          name: event.name,
          arguments: values,
          botId,
          executionMode: runs ? rule.executionMode : ticketMode,
          ...(runs ? { automation: { ...automation, botId } } : {}),
        },
      });
      onDone(subscription.id);
    } catch (error) {
      // It is there, and says itself what is wrong and what to do.
      const kept = Subscription.safeParse(error instanceof AppError ? error.options.extra?.subscription : undefined);
      if (!kept.success) throw error;
      onDone(kept.data.id);
    } finally {
      touch(id);
    }
  });

  return (
    <form
      ref={form}
      aria-label={`Subscribe to ${event.name}`}
      className="flex max-w-[720px] min-w-0 flex-col gap-4 p-3"
      onSubmit={(submitted) => {
        submitted.preventDefault();
        subscribe.run();
      }}
      onKeyDown={(pressed) => {
        if (pressed.key !== 'Enter') return;
        if (pressed.ctrlKey || pressed.metaKey) {
          pressed.preventDefault();
          subscribe.run();
        } else if (pressed.target instanceof HTMLInputElement) pressed.preventDefault();
      }}
    >
      {event.description !== undefined && (
        <p className="max-h-40 overflow-y-auto break-words whitespace-pre-line text-muted">{event.description}</p>
      )}
      <ArgumentsForm
        schema={schema}
        draft={args}
        problems={tried ? problems : {}}
        onChange={setArgs}
        title="Arguments"
        none="This event takes no arguments."
      />
      <section aria-labelledby="whose" className="flex min-w-0 flex-col gap-3">
        <h2 id="whose" className="font-semibold">
          Who handles it
        </h2>
        <ListStates source={bots} skeleton={<SkeletonRows count={2} />} isEmpty={() => false} empty={null}>
          {(list) => (
            <div className="flex flex-col gap-3">
              <BotField
                bots={list}
                runs={runs}
                value={rule.botId}
                problem={shown.botId}
                onChange={(botId) => setRule((old) => ({ ...old, botId }))}
              />
              <Choice
                legend="For each event"
                name="what"
                value={runs ? 'runs' : 'ticket'}
                onChange={(what) => setRuns(what === 'runs')}
                choices={[
                  { key: 'ticket', word: 'Open a ticket', says: 'The bot is notified' },
                  { key: 'runs', word: 'Open a ticket and run the bot', says: 'A rule runs it with your instructions' },
                ]}
              />
              {runs ? (
                <RuleFields
                  withBot={false}
                  bots={list}
                  draft={rule}
                  problems={shown}
                  onChange={(change) => setRule((old) => ({ ...old, ...change }))}
                />
              ) : (
                <ModeChoice modes={executionModes} value={ticketMode} onChange={setTicketMode} />
              )}
            </div>
          )}
        </ListStates>
      </section>
      <details>
        <summary className="w-fit rounded-control text-muted pointer-coarse:py-2">Event data</summary>
        <div className="mt-2">
          <TextView
            text={JSON.stringify(event.payloadSchema, null, 2)}
            label="Schema of the event data"
            maxLines={16}
          />
        </div>
      </details>
      {subscribe.failure !== null && <Problem error={subscribe.failure} />}
      <div className="flex items-center gap-2">
        <Button kind="primary" type="submit" disabled={subscribe.busy} aria-keyshortcuts="Control+Enter">
          {subscribe.busy ? 'Subscribing' : 'Subscribe'}
          <span className="max-sm:hidden">
            <Kbd keys="Ctrl Enter" />
          </span>
        </Button>
      </div>
    </form>
  );
}
