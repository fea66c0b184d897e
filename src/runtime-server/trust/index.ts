/**
 * The workspace's trust for the rest of the runtime: waiting files, in words; a person's answer; the watch that reports when a file begins to wait.
 * Must not know HTTP.
 */
import { AppError } from '../../contracts/common/errors.ts';
import type { WorkspaceTrust } from '../../contracts/factory/trust-routes.ts';
import type { Timers } from '../../kit/clock/timers.ts';
import type { Ledger } from '../../kit/ledger/ledger.ts';
import type { Store } from '../../kit/store/store.ts';
import { type By, createTrust, goneHash, hashOfText, type Trust, type TrustDeps } from './trust.ts';
import { createWaiting, type Waiting, type WaitingFile } from './waiting.ts';
import { diffOf, loadsOf, type ReadSteps, wordsOf } from './words.ts';

export { trustMigrations } from './migrations.ts';
export { type By, type FileTrust, type Trust, waitsForYes } from './trust.ts';

interface TrustAnswer {
  readonly answer: 'yes' | 'no';
  readonly hash: string;
  readonly files?: readonly string[] | undefined;
  readonly names?: readonly string[] | undefined;
}

export interface WorkspaceTrusts extends Trust, Pick<Waiting, 'demand' | 'demandSettings'> {
  /** The waiting files, as a person reads them. */
  show(): WorkspaceTrust;
  /** Files that wait, as `show` names them. Cheap. */
  waiting(): string[];
  answer(given: TrustAnswer, by: By): Promise<{ answered: string[]; waits: string[] }>;
  /** Agrees to all waiting files, if they have this hash (`gantry start --trust`). Otherwise agrees to nothing and returns the reason. */
  answerAll(hash: string): Promise<string | null>;
  start(): void;
  close(): void;
}

function changedMeanwhile(fact = 'The waiting files have changed since they were shown to you.'): AppError {
  return new AppError('refused', fact, 'Review them again, then answer.', { status: 409 });
}

/** How often the folder is checked: a few names, and the content of changed files. Milliseconds. */
const lookMs = 2000;

export async function createWorkspaceTrust(
  deps: TrustDeps & {
    readonly timers: Timers;
    readonly store: Store;
    readonly ledger: Ledger;
    readonly readSteps: ReadSteps;
  },
): Promise<WorkspaceTrusts> {
  const trust = await createTrust(deps);
  const found = createWaiting(trust, deps.clock);
  let told: string | null = null;
  let cancel = () => {};
  let closed = false;

  const waiting = () => found.files().map((file) => trust.shown(file.path));

  async function tell(): Promise<void> {
    const hash = found.hash() ?? goneHash;
    if (hash === told) return;
    told = hash;
    const waits = waiting();
    await deps.store.write((tx) => {
      tx.run(
        'INSERT INTO trust_told (workspace, hash) VALUES (?, ?) ON CONFLICT (workspace) DO UPDATE SET hash = excluded.hash',
        deps.workspace,
        hash,
      );
      deps.ledger.append(tx, {
        type: 'trust.changed',
        actor: 'engine',
        surface: 'engine',
        subject: 'workspace',
        body: { v: 1, change: { waits } },
      });
    });
  }

  const show = (): WorkspaceTrust => {
    const files = found.files();
    return {
      workspace: deps.workspace,
      hash: found.hash(),
      files: files.map((file) => {
        const path = trust.shown(file.path);
        const now = found.textOf(file);
        const before = trust.yesTo(file.path)?.text ?? null;
        const secret = /(?:^|\/)\.env[^/]*$/.test(path);
        return {
          path,
          kind: file.kind,
          change: file.change,
          sha256: file.hash,
          refused: file.refused,
          words: wordsOf(file.kind, path, now, before, deps.readSteps),
          diff: secret ? null : diffOf(path, before, now),
          loads: loadsOf(file.kind, now, before),
        };
      }),
    };
  };

  function chosen(given: TrustAnswer): readonly WaitingFile[] {
    const all = found.files();
    if (found.hash() !== given.hash) {
      throw changedMeanwhile(all.length === 0 ? 'Nothing waits for your yes.' : undefined);
    }
    const names = given.files;
    if (names === undefined) return all;
    const unknown = names.find((name) => !all.some((file) => trust.shown(file.path) === name));
    if (unknown !== undefined)
      throw new AppError('not_found', `${unknown} is not waiting for an answer.`, 'Review the waiting files again.');
    return all.filter((file) => names.includes(trust.shown(file.path)));
  }

  async function answer(given: TrustAnswer, by: By): Promise<{ answered: string[]; waits: string[] }> {
    const files = chosen(given);
    if (given.answer === 'no') await trust.sayNo(files, by);
    else {
      const texts = files.map((file) => ({ file, text: file.change === 'removed' ? null : found.textOf(file) }));
      // Between the look and this reading somebody may have written.
      if (texts.some(({ file, text }) => hashOfText(text) !== file.hash)) throw changedMeanwhile();
      const unnamed = texts.flatMap(({ file, text }) =>
        loadsOf(file.kind, text, trust.yesTo(file.path)?.text ?? null).filter(
          ({ name }) => given.names?.includes(name) !== true,
        ),
      );
      const [first] = unnamed;
      if (first !== undefined) {
        const all = [...new Set(unnamed.map(({ name }) => name))].join(', ');
        throw new AppError(
          'needs_person',
          `${first.bot} sets ${first.name}=${first.value.slice(0, 200)}: every program it starts loads or runs what that names.`,
          `Agree to ${all} by name, or say no.`,
        );
      }
      await trust.sayYes(
        texts.map(({ file, text }) => ({ path: file.path, text })),
        by,
      );
    }
    await tell();
    const left = found.files().filter((file) => !file.refused);
    return { answered: files.map((file) => trust.shown(file.path)), waits: left.map((file) => trust.shown(file.path)) };
  }

  const look = (): void => {
    if (closed) return;
    // A full or failing disk is reported elsewhere; the next look tries again.
    tell()
      .catch(() => {
        told = null;
      })
      .finally(() => {
        if (!closed) cancel = deps.timers.after(lookMs, look);
      });
  };

  const before = await deps.store.read((tx) =>
    tx.get<{ hash: string }>('SELECT hash FROM trust_told WHERE workspace = ?', deps.workspace),
  );
  told = before?.hash ?? goneHash;

  return {
    ...trust,
    demand: found.demand,
    demandSettings: found.demandSettings,
    show,
    waiting,
    answer,
    async answerAll(hash) {
      const now = found.hash();
      if (now === null) return null;
      if (now !== hash) {
        return `Nothing was agreed to: the waiting files have the hash ${now}, not ${hash}.`;
      }
      const names = show().files.flatMap((file) => file.loads.map(({ name }) => name));
      await answer({ answer: 'yes', hash, names }, { actor: 'owner', surface: 'start' });
      return null;
    },
    start: look,
    close() {
      closed = true;
      cancel();
    },
  };
}
