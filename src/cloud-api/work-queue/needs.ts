/**
 * What a task asks of its worker, what a worker says it has, and who may name which image. A worker that says nothing about itself is not asked.
 * Pure.
 */
import { hash } from 'node:crypto';
import { beginsImage } from '../../contracts/work-queue/task.ts';
import { canonicalJson } from '../../kit/ledger/canonical.ts';

export interface Needs {
  readonly image: string | null;
  readonly labels: Readonly<Record<string, string>>;
}

/** What a worker says in its lease call. */
export interface Can {
  readonly labels: Readonly<Record<string, string>>;
  /** Beginnings of the names of images; `*`: any. Empty: none. */
  readonly images: readonly string[];
}

/** Equal for tasks that the same workers can run; null: every worker can. */
export function needsKey({ image, labels }: Needs): string | null {
  if (image === null && Object.keys(labels).length === 0) return null;
  return hash('sha256', canonicalJson({ image, labels }), 'hex').slice(0, 32);
}

/** Null: the call says nothing about its worker. */
export function canOf({ labels, images }: { readonly labels?: string; readonly images?: string }): Can | null {
  if (labels === undefined && images === undefined) return null;
  const pairs = (labels ?? '').split(',').filter((pair) => pair !== '');
  return {
    labels: Object.fromEntries(pairs.map((pair) => pair.split('=') as [string, string])),
    images: images === undefined || images === 'none' ? [] : images.split(','),
  };
}

export function canRun({ labels, images }: Can, needs: Needs): boolean {
  return (
    Object.entries(needs.labels).every(([name, value]) => labels[name] === value) &&
    (needs.image === null || images.some((beginning) => beginsImage(beginning, needs.image ?? '')))
  );
}

/** `has the label gpu=a100 and runs the image alpine:3`. */
export function needsInWords({ image, labels }: Needs): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
  return [
    ...(pairs.length === 0 ? [] : [`has the ${pairs.length === 1 ? 'label' : 'labels'} ${pairs.join(', ')}`]),
    ...(image === null ? [] : [`runs the image ${image}`]),
  ].join(' and ');
}
