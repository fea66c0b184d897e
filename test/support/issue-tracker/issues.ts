/**
 * The tracker's issues and the log of what happened to them. The log is what subscriptions are served from: each entry has a
 * number that only grows, which is what cursors point at. Knows nothing of HTTP, sign-in or subscribers.
 */
import { randomBytes } from 'node:crypto';

export interface Comment {
  readonly author: string;
  readonly text: string;
}

export interface Issue {
  readonly number: number;
  readonly project: string;
  readonly title: string;
  readonly body: string;
  readonly labels: readonly string[];
  readonly author: string;
  readonly comments: readonly Comment[];
  readonly state: 'open' | 'closed';
}

export type EventName = 'issue.opened' | 'issue.commented' | 'issue.closed';

/** One entry of the log. */
export interface Happening {
  readonly seq: number;
  readonly eventId: string;
  readonly name: string;
  readonly timestamp: string;
  readonly project: string;
  readonly labels: readonly string[];
  readonly data: Readonly<Record<string, unknown>>;
}

export interface NewIssue {
  readonly project: string;
  readonly title: string;
  readonly body?: string;
  readonly labels?: readonly string[];
  readonly author?: string;
}

export type Issues = ReturnType<typeof createIssues>;

export function createIssues(options: { readonly origin: () => string; readonly now: () => number }) {
  const issues: Issue[] = [];
  const log: Happening[] = [];
  const listeners: ((happening: Happening) => void)[] = [];
  let lastSeq = 0;

  const record = (name: string, issue: Issue, more: Readonly<Record<string, unknown>> = {}): Happening => {
    const { comments: _comments, ...shown } = issue;
    lastSeq += 1;
    const happening: Happening = {
      seq: lastSeq,
      eventId: `evt_${randomBytes(12).toString('hex')}`,
      name,
      timestamp: new Date(options.now()).toISOString(),
      project: issue.project,
      labels: issue.labels,
      data: { issue: { ...shown, url: `${options.origin()}/issues/${issue.number}` }, ...more },
    };
    log.push(happening);
    for (const listener of listeners) listener(happening);
    return happening;
  };
  const change = (number: number, next: (issue: Issue) => Issue): Issue | undefined => {
    const issue = issues[number - 1];
    if (issue === undefined) return undefined;
    issues[number - 1] = next(issue);
    return issues[number - 1];
  };

  return {
    open(input: NewIssue): { issue: Issue; happening: Happening } {
      const issue: Issue = {
        number: issues.length + 1,
        project: input.project,
        title: input.title,
        body: input.body ?? '',
        labels: input.labels ?? [],
        author: input.author ?? 'somebody',
        comments: [],
        state: 'open',
      };
      issues.push(issue);
      return { issue, happening: record('issue.opened', issue) };
    },
    /** undefined: there is no such issue. */
    comment(number: number, comment: Comment): { issue: Issue; happening: Happening } | undefined {
      const issue = change(number, (before) => ({ ...before, comments: [...before.comments, comment] }));
      return issue && { issue, happening: record('issue.commented', issue, { comment }) };
    },
    /** undefined: there is no such issue. */
    close(number: number): { issue: Issue; happening: Happening } | undefined {
      const issue = change(number, (before) => ({ ...before, state: 'closed' }));
      return issue && { issue, happening: record('issue.closed', issue) };
    },
    list(filter: { readonly project?: string; readonly state?: string } = {}): readonly Issue[] {
      return issues.filter(
        (issue) =>
          (filter.project === undefined || issue.project === filter.project) &&
          (filter.state === undefined || issue.state === filter.state),
      );
    },
    get: (number: number): Issue | undefined => issues[number - 1],
    /** An event of any name about no issue in particular, for events that only a test knows. */
    happen: (name: string, project: string, data: Readonly<Record<string, unknown>>): Happening => {
      lastSeq += 1;
      const happening: Happening = {
        seq: lastSeq,
        eventId: `evt_${randomBytes(12).toString('hex')}`,
        name,
        timestamp: new Date(options.now()).toISOString(),
        project,
        labels: [],
        data,
      };
      log.push(happening);
      for (const listener of listeners) listener(happening);
      return happening;
    },
    lastSeq: (): number => lastSeq,
    /** The number before the oldest entry still kept: a cursor below it has lost something. */
    floor: (): number => (log[0] === undefined ? lastSeq : log[0].seq - 1),
    since: (seq: number): readonly Happening[] => log.filter((happening) => happening.seq > seq),
    /** Forgets the log up to now, as retention would. */
    forget(): void {
      log.length = 0;
    },
    onHappening(listener: (happening: Happening) => void): void {
      listeners.push(listener);
    },
  };
}
