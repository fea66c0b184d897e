/** The field of a new run: repository, who, what; Enter starts. A link only fills it in. */
import { useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { CircleDollarSign, ImagePlus, Play, ShieldCheck, X } from 'lucide-react';
import {
  type ClipboardEvent,
  type DragEvent,
  lazy,
  type RefObject,
  Suspense,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import { AppError } from '../../../contracts/common/errors.ts';
import { maxQuickPrompt, type QuickChoices, type QuickRun } from '../../../contracts/factory/quick-run-routes.ts';
import type { FactoryApi } from '../../base/data/api.ts';
import { useServices, useSettings } from '../../base/services.tsx';
import { useDraft } from '../../base/use-draft.ts';
import { BudgetFields } from '../../ui/budget-fields.tsx';
import { budgetOf, budgetProblems, noBudget } from '../../ui/budget-form.ts';
import { Button, IconButton } from '../../ui/button.tsx';
import { later } from '../../ui/later.ts';
import { Problem } from '../../ui/problem.tsx';
import { SandboxWishes } from '../../ui/sandbox-choice.tsx';
import { useAct } from '../../ui/use-act.ts';
import { firstWho, type Prefill, prefillOf, readWho, whoChoices } from '../floor/runs/new-run.ts';
import { useListStarted, useQuickChoices } from '../floor/runs/quick-runs.ts';
import type { RunImage } from './images.ts';
import { WhoPicker } from './who-picker.tsx';

const TrustDialog = lazy(
  later(() => import('../floor/trust-dialog.tsx').then((module) => ({ default: module.TrustDialog }))),
);

/** As a link asks for it; `count` grows with each wish to begin. */
export interface NewRunAsk {
  readonly count: number;
  readonly prompt?: string | undefined;
  readonly repo?: string | undefined;
  readonly who?: string | undefined;
}

const box = 'rounded-control border border-line bg-window';
const control = `${box} h-8 min-w-0 px-2 pointer-coarse:h-10`;
/** Of the list of repositories: one that is not in it. */
const another = ' ';

export function NewRunForm({ ask, onDemo }: { ask: NewRunAsk; onDemo: () => void }) {
  const choices = useQuickChoices();
  if (choices.error !== null && choices.data === undefined) return <Problem error={choices.error} />;
  return <Form choices={choices.data} ask={ask} onDemo={onDemo} />;
}

function Form({ choices, ask, onDemo }: { choices: QuickChoices | undefined; ask: NewRunAsk; onDemo: () => void }) {
  const { settings } = useServices();
  const { newRunWho, newRunSandbox } = useSettings();
  const [prompt, setPrompt] = useDraft('new-run');
  const [typed, setTyped] = useDraft('new-run-folder');
  /** Null: the first of the list. */
  const [picked, setPicked] = useState<string | null>(null);
  const [who, setWho] = useState<readonly string[] | null>(null);
  const { images, problem: imageProblem, reading, add, remove, clear } = useImages();
  const [left, setLeft] = useState<string | null>(null);
  const [budget, setBudget] = useState(noBudget);
  const [limiting, setLimiting] = useState(false);
  const [confining, setConfining] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const folder = useRef<HTMLInputElement>(null);

  const known = choices?.repositories ?? [];
  const options = useMemo(() => (choices === undefined ? [] : whoChoices(choices)), [choices]);
  const chosen = who ?? firstWho(options, newRunWho);
  const isTyped = choices !== undefined && (known.length === 0 || picked === another);
  const repository = isTyped ? typed.trim() : (picked ?? known[0]?.path ?? '');
  const nobody = choices !== undefined && options.every(({ not }) => not !== null) && chosen.length === 0;

  // Who chooses to name another folder writes it next.
  useEffect(() => {
    if (picked === another) folder.current?.focus();
  }, [picked]);
  usePrefill(ask, choices, (prefill) => {
    if (prefill.prompt !== null) setPrompt(prefill.prompt);
    if (prefill.repository !== null) setPicked(prefill.repository);
    if (prefill.who.length > 0) setWho(prefill.who);
    setLeft(prefill.left);
    field.current?.focus();
  });

  const limits = budgetOf(budget);
  const wrongLimits = budgetProblems(budget);
  const { starting, trustAsked, onTrustClosed, onAgreed } = useStart({
    body: () => ({
      repository,
      prompt: prompt.trim(),
      who: chosen.flatMap((key) => readWho(key) ?? []),
      ...(images.length === 0 ? {} : { images: [...images] }),
      ...(newRunSandbox === 'automatic' ? {} : { sandbox: newRunSandbox }),
      ...(limits === undefined ? {} : { budget: limits }),
    }),
    onStarted: () => {
      settings.set({ newRunWho: [...chosen] });
      setPrompt('');
      clear();
      setBudget(noBudget);
      setLimiting(false);
      setConfining(false);
    },
  });
  const missing = missingOf({ prompt, repository, who: chosen });
  const ready = missing === null && Object.keys(wrongLimits).length === 0 && !reading && !starting.busy;
  const start = (): void => {
    if (ready) starting.run();
    if (ready || missing === null || choices === undefined) return;
    setLeft(missing.says);
    if (missing.of === 'prompt') field.current?.focus();
    if (missing.of === 'repository') folder.current?.focus();
  };

  const onFiles = (event: ClipboardEvent | DragEvent): void => {
    const files = [...('clipboardData' in event ? event.clipboardData : event.dataTransfer).files];
    if (files.length === 0) return;
    event.preventDefault();
    add(files);
  };

  return (
    <form
      aria-label="New run"
      className="relative flex flex-col gap-2 rounded-panel border border-line-strong bg-panel p-3 focus-within:border-accent"
      onSubmit={(event) => {
        event.preventDefault();
        start();
      }}
      onPaste={onFiles}
      onDragOver={(event) => event.dataTransfer.types.includes('Files') && event.preventDefault()}
      onDrop={onFiles}
    >
      <div className="flex flex-wrap items-start gap-2">
        <RepositoryField choices={choices} value={isTyped ? another : repository} onChange={setPicked} />
        <WhoPicker options={options} chosen={chosen} onChange={setWho} />
        <PromptField
          field={field}
          value={prompt}
          onChange={(text) => {
            setPrompt(text);
            setLeft(null);
          }}
          onEnter={start}
        />
        <AddImages onFiles={add} />
        <IconButton
          label="Budget"
          className="mt-1"
          aria-expanded={limiting}
          onClick={() => {
            setLimiting(!limiting);
            setBudget(noBudget);
          }}
        >
          <CircleDollarSign aria-hidden="true" />
        </IconButton>
        <IconButton label="Sandbox" className="mt-1" aria-expanded={confining} onClick={() => setConfining(!confining)}>
          <ShieldCheck aria-hidden="true" />
        </IconButton>
        <Button
          kind="primary"
          type="submit"
          icon={Play}
          disabled={!ready}
          title={missing?.says}
          className="h-8 max-sm:ml-auto"
          aria-keyshortcuts="Enter Control+Enter"
        >
          {starting.busy ? 'Starting' : 'Start'}
        </Button>
      </div>
      {isTyped && (
        <FolderField
          field={folder}
          value={typed}
          onChange={(text) => {
            setTyped(text);
            setLeft(null);
          }}
        />
      )}
      {confining && <SandboxWishes value={newRunSandbox} onChange={(wish) => settings.set({ newRunSandbox: wish })} />}
      {limiting && (
        <BudgetFields
          title="Budget of the run"
          says="Empty: no limit. At a limit its bots stop and you are asked."
          texts={budget}
          problems={wrongLimits}
          open
          onChange={setBudget}
        />
      )}
      {images.length > 0 && <ImageRow images={images} onRemove={remove} />}
      <p role="status" className="text-meta text-muted empty:hidden">
        {imageProblem ?? left}
      </p>
      {nobody && <NobodyHere onDemo={onDemo} />}
      {starting.failure !== null && <Problem error={starting.failure} />}
      {trustAsked && (
        <Suspense>
          <TrustDialog only={null} onClose={onTrustClosed} onAgreed={onAgreed} />
        </Suspense>
      )}
    </form>
  );
}

function RepositoryField({
  choices,
  value,
  onChange,
}: {
  choices: QuickChoices | undefined;
  value: string;
  onChange: (path: string) => void;
}) {
  return (
    <label className="min-w-0 max-lg:flex-1 max-sm:basis-[45%] lg:w-52">
      <span className="sr-only">Repository</span>
      <select
        aria-label="Repository"
        value={value}
        disabled={choices === undefined}
        onChange={(event) => onChange(event.target.value)}
        className={`${control} w-full`}
      >
        {choices?.repositories.map(({ path, name, branch }) => (
          <option key={path} value={path} title={path}>
            {branch === null ? name : `${name} · ${branch}`}
          </option>
        ))}
        <option value={another}>Another folder</option>
      </select>
    </label>
  );
}

interface FieldOf<Element> {
  field: RefObject<Element | null>;
  value: string;
  onChange: (text: string) => void;
}

/** Shift and Enter begin a line. */
function PromptField({ field, value, onChange, onEnter }: FieldOf<HTMLTextAreaElement> & { onEnter: () => void }) {
  return (
    <textarea
      ref={field}
      value={value}
      rows={1}
      maxLength={maxQuickPrompt}
      aria-label="What to do"
      placeholder="What should be done? Enter starts."
      onChange={(event) => onChange(event.target.value)}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
        event.preventDefault();
        onEnter();
      }}
      className={`${box} field-sizing-content max-h-48 min-h-8 min-w-0 flex-1 basis-80 resize-none px-2.5 py-[5px] max-lg:order-first max-lg:basis-full pointer-coarse:min-h-10 pointer-coarse:py-2`}
    />
  );
}

function FolderField({ field, value, onChange }: FieldOf<HTMLInputElement>) {
  return (
    <label className="flex flex-wrap items-center gap-2 text-muted">
      Folder
      <input
        aria-label="Folder"
        value={value}
        ref={field}
        spellCheck={false}
        autoComplete="off"
        placeholder="/home/you/code/project"
        onChange={(event) => onChange(event.target.value)}
        className={`${control} flex-1 basis-72 font-mono text-code text-ink`}
      />
    </label>
  );
}

/** The first thing that a start still needs, or null if it needs nothing. */
function missingOf(written: { prompt: string; repository: string; who: readonly string[] }) {
  if (written.prompt.trim() === '') return { of: 'prompt', says: 'Write what should be done.' } as const;
  if (written.repository === '') return { of: 'repository', says: 'Name the folder of a repository.' } as const;
  return written.who.length === 0 ? ({ of: 'who', says: 'Choose who works on it.' } as const) : null;
}

/** Starts what is written; where the folder waits for its person's yes, asks for that and starts again after it. */
function useStart({
  body,
  onStarted,
}: {
  body: () => Parameters<FactoryApi['startQuickRun']>[0]['body'];
  onStarted: () => void;
}) {
  const { api, computer, keys, paneRequests, queries } = useServices();
  const client = useQueryClient();
  const navigate = useNavigate();
  const listStarted = useListStarted();
  const [trustAsked, setTrustAsked] = useState(false);
  /** One key a run: a start repeated after a cut gives the first run, not a second one. */
  const attempt = useRef<{ key: string; of: string } | null>(null);

  const open = async (run: QuickRun): Promise<void> => {
    listStarted(run);
    await Promise.all([keys.agents, keys.teams].map((queryKey) => client.invalidateQueries({ queryKey })));
    void client.invalidateQueries({ queryKey: keys.on('quick-choices') });
    const ids = run.bots.flatMap(({ agentId }) => agentId ?? []);
    for (const botId of ids) paneRequests.add({ botId, paneId: null, originView: 'home', split: ids.length > 1 });
    if (ids[0] !== undefined) void navigate({ to: '/floor', search: (old) => ({ ...old, bot: ids[0] }) });
  };
  const starting = useAct(async () => {
    const wanted = body();
    const of = JSON.stringify([computer, wanted]);
    if (attempt.current?.of !== of) attempt.current = { key: crypto.randomUUID(), of };
    try {
      const run = await api.factory.startQuickRun({ body: wanted }, { idempotencyKey: attempt.current.key });
      attempt.current = null;
      if ('dryRun' in run) return;
      onStarted();
      await open(run);
    } catch (error) {
      // An answer belongs to its key, also a refusal: what is started after the yes is another attempt.
      if (error instanceof AppError) attempt.current = null;
      if (!(error instanceof AppError) || error.code !== 'needs_person') throw error;
      const waits = await client.fetchQuery({ ...queries.trust, staleTime: 0 });
      if (waits.files.every(({ refused }) => refused)) throw error;
      setTrustAsked(true);
    }
  });
  return {
    starting,
    trustAsked,
    onTrustClosed: () => setTrustAsked(false),
    onAgreed: () => starting.run(),
  };
}

/** Fills in what a link asks for, once, as soon as it is known what can be chosen. */
function usePrefill(ask: NewRunAsk, choices: QuickChoices | undefined, fill: (prefill: Prefill) => void): void {
  const filled = useRef(0);
  useEffect(() => {
    if (ask.count === filled.current || choices === undefined) return;
    filled.current = ask.count;
    fill(prefillOf(ask, choices.repositories, whoChoices(choices)));
  });
}

function useImages() {
  const [images, setImages] = useState<readonly RunImage[]>([]);
  const [problem, setProblem] = useState<string | null>(null);
  const [reading, setReading] = useState(0);
  const added = useRef<readonly RunImage[]>([]);
  const last = useRef<Promise<void>>(Promise.resolve());
  function put(next: readonly RunImage[]): void {
    added.current = next;
    setImages(next);
  }
  async function read(files: readonly File[]): Promise<void> {
    try {
      const { withImages } = await import('./images.ts');
      const taken = await withImages(added.current, files);
      put(taken.images);
      setProblem(taken.problem);
    } catch {
      setProblem('The images could not be read. Add them again.');
    }
    setReading((count) => count - 1);
  }
  return {
    images,
    problem,
    /** A run that starts now would go without some of them. */
    reading: reading > 0,
    /** Files are read one after the other: those of two drops replace none of each other. */
    add(files: readonly File[]) {
      setReading((count) => count + 1);
      last.current = last.current.then(() => read(files));
    },
    remove: (name: string) => put(added.current.filter((one) => one.name !== name)),
    clear() {
      put([]);
      setProblem(null);
    },
  };
}

function AddImages({ onFiles }: { onFiles: (files: readonly File[]) => void }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <IconButton label="Add images" className="mt-1" onClick={() => input.current?.click()}>
        <ImagePlus aria-hidden="true" />
      </IconButton>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        accept="image/png,image/jpeg,image/gif,image/webp"
        onChange={(event) => {
          onFiles([...(event.target.files ?? [])]);
          event.target.value = '';
        }}
      />
    </>
  );
}

function ImageRow({ images, onRemove }: { images: readonly RunImage[]; onRemove: (name: string) => void }) {
  return (
    <ul aria-label="Images" className="flex flex-wrap gap-2">
      {images.map(({ name }) => (
        <li key={name} className="flex h-7 items-center gap-1 rounded-control border border-line pl-2 text-meta">
          <span className="max-w-48 truncate">{name}</span>
          <IconButton label={`Remove ${name}`} onClick={() => onRemove(name)}>
            <X aria-hidden="true" />
          </IconButton>
        </li>
      ))}
    </ul>
  );
}

function NobodyHere({ onDemo }: { onDemo: () => void }) {
  return (
    <p className="flex flex-wrap items-center gap-2 text-muted">
      No agent program is signed in on this computer.
      <Button onClick={onDemo}>Watch the demo</Button>
      <Link to="/settings/set-up" className="rounded-control underline hover:text-ink">
        Set up a program or a model
      </Link>
    </p>
  );
}
