/** Buttons of 28 px (40 px under a finger). One `primary` a view; the rest is `plain` or `quiet`. */
import type { LucideIcon } from 'lucide-react';
import type { ButtonHTMLAttributes, ReactNode, Ref } from 'react';

type Kind = 'primary' | 'plain' | 'quiet' | 'danger';

const kinds: Readonly<Record<Kind, string>> = {
  primary: 'bg-accent text-on-accent font-medium hover:brightness-110',
  plain: 'bg-raised border border-line hover:border-line-strong',
  quiet: 'text-muted hover:text-ink hover:bg-raised',
  danger: 'border border-line text-fail hover:border-fail',
};

const base =
  'inline-flex h-7 shrink-0 items-center justify-center gap-1.5 rounded-control px-2.5 whitespace-nowrap select-none transition-[filter,border-color,color] duration-[120ms] disabled:opacity-50 pointer-coarse:h-10';

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  kind?: Kind;
  /** Before its words. */
  icon?: LucideIcon;
  ref?: Ref<HTMLButtonElement>;
}

export function Button({
  kind = 'plain',
  icon: Icon,
  className = '',
  type = 'button',
  children,
  ...rest
}: ButtonProps) {
  return (
    <button type={type} className={`${base} ${kinds[kind]} ${className}`} {...rest}>
      {Icon !== undefined && <Icon className="size-3.5" aria-hidden="true" />}
      {children}
    </button>
  );
}

/** A square button that shows only an icon; `label` is its name and its tooltip. */
export function IconButton({
  label,
  shortcut,
  children,
  className = '',
  ...rest
}: Omit<ButtonProps, 'kind' | 'icon'> & { label: string; shortcut?: string; children: ReactNode }) {
  return (
    <button
      type="button"
      aria-label={label}
      title={shortcut === undefined ? label : `${label} (${shortcut})`}
      className={`inline-flex size-6 shrink-0 items-center justify-center rounded-control text-muted hover:bg-raised hover:text-ink aria-pressed:bg-selected aria-pressed:text-ink disabled:opacity-40 pointer-coarse:size-10 [&_svg]:size-3.5 ${className}`}
      {...rest}
    >
      {children}
    </button>
  );
}
