/**
 * Figures for Prometheus: what a metric is, how many label sets it may have, and its text (version 0.0.4 of the format). A metric is read when it is
 * scraped. Must not know what any of them counts.
 */

export interface Sample {
  readonly value: number;
  /** Values from closed lists: no id, name of a person, number or text that somebody typed. */
  readonly labels?: Readonly<Record<string, string>>;
}

export interface Metric {
  /** With its unit: `gantry_approvals_oldest_seconds`. A counter ends in `_total`. */
  readonly name: string;
  readonly help: string;
  readonly kind: 'gauge' | 'counter' | 'histogram';
  /** A histogram's samples come with the whole name of their line. */
  read(): Samples | Promise<Samples>;
}

type Samples = number | readonly (Sample & { readonly line?: string })[];

/** Label sets of one metric. What comes later is added up as `other`, so that no label can fill the memory of the program that scrapes. */
const maxLabelSets = 100;

/** Gives each label set its place, or that of `other` once there are too many. */
export function createLabelSets<T>(make: () => T): {
  of(labels: Readonly<Record<string, string>>): T;
  entries(): Iterable<{ readonly labels: Readonly<Record<string, string>>; readonly kept: T }>;
} {
  const sets = new Map<string, { readonly labels: Readonly<Record<string, string>>; readonly kept: T }>();
  return {
    of(labels) {
      const key = JSON.stringify(labels);
      const found = sets.get(key);
      if (found !== undefined) return found.kept;
      if (sets.size >= maxLabelSets - 1) {
        const other = Object.fromEntries(Object.keys(labels).map((name) => [name, 'other']));
        if (JSON.stringify(other) !== key) return this.of(other);
      }
      const made = { labels, kept: make() };
      sets.set(key, made);
      return made.kept;
    },
    entries: () => sets.values(),
  };
}

/** One that cannot be read is left out and reported: the others are still wanted, then most of all. */
export async function metricsText(
  metrics: readonly Metric[],
  onFault: (name: string, fault: unknown) => void,
): Promise<string> {
  const parts: string[] = [];
  for (const metric of metrics) {
    try {
      parts.push(textOf(metric, await metric.read()));
    } catch (fault) {
      onFault(metric.name, fault);
    }
  }
  return parts.join('');
}

function textOf({ name, help, kind }: Metric, samples: Samples): string {
  const lines = [`# HELP ${name} ${help.replace(/\\/g, '\\\\').replace(/\n/g, '\\n')}`, `# TYPE ${name} ${kind}`];
  if (typeof samples === 'number') lines.push(`${name} ${numberText(samples)}`);
  else if (kind === 'histogram') {
    for (const { line, labels, value } of samples)
      lines.push(`${line ?? name}${labelsOf(labels)} ${numberText(value)}`);
  } else {
    const sets = createLabelSets(() => ({ sum: 0 }));
    for (const { labels = {}, value } of samples) sets.of(labels).sum += value;
    for (const { labels, kept } of sets.entries()) lines.push(`${name}${labelsOf(labels)} ${numberText(kept.sum)}`);
  }
  return `${lines.join('\n')}\n`;
}

function labelsOf(labels: Readonly<Record<string, string>> = {}): string {
  const pairs = Object.entries(labels).map(
    ([name, value]) =>
      `${name}="${value.slice(0, 100).replace(/\\/g, '\\\\').replace(/"/g, '\\"').replace(/\n/g, '\\n')}"`,
  );
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function numberText(value: number): string {
  if (Number.isFinite(value)) return String(value);
  if (Number.isNaN(value)) return 'NaN';
  return value > 0 ? '+Inf' : '-Inf';
}
